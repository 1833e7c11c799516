// SPDX-License-Identifier: MIT OR Apache-2.0
// What the Preemption Monitor and its BPF programs have in common.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hint/registration.h"

extern "C" {
#include "monitor/bpf/followed_process.h"
}

namespace holdfast {

// Why there is no monitor: one sentence, with what to do about it.
class monitor_unavailable : public std::runtime_error {
public:
    explicit monitor_unavailable(const std::string &sentence, std::string log = "")
        : std::runtime_error(sentence), log_(std::move(log)) {}
    // All that the kernel's verifier has said of it.
    const std::string &log() const { return log_; }

private:
    std::string log_;
};

// What a walk over all threads has found.
struct census {
    std::uint64_t followed_processes = 0;
    std::vector<std::uint64_t> marks;   // in each scope
    std::vector<hf_group_found> groups; // all HF_HINT_GROUPS
};

// What a monitor gets to see of the scheduler's switches. `from_followed` is for tests: like a kernel that hides the
// switches from a protected process, it hides those from every process that is not followed. So is `slow_storms`: a
// fortieth of a storm is one, since not every machine can switch as often as a storm does (hint/switch_storm.h).
enum class monitor_sight { every_switch, from_followed, slow_storms };

} // namespace holdfast
