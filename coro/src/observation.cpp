// SPDX-License-Identifier: MIT OR Apache-2.0
#include "holdfast/coro/detail/observation.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "holdfast/coro/statistics.hpp"
#include "holdfast/coro/trace.hpp"

namespace holdfast::coro {
namespace detail {

constinit std::atomic<unsigned> observed = 0;

void set_noting(unsigned what, bool on) noexcept {
    if (on)
        observed.fetch_or(what, std::memory_order_relaxed);
    else
        observed.fetch_and(~what, std::memory_order_relaxed);
}

std::uint64_t observation_clock_ns() noexcept {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

} // namespace detail

namespace {

// What the environment asks for, before main() and after it. secure_getenv: a program that runs with its file's rights
// does not write where its caller says.
class from_environment {
public:
    from_environment() {
        const char *statistics_wanted = secure_getenv("HOLDFAST_CORO_STATS");
        prints_ =
            statistics_wanted && std::strcmp(statistics_wanted, "") != 0 && std::strcmp(statistics_wanted, "0") != 0;
        if (prints_)
            statistics::count(true);
        trace_path_ = secure_getenv("HOLDFAST_CORO_TRACE");
        if (trace_path_ && *trace_path_ != '\0')
            trace::start();
        else
            trace_path_ = nullptr;
    }
    ~from_environment() {
        if (prints_)
            statistics::print(stderr);
        if (!trace_path_)
            return;
        trace::stop();
        try {
            trace::write(trace_path_);
        } catch (const std::exception &error) {
            std::fprintf(stderr, "holdfast: %s\n", error.what());
        }
    }
    from_environment(const from_environment &) = delete;
    from_environment &operator=(const from_environment &) = delete;

private:
    bool prints_ = false;
    const char *trace_path_ = nullptr;
};

const from_environment environment;

} // namespace
} // namespace holdfast::coro
