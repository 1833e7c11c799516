// SPDX-License-Identifier: MIT OR Apache-2.0
// Data that threads share, and kinds of locks.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <numeric>
#include <pthread.h>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

#include "pattern.hpp"

// Lists of free blocks by size, under one lock.
PATTERN(allocator, "allocator") {
    std::mutex mutex;
    std::vector<char *> free_blocks[8];
    return team(wanted.threads, wanted.seconds, [&](int thread) {
        numbers random(thread);
        std::vector<std::pair<unsigned, char *>> own;
        std::uint64_t done = 0;
        for (; !stop; done++) {
            unsigned size = random.below(8);
            std::unique_lock lock(mutex);
            char *block = nullptr;
            if (!free_blocks[size].empty()) {
                block = free_blocks[size].back();
                free_blocks[size].pop_back();
            }
            lock.unlock();
            if (!block)
                block = static_cast<char *>(malloc(16u << size));
            *block = static_cast<char>(thread);
            own.emplace_back(size, block);
            work(0.25);
            if (own.size() <= 50)
                continue;
            std::swap(own[random.below(50)], own.back());
            check(*own.back().second == static_cast<char>(thread), "a block has two owners");
            lock.lock();
            free_blocks[own.back().first].push_back(own.back().second);
            own.pop_back();
        }
        return done;
    });
}

// The thousand entries that were used last.
PATTERN(recently_used, "recently-used") {
    using entry = std::pair<unsigned, unsigned>;
    std::mutex mutex;
    std::list<entry> entries;
    std::unordered_map<unsigned, std::list<entry>::iterator> places;
    return team(wanted.threads, wanted.seconds, [&](int thread) {
        numbers random(thread);
        std::uint64_t done = 0;
        for (; !stop; done++, work(0.5)) {
            unsigned key = random.below(1500);
            std::lock_guard guard(mutex);
            auto found = places.find(key);
            if (found != places.end()) {
                entries.splice(entries.begin(), entries, found->second);
                check(entries.front().second == key * 3, "an entry is another's");
                continue;
            }
            entries.emplace_front(key, key * 3);
            places[key] = entries.begin();
            if (entries.size() > 1000) {
                places.erase(entries.back().first);
                entries.pop_back();
            }
        }
        return done;
    });
}

// A cache that one of twenty uses changes.
PATTERN(shared_cache, "shared-cache") {
    std::shared_mutex mutex;
    std::map<unsigned, std::string> cache;
    for (unsigned key = 0; key < 500; key++)
        cache[key] = std::to_string(key);
    return team(wanted.threads, wanted.seconds, [&](int thread) {
        numbers random(thread);
        std::uint64_t done = 0;
        for (; !stop; done++, work(1)) {
            unsigned key = random.below(500);
            if (random.below(20) == 0) {
                std::unique_lock lock(mutex);
                cache[key] = std::to_string(key);
            } else {
                std::shared_lock lock(mutex);
                check(cache.at(key) == std::to_string(key), "an entry is another's");
            }
        }
        return done;
    });
}

// Readers and writers by turns.
PATTERN(half_write, "half-write") {
    std::shared_mutex mutex;
    std::uint64_t begun = 0, ended = 0;
    return team(wanted.threads, wanted.seconds, [&](int thread) {
        std::uint64_t done = static_cast<std::uint64_t>(thread);
        for (; !stop; done++, work(3)) {
            if (done % 2) {
                std::unique_lock lock(mutex);
                begun++;
                work(3);
                ended++;
            } else {
                std::shared_lock lock(mutex);
                check(begun == ended, "a reader beside a writer");
                work(3);
            }
        }
        return done;
    });
}

PATTERN(bank, "bank") {
    struct account {
        std::mutex mutex;
        long balance = 1000;
    };
    std::vector<account> accounts(32);
    double done = team(wanted.threads, wanted.seconds, [&](int thread) {
        numbers random(thread);
        std::uint64_t transfers = 0;
        while (!stop) {
            account &from = accounts[random.below(32)], &to = accounts[random.below(32)];
            if (&from == &to)
                continue;
            {
                std::scoped_lock both(from.mutex, to.mutex);
                from.balance--;
                to.balance++;
                work(1);
            }
            transfers++;
            work(1);
        }
        return transfers;
    });
    long sum = std::accumulate(accounts.begin(), accounts.end(), 0L,
                               [](long before, const account &one) { return before + one.balance; });
    check(sum == 32000, "money was lost");
    return done;
}

PATTERN(philosophers, "philosophers") {
    auto count = static_cast<std::size_t>(wanted.threads);
    std::vector<std::mutex> forks(count);
    return team(wanted.threads, wanted.seconds, [&](int thread) {
        auto left = static_cast<std::size_t>(thread), right = (left + 1) % count;
        std::uint64_t done = 0;
        for (; !stop; done++, work(5)) {
            std::lock_guard first(forks[std::min(left, right)]), second(forks[std::max(left, right)]);
            work(5);
        }
        return done;
    });
}

// A log whose lines are written with its lock held.
PATTERN(log_lines, "log") {
    std::mutex mutex;
    FILE *file = tmpfile();
    std::uint64_t lines = 0;
    double done = team(wanted.threads, wanted.seconds, [&](int thread) {
        std::uint64_t own = 0;
        for (; !stop; own++) {
            work(10);
            char line[64];
            auto length = static_cast<std::size_t>(snprintf(line, sizeof(line), "%06d %012lu something happened\n",
                                                            thread, static_cast<unsigned long>(own)));
            std::lock_guard guard(mutex);
            check(write(fileno(file), line, length) == static_cast<ssize_t>(length), "a line was not written");
            lines++;
        }
        return own;
    });
    fclose(file);
    check(static_cast<double>(lines) == done, "a line was lost");
    return done;
}

// One in eight sections sleeps.
PATTERN(sleep_inside, "sleep-inside") {
    std::mutex mutex;
    return team(wanted.threads, wanted.seconds, [&](int) {
        std::uint64_t done = 0;
        for (; !stop; done++, work(5)) {
            std::lock_guard guard(mutex);
            work(2);
            if (done % 8 == 0)
                usleep(100);
        }
        return done;
    });
}

// One thread asks all others all the time how far they are.
PATTERN(status, "status") {
    struct alignas(64) counter {
        std::mutex mutex;
        std::uint64_t done = 0;
    };
    std::vector<counter> counters(static_cast<std::size_t>(wanted.threads));
    auto ask = [&]() -> std::uint64_t {
        for (std::uint64_t before = 0; !stop;) {
            std::uint64_t sum = 0;
            for (counter &one : counters) {
                std::lock_guard guard(one.mutex);
                sum += one.done;
            }
            check(sum >= before, "a counter went back");
            before = sum;
        }
        return 0;
    };
    auto do_work = [&](counter &own) {
        while (!stop) {
            work(10);
            std::lock_guard guard(own.mutex);
            own.done++;
        }
        return own.done;
    };
    return team(wanted.threads, wanted.seconds,
                [&](int thread) { return thread == 0 ? ask() : do_work(counters[static_cast<std::size_t>(thread)]); });
}

// Waiters that poll by trylock, and yield.
PATTERN(trylock_yield, "trylock-yield") {
    std::mutex mutex;
    std::uint64_t count = 0;
    double done = team(wanted.threads, wanted.seconds, [&](int) {
        std::uint64_t own = 0;
        for (; !stop; own++, work(1)) {
            while (!mutex.try_lock())
                std::this_thread::yield();
            count++;
            work(1);
            mutex.unlock();
        }
        return own;
    });
    check(static_cast<double>(count) == done, "two were inside");
    return done;
}

// Waiters that give up after half a millisecond, and come again.
PATTERN(timed_lock, "timed-lock") {
    std::timed_mutex mutex;
    std::uint64_t count = 0;
    double done = team(wanted.threads, wanted.seconds, [&](int) {
        std::uint64_t own = 0;
        for (; !stop; work(5)) {
            if (!mutex.try_lock_for(std::chrono::microseconds(500)))
                continue;
            own++;
            count++;
            work(5);
            mutex.unlock();
        }
        return own;
    });
    check(static_cast<double>(count) == done, "two were inside");
    return done;
}

// A counter under a mutex of a kind, 2 us inside and outside.
static double count_under(const options &wanted, int type, int protocol, int robustness) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robustness);
    pthread_mutex_t mutex;
    check(pthread_mutex_init(&mutex, &attributes) == 0, "there is no such mutex");
    std::uint64_t count = 0;
    double done = team(wanted.threads, wanted.seconds, [&](int) {
        std::uint64_t own = 0;
        for (; !stop; own++, work(2)) {
            check(pthread_mutex_lock(&mutex) == 0, "lock");
            count++;
            work(2);
            check(pthread_mutex_unlock(&mutex) == 0, "unlock");
        }
        return own;
    });
    check(static_cast<double>(count) == done, "two were inside");
    return done;
}

PATTERN(recursive, "recursive") {
    return count_under(wanted, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
}
PATTERN(errorcheck, "errorcheck") {
    return count_under(wanted, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
}
PATTERN(adaptive, "adaptive") {
    return count_under(wanted, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
}
PATTERN(inheriting, "inheriting") {
    return count_under(wanted, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
}
PATTERN(robust, "robust") {
    return count_under(wanted, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
}
