// SPDX-License-Identifier: MIT OR Apache-2.0
// A page of figures for Prometheus: GET /metrics over HTTP, and nothing else. Visitors are served one after another,
// each within a second or not at all, so that what one says, or keeps to itself, holds up the next for a second at
// most.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace holdfast::cli {

class metrics_endpoint {
public:
    // `address`: host:port. `page` is called for each request, in the endpoint's thread; what it throws is told to who
    // asked. Throws failure when it can't listen there.
    metrics_endpoint(const std::string &address, std::function<std::string()> page);
    ~metrics_endpoint();
    metrics_endpoint(const metrics_endpoint &) = delete;
    metrics_endpoint &operator=(const metrics_endpoint &) = delete;

private:
    struct serving;
    std::unique_ptr<serving> serving_;
};

} // namespace holdfast::cli
