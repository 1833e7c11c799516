// SPDX-License-Identifier: MIT OR Apache-2.0
// An unmodified pthread program that does nothing but use one kind of object with many threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <fmt/core.h>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
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
    std::string lengths = "even";
    unsigned objects = 1;
    bool shares = false;
};

std::atomic<bool> stopped = false;

// One thread's work, and its random numbers.
class worker {
public:
    worker(const options &wanted, unsigned thread)
        : inside_(wanted.inside), outside_(wanted.outside), even_(wanted.lengths == "even"),
          uniform_(wanted.lengths == "uniform"), random_(thread + 1) {}

    void work_inside() { be_busy(inside_); }
    void work_outside() { be_busy(outside_); }

    unsigned draw(unsigned below) {
        random_ = random_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<unsigned>((random_ >> 32) * below >> 32);
    }

private:
    void be_busy(unsigned turns) {
        if (!even_)
            turns = length_about(turns);
        for (unsigned turn = 0; turn < turns; turn++)
            asm volatile("" ::: "memory");
    }

    unsigned length_about(unsigned mean) {
        if (uniform_)
            return draw(2 * mean + 1);
        return draw(10) == 0 ? 7 * mean : mean / 3;
    }

    unsigned inside_, outside_;
    bool even_, uniform_;
    std::uint64_t random_;
};

struct alignas(64) mutex {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
};

// Each returns how often it used the object until it was stopped.
using user = std::function<std::uint64_t(unsigned thread)>;

user holder(const options &wanted, const auto &take, const auto &give) {
    return [&wanted, take, give](unsigned thread) {
        worker self(wanted, thread);
        std::uint64_t uses = 0;
        for (; !stopped.load(std::memory_order_relaxed); uses++) {
            take(self.draw(100));
            self.work_inside();
            give();
            self.work_outside();
        }
        return uses;
    };
}

// As many mutexes as are wanted, of which each use takes one at random.
user mutex_holder(const options &wanted, const auto &take, const auto &give) {
    return [&wanted, take, give, mutexes = std::make_shared<std::deque<mutex>>(wanted.objects)](unsigned thread) {
        worker self(wanted, thread);
        std::uint64_t uses = 0;
        for (; !stopped.load(std::memory_order_relaxed); uses++) {
            mutex &one = (*mutexes)[self.draw(wanted.objects)];
            take(&one.lock);
            self.work_inside();
            give(&one.lock);
            self.work_outside();
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
    return mutex_holder(wanted, pthread_mutex_lock, pthread_mutex_unlock);
}

user polling_locker(const options &wanted) {
    auto poll = [](pthread_mutex_t *lock) {
        for (unsigned tries = 1; pthread_mutex_trylock(lock); tries++)
            if (tries % 20 == 0)
                sched_yield();
    };
    return mutex_holder(wanted, poll, pthread_mutex_unlock);
}

// Each takes one mutex that is everybody's, and inside it one of the others.
user nested_locker(const options &wanted) {
    static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
    auto take = [](pthread_mutex_t *inner) {
        pthread_mutex_lock(&outer);
        pthread_mutex_lock(inner);
    };
    auto give = [](pthread_mutex_t *inner) {
        pthread_mutex_unlock(inner);
        pthread_mutex_unlock(&outer);
    };
    return mutex_holder(wanted, take, give);
}

user semaphore_holder(const options &wanted) {
    static sem_t semaphore;
    sem_init(&semaphore, 0, wanted.objects);
    return holder(
        wanted, [](unsigned) { sem_wait(&semaphore); }, [] { sem_post(&semaphore); });
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
    return [&wanted](unsigned thread) {
        worker self(wanted, thread);
        std::uint64_t rounds = 0;
        while (!last_round) {
            self.work_outside();
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
        worker self(wanted, thread);
        bool puts = thread % 2 == 0;
        std::uint64_t uses = 0;
        for (bool over = false; !over;) {
            self.work_outside();
            pthread_mutex_lock(&mutex);
            while (!(over = stopped.load()) && queued == (puts ? queued_max : 0))
                pthread_cond_wait(puts ? &not_full : &not_empty, &mutex);
            if (over) {
                pthread_cond_broadcast(&not_full);
                pthread_cond_broadcast(&not_empty);
            } else {
                queued += puts ? 1 : -1u;
                self.work_inside();
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
        worker self(wanted, thread);
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
                self.work_inside();
                pthread_mutex_unlock(&mutex);
                self.work_outside();
                pthread_mutex_lock(&mutex);
            }
        }
        pthread_mutex_unlock(&mutex);
        return woken;
    };
}

// So many threads take turns, and wait for theirs on one condition variable.
struct turns {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t next = PTHREAD_COND_INITIALIZER;
    unsigned turn = 0;
};

std::uint64_t take_turns(turns &ours, unsigned place, unsigned places, worker self) {
    std::uint64_t uses = 0;
    for (bool over = false; !over;) {
        pthread_mutex_lock(&ours.lock);
        while (!(over = stopped.load()) && ours.turn != place)
            pthread_cond_wait(&ours.next, &ours.lock);
        if (!over) {
            self.work_inside();
            ours.turn = (place + 1) % places;
            uses++;
        }
        if (over || places > 2)
            pthread_cond_broadcast(&ours.next);
        else
            pthread_cond_signal(&ours.next);
        pthread_mutex_unlock(&ours.lock);
        if (!over)
            self.work_outside();
    }
    return uses;
}

// A token goes round, and whoever passes it on wakes all.
user token_holder(const options &wanted) {
    return [&wanted](unsigned thread) {
        static turns all;
        return take_turns(all, thread, wanted.threads, worker(wanted, thread));
    };
}

// Two threads call each other all the time. The last one of an odd number has nobody.
user pair_member(const options &wanted) {
    return [&wanted, pairs = std::make_shared<std::deque<turns>>(wanted.threads / 2)](unsigned thread) {
        return thread / 2 < pairs->size() ? take_turns((*pairs)[thread / 2], thread % 2, 2, worker(wanted, thread))
                                          : std::uint64_t{0};
    };
}

const std::map<std::string, user (*)(const options &)> users{
    {"mutex", locker},
    {"trylock", polling_locker},
    {"nested", nested_locker},
    {"semaphore", semaphore_holder},
    {"cond-token", token_holder},
    {"cond-pairs", pair_member},
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
                {"--lengths", wanted.lengths, {"even", "uniform", "few-long"}, "How these lengths differ"},
                {"--objects", wanted.objects, 1, 10000,
                 "mutex, trylock, nested: number of mutexes; semaphore: its places"},
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
