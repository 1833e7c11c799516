// SPDX-License-Identifier: MIT OR Apache-2.0
// So many sections of one task that nobody contends with, or turns in the queue of its worker: for
// bench/scripts/count-coro-sections, which counts instructions.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/pool.hpp"
#include "holdfast/coro/spawn.hpp"

namespace {

using namespace holdfast::coro;

// Valgrind makes a section so long that the turn would look at the clock at each (turn.hpp). What is counted is the
// usual one, between two looks.
bool between_looks = false;

void begin_turn() {
    if (between_looks) {
        current_context()->current_turn.operations = 1;
        current_context()->current_turn.next_look = ~0u;
    }
}

template <class Mutex>
task<long> lock_and_unlock(Mutex &guard, long times) {
    long value = 0;
    begin_turn();
    for (long i = 0; i < times; i++) {
        co_await guard.lock();
        value++;
        co_await guard.unlock();
    }
    co_return value;
}

task<long> with(mutex &guard, long times) {
    long value = 0;
    begin_turn();
    for (long i = 0; i < times; i++)
        co_await guard.with([&] { value++; });
    co_return value;
}

task<long> std_mutex(std::mutex &guard, long times) {
    long value = 0;
    for (long i = 0; i < times; i++) {
        guard.lock();
        value++;
        guard.unlock();
    }
    co_return value;
}

// Queues the caller where its worker finds it.
struct queue_here {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const noexcept { current_context()->home->schedule(self); }
    void await_resume() const noexcept {}
};

task<long> go_through_the_queue(long times) {
    for (long i = 0; i < times; i++)
        co_await queue_here();
    co_return times;
}

} // namespace

int main(int argc, char **argv) {
    long times = argc == 3 || argc == 4 ? std::atol(argv[2]) : 0;
    between_looks = argc == 4 && std::strcmp(argv[3], "between-looks") == 0;
    if (times < 1 || (argc == 4 && !between_looks)) {
        std::fputs("usage: coro-uncontended lock|with|dispatch|std|queue TIMES [between-looks]\n", stderr);
        return 2;
    }
    pool worker(1u);
    mutex ces;
    dispatch_mutex dispatch;
    std::mutex plain;
    long done = 0;
    if (std::strcmp(argv[1], "lock") == 0)
        done = sync_wait(worker, lock_and_unlock(ces, times));
    else if (std::strcmp(argv[1], "with") == 0)
        done = sync_wait(worker, with(ces, times));
    else if (std::strcmp(argv[1], "queue") == 0)
        done = sync_wait(worker, go_through_the_queue(times));
    else if (std::strcmp(argv[1], "dispatch") == 0)
        done = sync_wait(worker, lock_and_unlock(dispatch, times));
    else if (std::strcmp(argv[1], "std") == 0)
        done = sync_wait(worker, std_mutex(plain, times));
    return done == times ? 0 : 1;
}
