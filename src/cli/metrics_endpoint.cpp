// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/metrics_endpoint.hpp"

#include <fmt/core.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <string_view>

#include "cli/exit_status.hpp"
#include "cli/monitor_figures.hpp"

namespace holdfast::cli {
namespace {

prometheus::MetricFamily family_of(const char *name, const char *help, double value) {
    prometheus::MetricFamily family{.name = name, .help = help, .type = prometheus::MetricType::Gauge, .metric = {}};
    prometheus::ClientMetric metric;
    if (std::string_view(name).ends_with("_total")) {
        family.type = prometheus::MetricType::Counter;
        metric.counter.value = value;
    } else {
        metric.gauge.value = value;
    }
    family.metric.push_back(metric);
    return family;
}

class figures : public prometheus::Collectable {
public:
    explicit figures(std::function<hf_monitor_status()> ask) : ask_(std::move(ask)) {}

    std::vector<prometheus::MetricFamily> Collect() const override {
        hf_monitor_status status = ask_();
        std::vector<prometheus::MetricFamily> all;
        for (const monitor_figure &each : monitor_figures())
            all.push_back(family_of(each.metric, each.title, static_cast<double>(status.*each.value)));
        all.push_back(family_of("holdfast_uptime_seconds", "time since the service started",
                                static_cast<double>(status.uptime_ns) / 1e9));
        prometheus::MetricFamily build = family_of("holdfast_build_info", "the version of Holdfast, as a label", 1);
        build.metric.front().label.push_back({.name = "version", .value = status.holdfast_version});
        all.push_back(build);
        return all;
    }

private:
    std::function<hf_monitor_status()> ask_;
};

} // namespace

struct metrics_endpoint::exposing {
    std::shared_ptr<figures> collected;
    prometheus::Exposer exposer;
};

metrics_endpoint::metrics_endpoint(const std::string &address, std::function<hf_monitor_status()> ask) try
    : exposing_(new exposing{.collected = std::make_shared<figures>(std::move(ask)),
                             .exposer = prometheus::Exposer(address, 1)}) {
    exposing_->exposer.RegisterCollectable(exposing_->collected);
} catch (const std::exception &) {
    throw failure(fmt::format("metrics can't be served on {}: choose another --metrics HOST:PORT", address));
}

metrics_endpoint::~metrics_endpoint() = default;

} // namespace holdfast::cli
