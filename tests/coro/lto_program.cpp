// SPDX-License-Identifier: MIT OR Apache-2.0
// Fibers that change threads again and again, each wait in a function that a link-time optimizer inlines: what one
// thread's address of thread-local storage was must not be used on the next. Built and run by with_lto.
#include <atomic>
#include <cstdio>
#include <unistd.h>

#include "holdfast/coro/coro.hpp"
#include "holdfast/coro/fiber.hpp"

using namespace holdfast::coro;

namespace {

constexpr int fibers = 8, rounds = 20'000;

struct scene {
    mutex guard;
    long counter = 0;
    std::atomic<long> moves = 0;
};

void count(scene &in) {
    pid_t before = gettid(); // this_thread::get_id() may be kept: glibc says that it never changes
    for (int i = 0; i < rounds; i++) {
        this_fiber::await(in.guard.lock());
        in.counter++;
        this_fiber::await(in.guard.unlock());
        this_fiber::await(yield());
        if (pid_t now = gettid(); now != before) {
            in.moves.fetch_add(1, std::memory_order_relaxed);
            before = now;
        }
    }
}

} // namespace

int main() {
    scene all;
    {
        pool workers(4);
        async_scope scope(workers);
        for (int i = 0; i < fibers; i++)
            scope.spawn(fiber([&] { count(all); }));
        sync_wait(workers, scope.join());
    }
    std::printf("%ld sections, %ld changes of threads\n", all.counter, all.moves.load());
    return all.counter == long{fibers} * rounds && all.moves > 0 ? 0 : 1;
}
