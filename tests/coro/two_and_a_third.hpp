// SPDX-License-Identifier: MIT OR Apache-2.0
// Two tasks that play with each other, and a third that wants the thread, too: its turn has to come.
#pragma once

#include "coro/gathering.hpp"
#include "holdfast/coro/coro.hpp"

namespace holdfast::coro {

// `play`, called with 0 and 1, makes the two: they end when `over` is true. That is said by the third, which waits for
// the one worker that there is.
template <class Play>
void play_until_a_third_ends_it(Play play, bool &over) {
    pool worker(1u);
    gathering all;
    auto end = [&]() -> task<> {
        over = true; // there is one worker
        co_return;
    };
    auto begin = [&]() -> task<> {
        all.add(worker, play(0));
        all.add(worker, play(1));
        all.add(worker, end());
        co_return;
    };
    all.add(worker, begin());
    all.wait();
}

} // namespace holdfast::coro
