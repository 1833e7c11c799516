// SPDX-License-Identifier: MIT OR Apache-2.0
// The C++ runtime keeps the exceptions that are thrown or being handled for each thread, and knows nothing of fibers.
#pragma once

#include <cxxabi.h>

namespace holdfast::fibers::detail {

// As the Itanium C++ ABI lays it out.
struct exception_globals {
    void *caught;
    unsigned uncaught;
};

// Not inline, and with an effect: the runtime's function is declared as one that always gives the same, which is wrong
// after a fiber has changed its thread.
[[gnu::noinline]] inline exception_globals *exceptions_here() noexcept {
    auto *here = reinterpret_cast<exception_globals *>(abi::__cxa_get_globals());
    asm volatile("" : "+r"(here));
    return here;
}

// Is one thrown or handled on this thread? Also true where a fiber has been suspended that handles one.
inline bool handles_exception() noexcept {
    const exception_globals *here = exceptions_here();
    return here->caught || here->uncaught > 0;
}

} // namespace holdfast::fibers::detail
