// SPDX-License-Identifier: MIT OR Apache-2.0
// A server with known hot spots, for what looks for them: readers wait in lookup_in_cache for a mutex on the heap that
// a thread called compactor holds in compact_the_cache nearly all of the time. Ends when its standard input does.
#include <cstdio>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct cache {
    std::mutex mutex;
    volatile long entries = 0, uses = 0;
};

[[gnu::noinline]] void lookup_in_cache(cache &where) {
    where.mutex.lock(); // WAITS
    where.entries = where.entries + 1;
    where.mutex.unlock();
    where.uses = where.uses + 1; // no tail call, which would leave no frame
}

[[gnu::noinline]] void compact_the_cache(cache &where) {
    where.mutex.lock();
    usleep(20'000);
    where.entries = where.entries / 2;
    where.mutex.unlock(); // HOLDS
    where.uses = 0;
}

[[gnu::noinline]] void serve(cache &where) {
    for (;;) {
        lookup_in_cache(where);
        usleep(500);
    }
}

[[gnu::noinline]] void compact(cache &where) {
    pthread_setname_np(pthread_self(), "compactor");
    for (;;) {
        compact_the_cache(where);
        usleep(1'000);
    }
}

} // namespace

int main() {
    auto where = std::make_unique<cache>();
    std::vector<std::thread> readers;
    for (int i = 0; i < 4; i++)
        readers.emplace_back([&] { serve(*where); });
    std::thread compactor([&] { compact(*where); });
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF)
        ;
    _exit(0);
}
