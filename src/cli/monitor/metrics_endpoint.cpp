// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/metrics_endpoint.hpp"

#include <fmt/core.h>
#include <future>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <string>
#include <string_view>
#include <utility>

#include "cli/common/exit_status.hpp"
#include "cli/monitor/monitor_figures.hpp"
#include "cli/monitor/port_owner.hpp"
#include "monitor/cpu_set.hpp"

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

// For each scope that there is something to tell of.
template <typename Value>
void add_by_scope(prometheus::MetricFamily &family, const hf_monitor_status &status, const Value &value_of) {
    prometheus::ClientMetric unlabelled = std::exchange(family.metric, {}).front();
    for (std::size_t number = 0; number < HF_HINT_SCOPES; number++) {
        if (!is_worth_telling(status.scope[number], number))
            continue;
        prometheus::ClientMetric metric = unlabelled;
        metric.label.push_back({.name = "scope", .value = std::to_string(number)});
        value_of(metric, status.scope[number]);
        family.metric.push_back(metric);
    }
}

prometheus::MetricFamily family_by_scope(const scope_figure &figure, const hf_monitor_status &status) {
    prometheus::MetricFamily family = family_of(figure.metric, figure.title, 0);
    add_by_scope(family, status, [&](prometheus::ClientMetric &metric, const hf_scope_status &scope) {
        metric.counter.value = metric.gauge.value = static_cast<double>(scope.*figure.value);
    });
    return family;
}

prometheus::MetricFamily scopes_cpus(const hf_monitor_status &status) {
    prometheus::MetricFamily family =
        family_of("holdfast_scope_info", "the CPUs of a scope's processes, as a label", 1);
    add_by_scope(family, status, [](prometheus::ClientMetric &metric, const hf_scope_status &scope) {
        metric.label.push_back({.name = "cpus", .value = to_list(cpus_of_words(scope.cpus))});
    });
    return family;
}

class figures : public prometheus::Collectable {
public:
    explicit figures(std::function<hf_monitor_status()> ask) : ask_(std::move(ask)) {}

    // On a thread of its own: those of the HTTP server have small stacks, the libraries' thread-local storage is part
    // of them, and a status is 10 KiB.
    std::vector<prometheus::MetricFamily> Collect() const override {
        return std::async(std::launch::async, [this] { return all_families(); }).get();
    }

private:
    std::vector<prometheus::MetricFamily> all_families() const {
        hf_monitor_status status = ask_();
        std::vector<prometheus::MetricFamily> all;
        for (const monitor_figure &each : monitor_figures())
            all.push_back(family_of(each.metric, each.title, static_cast<double>(status.*each.value)));
        all.push_back(family_of("holdfast_uptime_seconds", "time since the service started",
                                static_cast<double>(status.uptime_ns) / 1e9));
        prometheus::MetricFamily build = family_of("holdfast_build_info", "the version of Holdfast, as a label", 1);
        build.metric.front().label.push_back({.name = "version", .value = status.holdfast_version});
        all.push_back(build);
        for (const scope_figure &each : scope_figures())
            all.push_back(family_by_scope(each, status));
        all.push_back(scopes_cpus(status));
        return all;
    }

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
} catch (const std::exception &problem) {
    std::string why = why_not_listening(address);
    throw failure(fmt::format("metrics can't be served on {}: {}: choose another --metrics HOST:PORT", address,
                              why.empty() ? problem.what() : why));
}

metrics_endpoint::~metrics_endpoint() = default;

} // namespace holdfast::cli
