// SPDX-License-Identifier: MIT OR Apache-2.0
// Single waits in futexes, with the stacks of the threads that wait and of those that wake them: loaded into the kernel
// for as long as this object lives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/types.h>
#include <utility>

#include "monitor/bpf/wait_events.h"
#include "monitor/older_waits.hpp"

namespace holdfast {

// Why there is none: one sentence, with what to do about it.
class wait_watch_unavailable : public std::runtime_error {
public:
    explicit wait_watch_unavailable(const std::string &sentence, std::string log = "")
        : std::runtime_error(sentence), log_(std::move(log)) {}
    const std::string &log() const { return log_; }

private:
    std::string log_;
};

class wait_watch {
public:
    struct plan {
        bool everybody = false;    // else the processes that follow() names, and what they fork
        bool locks_alone = false;  // else all sleeps in futexes
        bool preemptions = false;  // HF_THREAD_PREEMPTED, too
        unsigned all_of_slot = 32; // so many waits of 10 ms on a CPU are all seen, of the rest one in 64
    };
    // Throws wait_watch_unavailable.
    explicit wait_watch(const plan &how);
    ~wait_watch();
    wait_watch(const wait_watch &) = delete;
    wait_watch &operator=(const wait_watch &) = delete;

    // False when there is no such process.
    bool follow(pid_t process) const;

    // Tells of the waits of a process that go on now, as if they began; 0: of everybody, those for locks alone. Nothing
    // where they are hidden.
    void meet_sleepers(pid_t process) const;
    older_waits sees_older() const;

    // The stack is there with HF_WAIT_BEGINS and HF_WAIT_RELEASED. Valid during the call alone.
    using reader = std::function<void(const hf_wait_event &event, const hf_stack *stack)>;
    // What has happened since it was called last, in the order in which it happened on each CPU.
    void read(const reader &each) const;

    // Events that are missing, for want of room: to be read more often.
    std::uint64_t lost_total() const;

private:
    struct loaded;
    std::unique_ptr<loaded> loaded_;
};

} // namespace holdfast
