// SPDX-License-Identifier: MIT OR Apache-2.0
// For programs that are compiled with -fno-exceptions: there nothing is thrown, and what would be ends the program with
// a sentence. Test: tests/coro/headers_alone.
#pragma once

#ifdef __cpp_exceptions
#define HF_CORO_TRY try
#define HF_CORO_CATCH(what) catch (what)
#define HF_CORO_THROW(sentence, ...) throw __VA_ARGS__
#else
#include "holdfast/coro/detail/checks.hpp"
#define HF_CORO_TRY if constexpr (true)
#define HF_CORO_CATCH(what) else
#define HF_CORO_THROW(sentence, ...) ::holdfast::coro::detail::misused(sentence)
#endif
