// SPDX-License-Identifier: MIT OR Apache-2.0
// Two threads that hand a mutex to each other, and wait for a condition until they have it back.
#pragma once

#include <pthread.h>

#include "threads_and_processes.hpp"

namespace holdfast::test {

// So many rounds; member 0 and 1 begin with prepare(member). True when all hand-overs have happened.
template <class Prepare>
[[nodiscard]] bool hand_over(pthread_mutex_t &mutex, int rounds, Prepare prepare) {
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    int turn = 0;
    team two(2, [&](int member) {
        prepare(member);
        for (int round = 0; round < rounds; round++) {
            pthread_mutex_lock(&mutex);
            while (turn % 2 != member)
                pthread_cond_wait(&cond, &mutex);
            turn++;
            pthread_cond_broadcast(&cond);
            while (turn % 2 != member && turn < 2 * rounds)
                pthread_cond_wait(&cond, &mutex);
            pthread_mutex_unlock(&mutex);
        }
    });
    two.join();
    return turn == 2 * rounds;
}

} // namespace holdfast::test
