// SPDX-License-Identifier: MIT OR Apache-2.0
// A progress bar on the terminal behind standard error; nothing at all when there is none.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace holdfast::cli {

class progress {
public:
    explicit progress(std::size_t steps);
    // Leaves the line empty.
    ~progress();
    progress(const progress &) = delete;
    progress &operator=(const progress &) = delete;

    // A step begins: `label` says which.
    void begin(const std::string &label);
    // ... and is over.
    void end();
    // Takes the bar away, for other output; it comes back with the next step.
    void clear() const;

private:
    void draw() const;

    bool visible_;
    std::size_t steps_;
    std::size_t done_ = 0;
    std::string label_;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

} // namespace holdfast::cli
