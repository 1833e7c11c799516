// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/workload.hpp"

namespace holdfast::cli {

const std::vector<workload> &workloads() {
    static const std::vector<workload> all = {
#define HF_WORKLOAD(name, summary) {name, lockers::threads, "", summary},
#define HF_PTHREAD_WORKLOAD(name, locks, summary) {name, lockers::interposed_threads, locks, summary},
#define HF_SLICE_WORKLOAD(name, locks, summary) {name, lockers::threads, locks, summary},
#define HF_CORO_WORKLOAD(name, locks, summary) {name, lockers::coroutines, locks, summary},
#include "measure/workload_list.def"
#undef HF_WORKLOAD
#undef HF_PTHREAD_WORKLOAD
#undef HF_SLICE_WORKLOAD
#undef HF_CORO_WORKLOAD
    };
    return all;
}

const workload *find_workload(const std::string &name) {
    for (const auto &one : workloads()) {
        if (name == one.name)
            return &one;
    }
    return nullptr;
}

const std::vector<std::string> &coro_lock_names() {
    static const std::vector<std::string> all = {
#define HF_CORO_LOCK(name, summary) name,
#include "measure/coro_lock_list.def"
#undef HF_CORO_LOCK
    };
    return all;
}

bool takes_time_between(const std::string &name) {
    return name == "shared-memory";
}

bool takes_lengths(const std::string &name) {
    return name == "scl-slice";
}

bool takes_slices(const std::string &name) {
    return name == "scl-interactive";
}

bool is_about_waits(const std::string &name) {
    return name == "scl-interactive";
}

bool measures_queuing_delays(const std::string &name) {
    return name == "coro-queuing-delay";
}

bool is_for_two_threads(const std::string &name) {
    return name == "scl-toy";
}

} // namespace holdfast::cli
