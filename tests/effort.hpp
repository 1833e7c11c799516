// SPDX-License-Identifier: MIT OR Apache-2.0
// How often tests do what shows a fault by its number: threads that come and go, rounds of a stress. An emulated
// processor takes many times as long, above all to start a thread: HOLDFAST_TEST_DIVISOR=10 asks for a tenth, and
// tests/emulated/run sets it.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace holdfast::test {

// The usual number, or a part of it; never below the least at which the test fails for the fault that it looks for.
inline int effort(int usual, int least) {
    const char *divisor = std::getenv("HOLDFAST_TEST_DIVISOR");
    return divisor ? std::max(usual / std::max(std::atoi(divisor), 1), least) : usual;
}

} // namespace holdfast::test
