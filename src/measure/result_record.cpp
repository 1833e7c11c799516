// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/result_record.hpp"

#include <array>
#include <utility>

namespace holdfast::cli {
namespace {

constexpr std::array all_statuses = {cell_status::ok, cell_status::timeout, cell_status::crash, cell_status::failed,
                                     cell_status::absent};

// Each measured field once, for reading and writing.
constexpr std::array<std::pair<const char *, std::optional<double> result_record::*>, 25> measured_fields = {{
    {"ops_per_s", &result_record::ops_per_s},
    {"wait_mean_ns", &result_record::wait_mean_ns},
    {"wait_p50_ns", &result_record::wait_p50_ns},
    {"wait_p99_ns", &result_record::wait_p99_ns},
    {"wait_p999_ns", &result_record::wait_p999_ns},
    {"wait_max_ns", &result_record::wait_max_ns},
    {"fairness_factor", &result_record::fairness_factor},
    {"jain_ops", &result_record::jain_ops},
    {"jain_hold", &result_record::jain_hold},
    {"share_error", &result_record::share_error},
    {"cpu_s", &result_record::cpu_s},
    {"context_switches", &result_record::context_switches},
    {"migrations", &result_record::migrations},
    {"burden_jain", &result_record::burden_jain},
    {"same_worker", &result_record::same_worker},
    {"same_worker_calm", &result_record::same_worker_calm},
    {"bystander_turns_per_s", &result_record::bystander_turns_per_s},
    {"bystander_share", &result_record::bystander_share},
    {"delay_mean_ns", &result_record::delay_mean_ns},
    {"delay_p50_ns", &result_record::delay_p50_ns},
    {"delay_p99_ns", &result_record::delay_p99_ns},
    {"delay_max_ns", &result_record::delay_max_ns},
    {"measured_s", &result_record::measured_s},
    {"spins", &result_record::spins},
    {"line_ns", &result_record::line_ns},
}};

// What the workload's program was told, in microseconds.
constexpr std::array<std::pair<const char *, std::optional<double> result_record::*>, 3> told_lengths = {{
    {"between_us", &result_record::between_us},
    {"slice_us", &result_record::slice_us},
    {"section_us", &result_record::section_us},
}};

cell_status status_named(const std::string &name) {
    for (cell_status status : all_statuses) {
        if (name == name_of(status))
            return status;
    }
    throw json::other_error::create(501, "unknown status " + name, nullptr);
}

} // namespace

const char *name_of(cell_status status) {
    switch (status) {
    case cell_status::ok: return "ok";
    case cell_status::timeout: return "timeout";
    case cell_status::crash: return "crash";
    case cell_status::failed: return "failed";
    case cell_status::absent: return "absent";
    }
    return "failed";
}

unsigned count_in(const json &source, const char *name, unsigned least) {
    constexpr std::uint64_t count_max = 1'000'000;
    const json &value = source.at(name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least || value.get<std::uint64_t>() > count_max)
        throw json::other_error::create(501, std::string(name) + " is not a count", nullptr);
    return value.get<unsigned>();
}

// A pair of numbers: there are a hundred of them in a record.
void to_json(json &target, const runnable_sample &sample) {
    target = json{sample.at_ms, sample.threads};
}

void from_json(const json &source, runnable_sample &sample) {
    sample.at_ms = source.at(0).get<double>();
    sample.threads = source.at(1).get<unsigned>();
}

void to_json(json &target, const result_record &record) {
    target = json{{"workload", record.workload},     {"lock", record.lock},   {"threads", record.threads},
                  {"background", record.background}, {"round", record.round}, {"status", name_of(record.status)}};
    if (!record.arguments.empty())
        target["arguments"] = record.arguments;
    for (auto [name, length] : told_lengths) {
        if (record.*length)
            target[name] = *(record.*length);
    }
    for (auto [name, field] : measured_fields) {
        if (record.*field)
            target[name] = *(record.*field);
    }
    if (!record.wait_counts.empty())
        target["wait_counts"] = record.wait_counts;
    if (!record.delay_counts.empty())
        target["delay_counts"] = record.delay_counts;
    if (!record.runnable.empty())
        target["runnable"] = record.runnable;
    if (!record.thread_times.empty())
        target["thread_times"] = record.thread_times;
}

void from_json(const json &source, result_record &record) {
    source.at("workload").get_to(record.workload);
    source.at("lock").get_to(record.lock);
    record.threads = count_in(source, "threads", 1);
    record.background = count_in(source, "background", 0);
    record.round = count_in(source, "round", 0);
    record.arguments = source.value("arguments", "");
    record.status = status_named(source.at("status").get<std::string>());
    auto read_if_there = [&source](const char *name, std::optional<double> &value) {
        value = source.contains(name) ? std::optional(source.at(name).get<double>()) : std::nullopt;
    };
    for (auto [name, length] : told_lengths)
        read_if_there(name, record.*length);
    for (auto [name, field] : measured_fields)
        read_if_there(name, record.*field);
    record.wait_counts = {};
    if (source.contains("wait_counts"))
        source.at("wait_counts").get_to(record.wait_counts);
    record.delay_counts = {};
    if (source.contains("delay_counts"))
        source.at("delay_counts").get_to(record.delay_counts);
    record.runnable.clear();
    if (source.contains("runnable"))
        source.at("runnable").get_to(record.runnable);
    record.thread_times.clear();
    if (source.contains("thread_times"))
        source.at("thread_times").get_to(record.thread_times);
}

} // namespace holdfast::cli
