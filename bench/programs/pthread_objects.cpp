// SPDX-License-Identifier: MIT OR Apache-2.0
// An unmodified pthread program that does nothing but use one kind of object with many threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <numeric>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

#include "harness/command_line.hpp"

namespace {

struct options {
    std::string object = "rwlock";
    unsigned threads = 4;
    double seconds = 1;
    unsigned readers_percent = 90;
    unsigned inside = 50;   // turns of an empty loop while the object is held
    unsigned outside = 200; // and between two uses
    bool shares = false;
};

std::atomic<bool> stopped = false;

void be_busy(unsigned turns) {
    for (unsigned turn = 0; turn < turns; turn++)
        asm volatile("" ::: "memory");
}

// Each returns how often it used the object until it was stopped.
using user = std::function<std::uint64_t(unsigned thread)>;

user holder(const options &wanted, const auto &take, const auto &give) {
    return [&wanted, take, give](unsigned thread) {
        std::uint64_t uses = 0;
        std::uint32_t random = thread * 2654435761u + 1;
        for (; !stopped.load(std::memory_order_relaxed); uses++) {
            random = random * 1664525 + 1013904223;
            take((random >> 16) % 100);
            be_busy(wanted.inside);
            give();
            be_busy(wanted.outside);
        }
        return uses;
    };
}

user rwlock_holder(const options &wanted, int kind) {
    static pthread_rwlock_t lock;
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    pthread_rwlock_init(&lock, &attributes);
    auto take = [&wanted](unsigned percent) {
        if (percent < wanted.readers_percent)
            pthread_rwlock_rdlock(&lock);
        else
            pthread_rwlock_wrlock(&lock);
    };
    return holder(wanted, take, [] { pthread_rwlock_unlock(&lock); });
}

user reader_and_writer(const options &wanted) {
    return rwlock_holder(wanted, PTHREAD_RWLOCK_DEFAULT_NP);
}

user preferred_writer(const options &wanted) {
    return rwlock_holder(wanted, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

user locker(const options &wanted) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    return holder(
        wanted, [](unsigned) { pthread_mutex_lock(&lock); }, [] { pthread_mutex_unlock(&lock); });
}

user spinner(const options &wanted) {
    static pthread_spinlock_t lock;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    return holder(
        wanted, [](unsigned) { pthread_spin_lock(&lock); }, [] { pthread_spin_unlock(&lock); });
}

// The stop is read by one thread of each round, so that all leave after the same one.
user barrier_member(const options &wanted) {
    static pthread_barrier_t barrier;
    static std::atomic<bool> last_round = false;
    pthread_barrier_init(&barrier, nullptr, wanted.threads);
    return [&wanted](unsigned) {
        std::uint64_t rounds = 0;
        while (!last_round) {
            be_busy(wanted.outside);
            // NOLINTNEXTLINE(bugprone-posix-return): that value is -1
            if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
                last_round = stopped.load();
            pthread_barrier_wait(&barrier);
            rounds += 2;
        }
        return rounds / wanted.threads;
    };
}

// A bounded queue: half of the threads put, half take.
user queue_member(const options &wanted) {
    return [&wanted](unsigned thread) {
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
        static unsigned queued = 0;
        constexpr unsigned queued_max = 16;
        bool puts = thread % 2 == 0;
        std::uint64_t uses = 0;
        for (bool over = false; !over;) {
            be_busy(wanted.outside);
            pthread_mutex_lock(&mutex);
            while (!(over = stopped.load()) && queued == (puts ? queued_max : 0))
                pthread_cond_wait(puts ? &not_full : &not_empty, &mutex);
            if (over) {
                pthread_cond_broadcast(&not_full);
                pthread_cond_broadcast(&not_empty);
            } else {
                queued += puts ? 1 : -1u;
                be_busy(wanted.inside);
                pthread_cond_signal(puts ? &not_empty : &not_full);
                uses++;
            }
            pthread_mutex_unlock(&mutex);
        }
        return uses;
    };
}

// One thread says that it is time for the next round, all others wait for that: a broadcast to the whole crowd.
user crowd_member(const options &wanted) {
    return [&wanted](unsigned thread) {
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, all_there = PTHREAD_COND_INITIALIZER;
        static unsigned arrived = 0;
        static std::uint64_t round = 0;
        static bool over = false;
        std::uint64_t woken = 0;
        pthread_mutex_lock(&mutex);
        while (!over) {
            if (thread == 0) {
                while (arrived < wanted.threads - 1)
                    pthread_cond_wait(&all_there, &mutex);
                arrived = 0;
                round++;
                over = stopped.load();
                pthread_cond_broadcast(&begun);
            } else {
                std::uint64_t seen = round;
                if (++arrived == wanted.threads - 1)
                    pthread_cond_signal(&all_there);
                while (round == seen) // NOLINT(bugprone-infinite-loop): thread 0 changes it
                    pthread_cond_wait(&begun, &mutex);
                woken++;
                be_busy(wanted.inside);
                pthread_mutex_unlock(&mutex);
                be_busy(wanted.outside);
                pthread_mutex_lock(&mutex);
            }
        }
        pthread_mutex_unlock(&mutex);
        return woken;
    };
}

const std::map<std::string, user (*)(const options &)> users{
    {"mutex", locker},
    {"rwlock", reader_and_writer},
    {"rwlock-writers-first", preferred_writer},
    {"spin", spinner},
    {"barrier", barrier_member},
    {"cond-queue", queue_member},
    {"cond-crowd", crowd_member},
};

struct result {
    double uses_a_second;
    double idlest_of_busiest; // the idlest thread's uses, as a part of the busiest one's
};

result measure(const options &wanted) {
    user use = users.at(wanted.object)(wanted);
    std::vector<std::uint64_t> uses(wanted.threads);
    std::vector<std::thread> team;
    auto begin = std::chrono::steady_clock::now();
    for (unsigned thread = 0; thread < wanted.threads; thread++)
        team.emplace_back([&, thread] { uses[thread] = use(thread); });
    std::this_thread::sleep_for(std::chrono::duration<double>(wanted.seconds));
    stopped = true;
    for (auto &thread : team)
        thread.join();
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    auto [idlest, busiest] = std::minmax_element(uses.begin(), uses.end());
    return {static_cast<double>(std::accumulate(uses.begin(), uses.end(), std::uint64_t{0})) / took.count(),
            *busiest == 0 ? 1 : static_cast<double>(*idlest) / static_cast<double>(*busiest)};
}

} // namespace

int main(int argc, char **argv) {
    options wanted;
    std::vector<std::string> names;
    for (const auto &[name, make] : users)
        names.push_back(name);
    holdfast::bench::command_line line{
        .name = "pthread-objects",
        .summary = "Uses one kind of pthread object with many threads.",
        .options =
            {
                {"--object", wanted.object, names, "What to use"},
                {"--threads", wanted.threads, 2, 10000, "Number of threads"},
                {"--seconds", wanted.seconds, 0.001, 86400, "How long"},
                {"--readers", wanted.readers_percent, 0, 100, "Percent of the uses of a rwlock that read"},
                {"--inside", wanted.inside, 0, 1'000'000'000, "Turns of an empty loop while it is held"},
                {"--outside", wanted.outside, 0, 1'000'000'000, "And between two uses"},
                {"--shares", wanted.shares, "Print also how often the idlest thread used it, to the busiest one"},
            },
        .footer = "Prints uses per second (of a barrier: rounds; of a crowd: threads woken).\n"
                  "Example: holdfast compare --metric ': ([0-9]+)' -- pthread-objects --object barrier --threads 8",
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    result measured = measure(wanted);
    fmt::print("{} : {:.0f} uses/s\n", wanted.object, measured.uses_a_second);
    if (wanted.shares)
        fmt::print("idlest thread : {:.0f} % of the busiest one's uses\n", 100 * measured.idlest_of_busiest);
    return 0;
}
