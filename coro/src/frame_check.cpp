// SPDX-License-Identifier: MIT OR Apache-2.0
#include "holdfast/coro/detail/frame_check.hpp"

#include <cstdio>
#include <cstdlib>

namespace holdfast::coro::detail {

void frame_is_broken(const std::source_location &coroutine) noexcept {
    std::fprintf(stderr,
                 "holdfast: %s:%u: the compiler has laid out the frame of the coroutine that ends here wrongly, as "
                 "g++ 12 does where if (co_await ...) or while (co_await ...) comes before any variable: store what is "
                 "awaited in a variable first\n",
                 coroutine.file_name(), static_cast<unsigned>(coroutine.line()));
    std::abort();
}

} // namespace holdfast::coro::detail
