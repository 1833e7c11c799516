// SPDX-License-Identifier: MIT OR Apache-2.0
// Producers and consumers of primes, and a buffer of 16 between them: a mutex and two condition variables.
#include "coro/cell_main.hpp"
#include "coro/conveyor.hpp"
#include "coro/prime_buffer.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;

template <coro::policy Policy>
cell_result measure(const cell_options &options) {
    prime_buffer<Policy> buffer;
    return measure_conveyor(options, buffer);
}

} // namespace

int main(int argc, char **argv) {
    return coro_workload_main(argc, argv, "coro-condvar",
                              {{"ces", measure<coro::policy::ces>},
                               {"dispatch", measure<coro::policy::dispatch>},
                               {"inline", measure<coro::policy::inline_>}});
}
