// SPDX-License-Identifier: MIT OR Apache-2.0
// A program for Boost.Fiber that uses all that its mutexes and condition variables have. TYPES is their namespace.
#include <boost/fiber/all.hpp>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <type_traits>

#include "holdfast/fibers/fibers.hpp"

using namespace std::chrono_literals;
using TYPES::condition_variable;
using TYPES::condition_variable_any;
using TYPES::cv_status;
using TYPES::mutex;
using TYPES::recursive_mutex;
using TYPES::recursive_timed_mutex;
using TYPES::timed_mutex;

template <class Mutex>
int count_with() {
    Mutex guard;
    int count = 0;
    boost::fibers::fiber adders[4];
    for (boost::fibers::fiber &one : adders)
        one = boost::fibers::fiber([&] {
            for (int i = 0; i < 100; i++) {
                std::lock_guard<Mutex> held(guard);
                int seen = count;
                boost::this_fiber::yield();
                count = seen + 1;
            }
        });
    for (boost::fibers::fiber &one : adders)
        one.join();
    if (guard.try_lock())
        guard.unlock();
    return count;
}

template <class Mutex>
bool in_time() {
    Mutex guard;
    std::unique_lock<Mutex> held(guard);
    bool first = false, second = false;
    boost::fibers::fiber late([&] {
        first = guard.try_lock_for(1ms);
        second = guard.try_lock_until(std::chrono::steady_clock::now() + 1ms);
    });
    late.join();
    return first || second;
}

template <class Condition>
int ping_pong() {
    mutex guard;
    Condition changed;
    int turn = 0, late = 0;
    auto play = [&](int own) {
        for (int i = 0; i < 50; i++) {
            std::unique_lock<mutex> held(guard);
            if (i % 2)
                changed.wait(held, [&] { return turn % 2 == own; });
            else
                while (turn % 2 != own)
                    changed.wait(held);
            turn++;
            changed.notify_all();
        }
    };
    boost::fibers::fiber one(play, 0), other(play, 1);
    one.join();
    other.join();
    std::unique_lock<mutex> held(guard);
    late += changed.wait_for(held, 1ms) == cv_status::timeout;
    late += changed.wait_until(held, std::chrono::steady_clock::now() + 1ms) == cv_status::timeout;
    late += !changed.wait_for(held, 1ms, [] { return false; });
    late += !changed.wait_until(held, std::chrono::steady_clock::now() + 1ms, [] { return false; });
    return 1000 * turn + late;
}

int main() {
    static_assert(!std::is_copy_constructible_v<mutex> && !std::is_copy_assignable_v<mutex>);
    std::printf("%d %d %d %d\n", count_with<mutex>(), count_with<timed_mutex>(), count_with<recursive_mutex>(),
                count_with<recursive_timed_mutex>());
    std::printf("%d %d\n", in_time<timed_mutex>(), in_time<recursive_timed_mutex>());
    std::printf("%d %d\n", ping_pong<condition_variable>(), ping_pong<condition_variable_any>());
    mutex guard;
    try {
        guard.unlock();
    } catch (const boost::fibers::lock_error &error) {
        std::printf("%d\n", error.code().value());
    }
    guard.lock();
    try {
        guard.lock();
    } catch (const boost::fibers::lock_error &error) {
        std::printf("%d\n", error.code().value());
    }
    guard.unlock();
}
