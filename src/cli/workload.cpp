// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/workload.hpp"

namespace holdfast::cli {

const std::vector<workload> &workloads() {
    static const std::vector<workload> all = {
#define HF_WORKLOAD(name, summary) {name, summary},
#include "cli/workload_list.def"
#undef HF_WORKLOAD
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

} // namespace holdfast::cli
