// SPDX-License-Identifier: MIT OR Apache-2.0
// The terminal, while top has it to itself.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/top/browser.hpp"

namespace holdfast::cli::top {

class terminal {
public:
    // Throws failure when there is none, or it is of no use. At most one at a time.
    // Signals that end the process give the terminal back first, as it was.
    terminal();
    ~terminal();
    terminal(const terminal &) = delete;
    terminal &operator=(const terminal &) = delete;

    page_size size() const;
    void draw(const std::vector<line> &lines) const;

    struct event {
        bool resized = false;
        bool gone = false; // nobody is there any more
        std::optional<key> pressed{};
    };
    // The next one; nothing happened when the time is over. Negative: waits for good.
    event wait(int timeout_ms) const;
};

} // namespace holdfast::cli::top
