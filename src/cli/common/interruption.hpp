// SPDX-License-Identifier: MIT OR Apache-2.0
// Ctrl-C and its like as something to wait for: while one of these lives, SIGINT, SIGTERM and SIGHUP do not end the
// process, so that it can stop its children and keep what was measured. The second signal of a kind ends it at once.
#pragma once

#include <array>
#include <csignal>

namespace holdfast::cli {

// At most one at a time.
class interruption {
public:
    interruption();
    ~interruption();
    interruption(const interruption &) = delete;
    interruption &operator=(const interruption &) = delete;

    bool requested() const { return signal() != 0; }
    // The first signal that came, or 0.
    int signal() const;
    // Readable from the moment that one came.
    int fd() const;

private:
    static constexpr std::array signals = {SIGINT, SIGTERM, SIGHUP};
    std::array<struct sigaction, signals.size()> before_;
};

} // namespace holdfast::cli
