// SPDX-License-Identifier: MIT OR Apache-2.0
// The oversubscription scheduler (bpf/oversub.bpf.c) as the command sees it: loaded, asked how it is, and gone when
// this object or the process is.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "monitor/spin_totals.hpp"
#include "oversub/bpf/scheduler_exit.h"

namespace holdfast {

// The kernel, or our rights, do not allow it. what(): one sentence.
class scheduler_unavailable : public std::runtime_error {
public:
    scheduler_unavailable(const std::string &why, std::string log) : runtime_error(why), log_(std::move(log)) {}
    // All that the kernel has said.
    const std::string &log() const { return log_; }

private:
    std::string log_;
};

class scheduler {
public:
    // Whose threads it schedules: those that ask for it (SCHED_EXT), or all that the kernel's own would.
    enum class reach { asking_threads, whole_machine };

    // Threads that spin while others want their CPU go behind those (bpf/spinner_watch.bpf.h).
    enum class spinners { run_on, are_detected };

    // Threads whose slice ends while they hold a lock go on for a little (bpf/holder_turn.bpf.h).
    enum class holders { are_as_others, go_on };

    // Throws scheduler_unavailable.
    scheduler(reach whose, spinners which, holders treated);
    ~scheduler();
    scheduler(const scheduler &) = delete;
    scheduler &operator=(const scheduler &) = delete;

    // Empty: it is in place. Else why the kernel has thrown it out, in a sentence.
    std::string why_thrown_out() const;
    // A CPU has come or gone: it is to be loaded anew.
    bool wants_restart() const;
    hf_scheduler_totals totals() const;
    spin_totals spinning() const;

private:
    struct loaded;
    std::unique_ptr<loaded> loaded_;
};

// A sentence; empty: nothing is known against it. Without rights, and quick.
std::string why_sched_ext_is_of_no_use();
// The name of the sched_ext scheduler in place, of ours or another's; empty: none.
std::string scheduler_in_place();
bool is_oversubscription_scheduler_in_place();
// The calling thread is scheduled by it, and so is whatever it starts.
bool is_under_oversubscription_scheduler();

// Puts a thread under the scheduler that schedules asking threads, with the threads that it starts from then on.
// Returns false with errno.
bool ask_for_scheduler(int thread);

} // namespace holdfast
