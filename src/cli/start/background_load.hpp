// SPDX-License-Identifier: MIT OR Apache-2.0
// Busy threads of another process (bench/workloads/background_load.cpp), beside what is measured, while the object
// lives.
#pragma once

#include <optional>

#include "cli/common/interruption.hpp"
#include "cli/start/process.hpp"

namespace holdfast::cli {

class background_load {
public:
    // Returns when all threads run. None for 0 threads. Throws failure when it can't be had.
    background_load(unsigned threads, const interruption &interrupted);

    // False: the wait for it was interrupted.
    bool runs() const { return runs_; }

private:
    std::optional<process> process_;
    bool runs_ = true;
};

// "; 2 busy threads of another process"; empty for 0.
std::string background_phrase(unsigned threads);

} // namespace holdfast::cli
