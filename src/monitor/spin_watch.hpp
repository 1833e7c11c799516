// SPDX-License-Identifier: MIT OR Apache-2.0
// Busy-waiting detection for the programs that the calling thread starts: threads that spin while others want their CPU
// are made to yield (bpf/spin_samples.bpf.c), for as long as this object lives.
//
//     COUNTS: the clock's ticks --- the programs have been busy for a while ---> DETECTS
//                                                  |
//                                                  +--- the kernel refuses it ---> counts, and says so once
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/end_signal.hpp"
#include "monitor/spin_totals.hpp"

namespace holdfast {

// Why there is none: one sentence, with what to do about it.
class spin_watch_unavailable : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class spin_watch {
public:
    // When needed: a program that is hardly busy is spared the CPU time that the detector's loading takes.
    enum class detector_comes : std::uint8_t { first, when_needed };
    using refusal_handler = std::function<void(const std::string &)>;

    // Watches what this thread starts from now on, from its next exec on. Throws spin_watch_unavailable. What the
    // kernel refuses only when it is needed is said to `refused`, on another thread.
    spin_watch(detector_comes when, refusal_handler refused);
    ~spin_watch();
    spin_watch(const spin_watch &) = delete;
    spin_watch &operator=(const spin_watch &) = delete;

    // Of one whose detector came first.
    spin_totals totals() const;

private:
    struct clock;
    struct detector;

    void follow();
    bool waits_for_busy_programs();

    refusal_handler refused_;
    end_signal ends_; // given: this object is being destroyed
    std::unique_ptr<clock> clock_;
    std::unique_ptr<detector> detector_; // the reader's alone, unless it came first
    std::jthread reader_;
};

} // namespace holdfast
