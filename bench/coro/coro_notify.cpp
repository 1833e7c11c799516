// SPDX-License-Identifier: MIT OR Apache-2.0
// As coro-condvar, but each notifies after it has unlocked: then the mutex may be free, and an awaited notification
// gives its thread to the notified task.
#include "coro/cell_main.hpp"
#include "coro/conveyor.hpp"
#include "coro/prime_buffer.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;

template <coro::policy Policy, notifies When>
cell_result measure(const cell_options &options) {
    prime_buffer<Policy, When> buffer;
    return measure_conveyor(options, buffer);
}

} // namespace

int main(int argc, char **argv) {
    return coro_workload_main(argc, argv, "coro-notify",
                              {{"ces", measure<coro::policy::ces, notifies::awaited>},
                               {"ces-not-awaited", measure<coro::policy::ces, notifies::after>},
                               {"dispatch", measure<coro::policy::dispatch, notifies::awaited>},
                               {"inline", measure<coro::policy::inline_, notifies::awaited>}});
}
