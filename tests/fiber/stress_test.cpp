// SPDX-License-Identifier: MIT OR Apache-2.0
// Random operations on all the mutexes and condition variables, 2 to 8 threads, each algorithm. Nobody is forgotten,
// and one is inside.
// Shown able to fail: a waiter that was CHOSEN while it switched and that nobody makes ready (hangs); under
// ThreadSanitizer, a waiter that goes on before its waker has told its thread (fiber.W4). Not caught here, but by the
// model: a waiter that is resumed while it is on its stack; one that is detached after SUSPENDED.
#include <gtest/gtest.h>

#include "fiber/scheduling.hpp"
#include "holdfast/fibers/fibers.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

struct counted {
    int inside = 0;
    std::uint64_t sections = 0;
    void enter() {
        EXPECT_EQ(++inside, 1);
        sections++;
        inside--;
    }
};

struct shared {
    fibers::mutex mutex;
    counted of_mutex;
    fibers::timed_mutex timed;
    counted of_timed;
    fibers::recursive_timed_mutex recursive;
    counted of_recursive;
    fibers::mutex queue_mutex;
    fibers::condition_variable not_empty;
    fibers::condition_variable_any not_full;
    unsigned queued = 0;
    std::atomic<std::uint64_t> entered = 0, put = 0, taken = 0;
};

constexpr unsigned queue_max = 4;

void operate(shared &all, unsigned random) {
    switch (random % 8) {
    case 0: {
        if (all.timed.try_lock_for(std::chrono::microseconds(random % 300))) {
            all.of_timed.enter();
            all.timed.unlock();
            all.entered++;
        }
        return;
    }
    case 1: {
        if (all.mutex.try_lock()) {
            all.of_mutex.enter();
            all.mutex.unlock();
            all.entered++;
        }
        return;
    }
    case 2: {
        std::lock_guard outer(all.recursive);
        std::lock_guard inner(all.recursive);
        all.of_recursive.enter();
        all.entered++;
        return;
    }
    case 3: {
        std::lock_guard held(all.timed);
        all.of_timed.enter();
        all.entered++;
        return;
    }
    case 4: {
        try {
            std::lock_guard held(all.mutex);
            all.of_mutex.enter();
            all.entered++;
            throw random;
        } catch (unsigned caught) {
            EXPECT_EQ(caught, random);
        }
        return;
    }
    default: {
        std::lock_guard held(all.mutex);
        all.of_mutex.enter();
        all.entered++;
        if (random % 3 == 0)
            boost::this_fiber::yield();
    }
    }
}

void put(shared &all) {
    std::unique_lock held(all.queue_mutex);
    while (all.queued == queue_max)
        all.not_full.wait_for(held, 1ms);
    all.queued++;
    all.put++;
    all.not_empty.notify_one();
}
void take(shared &all) {
    std::unique_lock held(all.queue_mutex);
    all.not_empty.wait(held, [&] { return all.queued > 0; });
    all.queued--;
    all.taken++;
    held.unlock();
    all.not_full.notify_one();
}

#if defined(__SANITIZE_THREAD__) || defined(HF_CHECKS)
constexpr unsigned rounds = 300;
#else
constexpr unsigned rounds = 2000;
#endif
constexpr unsigned fibers_each = 16;

template <class Algorithm>
void stress(unsigned threads) {
    shared all;
    auto start = [&](fiber_group &group) {
        for (unsigned i = 0; i < fibers_each; i++)
            group.start([&all, i, threads] {
                unsigned random = 7919 * (i + 1) + threads;
                for (unsigned round = 0; round < rounds; round++) {
                    random = random * 1664525u + 1013904223u;
                    operate(all, random >> 8);
                    if (round % 4 == 0)
                        i % 2 ? put(all) : take(all);
                }
            });
    };
    if constexpr (fibers::moves_fibers<Algorithm>::value || std::is_same_v<Algorithm, ces<shared_work>> ||
                  std::is_same_v<Algorithm, ces<work_stealing>>)
        on_threads<Algorithm>(threads, [&] {
            fiber_group group;
            start(group);
            group.wait();
        });
    else
        on_threads<Algorithm>(
            threads, [] {},
            [&](unsigned) {
                fiber_group group;
                start(group);
                group.wait();
            });
    EXPECT_EQ(all.of_mutex.sections + all.of_timed.sections + all.of_recursive.sections, all.entered);
    EXPECT_EQ(all.put, all.taken);
    EXPECT_EQ(all.queued, 0u);
}

class Stress : public testing::TestWithParam<unsigned> {};
TEST_P(Stress, SharedWork) {
    in_child([] { stress<ces<shared_work>>(GetParam()); });
}
TEST_P(Stress, WorkStealing) {
    in_child([] { stress<ces<work_stealing>>(GetParam()); });
}
TEST_P(Stress, RoundRobin) {
    in_child([] { stress<ces<round_robin>>(GetParam()); });
}
TEST_P(Stress, WithoutCes) {
    in_child([] { stress<shared_work>(GetParam()); });
}
INSTANTIATE_TEST_SUITE_P(Threads, Stress, testing::Values(2u, 4u, 8u));

// All of them at one mutex, with threads that run no fibers.
TEST(Stress, MixedThreads) {
    in_child([] {
        fibers::timed_mutex mutex;
        counted of;
        std::atomic<std::uint64_t> entered = 0;
        auto lock = [&] {
            for (unsigned i = 0; i < rounds; i++) {
                if (i % 5 == 0) {
                    if (!mutex.try_lock_for(100us))
                        continue;
                } else {
                    mutex.lock();
                }
                of.enter();
                mutex.unlock();
                entered++;
            }
        };
        auto start = [&] {
            fiber_group group;
            for (int i = 0; i < 4; i++)
                group.start(lock);
            group.wait();
        };
        std::thread plain(lock);
        std::thread sharing([&] { on_threads<ces<shared_work>>(2, start); });
        std::thread stealing([&] { on_threads<ces<work_stealing>>(2, start); });
        std::thread bound([&] { on_threads<ces<round_robin>>(1, start); });
        std::thread unaware([&] { on_threads<round_robin>(1, start); });
        for (std::thread *one : {&plain, &sharing, &stealing, &bound, &unaware})
            one->join();
        EXPECT_EQ(of.sections, entered);
    });
}

} // namespace
} // namespace holdfast::test
