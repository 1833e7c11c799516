// SPDX-License-Identifier: MIT OR Apache-2.0
// Busy-waiting detection for the programs that the calling thread starts: threads that spin while others want their CPU
// are made to yield (bpf/spin_samples.bpf.c), for as long as this object lives.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast {

// Why there is none: one sentence, with what to do about it.
class spin_watch_unavailable : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct spin_totals {
    std::uint64_t samples, contested, detections, yields, in_vain, unreachable;
    std::uint64_t loops; // instructions of loops that wait, met in the programs
};

class spin_watch {
public:
    // Watches what this thread starts from now on, from its next exec on. Throws spin_watch_unavailable.
    spin_watch();
    ~spin_watch();
    spin_watch(const spin_watch &) = delete;
    spin_watch &operator=(const spin_watch &) = delete;

    spin_totals totals() const;

private:
    void follow(const std::stop_token &stop);

    struct loaded;
    std::unique_ptr<loaded> loaded_;
    std::jthread reader_;
};

} // namespace holdfast
