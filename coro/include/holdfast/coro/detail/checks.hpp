// SPDX-License-Identifier: MIT OR Apache-2.0
// What a debug build looks at: that a caller keeps to what a function requires. One that does not would wait for ever
// or use memory that is not there; here the program ends with a sentence instead. On where NDEBUG is not defined, as
// with assert(), or HF_CHECKS is.
#pragma once

#include <cstdio>
#include <cstdlib>

#if defined(HF_CHECKS) || !defined(NDEBUG)
#define HF_CORO_CHECKS 1
#else
#define HF_CORO_CHECKS 0
#endif

namespace holdfast::coro::detail {

// `sentence`: what was done that must not be, and what to do instead.
[[noreturn]] inline void misused(const char *sentence) noexcept {
    std::fprintf(stderr, "holdfast: %s\n", sentence);
    std::abort();
}

// An operation that gives something back was made and not awaited.
inline void not_awaited() noexcept {
    if (HF_CORO_CHECKS)
        misused(
            "an unlock() or release() was called and not awaited: 'co_await guard.unlock()', or unlock_unsuspended() "
            "where nothing can be awaited");
}

inline void require(bool kept, const char *sentence) noexcept {
    if (HF_CORO_CHECKS && !kept)
        misused(sentence);
}

} // namespace holdfast::coro::detail
