// SPDX-License-Identifier: MIT OR Apache-2.0
// The service's figures for Prometheus: GET /metrics, in its text format. docs/service.md lists names and units.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "hint/registration.h"

namespace holdfast::cli {

class metrics_endpoint {
public:
    // `address`: host:port. `ask` is called for each request, in a thread of the endpoint's. Throws failure when it
    // can't listen there.
    metrics_endpoint(const std::string &address, std::function<hf_monitor_status()> ask);
    ~metrics_endpoint();
    metrics_endpoint(const metrics_endpoint &) = delete;
    metrics_endpoint &operator=(const metrics_endpoint &) = delete;

private:
    struct exposing;
    std::unique_ptr<exposing> exposing_;
};

} // namespace holdfast::cli
