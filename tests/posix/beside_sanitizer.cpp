// SPDX-License-Identifier: MIT OR Apache-2.0
// A correct program with each kind of lock: whatever watches it has to find it correct under the interposer too. Shown
// able to fail: without the interposer's standing aside, ThreadSanitizer reports a race (and the status is 66); without
// ASAN_OPTIONS, AddressSanitizer does not let the program begin.
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <thread>
#include <vector>

int main() {
    std::mutex mutex;
    std::recursive_mutex recursive;
    std::shared_mutex shared;
    std::condition_variable changed;
    pthread_barrier_t barrier;
    constexpr unsigned threads = 4, rounds = 200;
    pthread_barrier_init(&barrier, nullptr, threads);
    unsigned under_mutex = 0, under_recursive = 0, under_shared = 0;
    std::vector<std::thread> team;
    for (unsigned thread = 0; thread < threads; thread++)
        team.emplace_back([&, thread] {
            for (unsigned round = 0; round < rounds; round++) {
                {
                    std::unique_lock lock(mutex);
                    changed.wait(lock, [&] { return under_mutex % threads == thread; });
                    under_mutex++;
                    changed.notify_all();
                }
                {
                    std::lock_guard once(recursive), twice(recursive);
                    under_recursive++;
                }
                {
                    std::lock_guard lock(shared);
                    under_shared++;
                }
                std::shared_lock lock(shared);
                [[maybe_unused]] volatile unsigned seen = under_shared;
                lock.unlock();
                pthread_barrier_wait(&barrier);
            }
        });
    for (auto &thread : team)
        thread.join();
    pthread_barrier_destroy(&barrier);
    return under_mutex == threads * rounds && under_recursive == under_mutex && under_shared == under_mutex ? 0 : 1;
}
