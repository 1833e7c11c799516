// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that meet: gates, barriers, semaphores, ends of threads, signals.
#include <algorithm>
#include <barrier>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <future>
#include <mutex>
#include <pthread.h>
#include <semaphore.h>
#include <semaphore>
#include <sys/time.h>
#include <thread>
#include <vector>

#include "pattern.hpp"

// The main thread opens a gate, the crew works, the last of them tells that it is done.
PATTERN(crew, "crew") {
    std::mutex mutex;
    std::condition_variable begins, ends;
    std::uint64_t round = 0;
    int at_work = 0;
    bool over = false;
    std::vector<std::thread> members;
    for (int thread = 0; thread < wanted.threads; thread++) {
        members.emplace_back([&, thread] {
            for (std::uint64_t seen = 0;; seen++) {
                std::unique_lock lock(mutex);
                begins.wait(lock, [&] { return round != seen || over; });
                if (over)
                    return;
                check(round == seen + 1, "a round was missed");
                lock.unlock();
                work((thread % 4 + 1) * 10);
                lock.lock();
                if (--at_work == 0)
                    ends.notify_one();
            }
        });
    }
    double done = rounds(wanted.seconds, [&]() -> std::uint64_t {
        std::unique_lock lock(mutex);
        at_work = wanted.threads;
        round++;
        begins.notify_all();
        ends.wait(lock, [&] { return at_work == 0; });
        return 1;
    });
    {
        std::lock_guard guard(mutex);
        over = true;
    }
    begins.notify_all();
    for (std::thread &member : members)
        member.join();
    return done;
}

// Two barriers a round, and unequal shares of work. `wait` returns in one of the threads with true, or in any.
static double meet(const options &wanted, double work_us, const std::function<void()> &wait) {
    std::atomic<std::uint64_t> arrived = 0;
    std::atomic<bool> over = false;
    auto all = static_cast<std::uint64_t>(wanted.threads);
    double done = team(wanted.threads, wanted.seconds, [&](int thread) {
        numbers random(thread);
        for (std::uint64_t round = 1;; round++) {
            work(random.below(static_cast<unsigned>(work_us)));
            arrived++;
            wait();
            check(arrived >= round * all, "a thread passed a barrier that not all had reached");
            if (thread == 0)
                over = stop.load();
            wait();
            if (over)
                return round;
        }
    });
    return done / wanted.threads;
}

PATTERN(barriers, "barriers") {
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(wanted.threads));
    return meet(wanted, 40, [&] { pthread_barrier_wait(&barrier); });
}

PATTERN(std_barriers, "std-barriers") {
    std::barrier barrier(wanted.threads);
    return meet(wanted, 20, [&] { barrier.arrive_and_wait(); });
}

// Three connections for all.
PATTERN(connections, "connections") {
    sem_t free_ones;
    sem_init(&free_ones, 0, 3);
    std::mutex mutex;
    std::vector<unsigned> names{0, 1, 2};
    std::atomic<bool> in_use[3]{};
    return team(wanted.threads, wanted.seconds, [&](int) {
        std::uint64_t done = 0;
        for (; !stop; done++, work(2)) {
            sem_wait(&free_ones);
            std::unique_lock lock(mutex);
            unsigned own = names.back();
            names.pop_back();
            lock.unlock();
            check(!in_use[own].exchange(true), "two have one connection");
            work(10);
            in_use[own] = false;
            lock.lock();
            names.push_back(own);
            lock.unlock();
            sem_post(&free_ones);
        }
        return done;
    });
}

PATTERN(std_semaphore, "std-semaphore") {
    std::counting_semaphore<2> two(2);
    std::atomic<int> inside = 0;
    return team(wanted.threads, wanted.seconds, [&](int) {
        std::uint64_t done = 0;
        for (; !stop; done++, work(5)) {
            two.acquire();
            check(++inside <= 2, "three are inside");
            work(5);
            inside--;
            two.release();
        }
        return done;
    });
}

// A stack of ranges to sort; who takes one splits it.
PATTERN(quicksort, "quicksort") {
    using range = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
    std::vector<unsigned> values(200000);
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<range> ranges;
    std::ptrdiff_t unsorted = 0;
    auto sort = [&] {
        for (;;) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return !ranges.empty() || unsorted == 0; });
            if (unsorted == 0)
                return;
            auto [from, to] = ranges.back();
            ranges.pop_back();
            lock.unlock();
            auto begin = values.begin() + from, end = values.begin() + to;
            if (to - from <= 200) {
                std::sort(begin, end);
                lock.lock();
                unsorted -= to - from;
                if (unsorted == 0)
                    changed.notify_all();
                continue;
            }
            unsigned middle = begin[(to - from) / 2];
            auto equal = std::partition(begin, end, [=](unsigned value) { return value < middle; });
            auto above = std::partition(equal, end, [=](unsigned value) { return value == middle; });
            lock.lock();
            unsorted -= above - equal;
            ranges.emplace_back(from, equal - values.begin());
            ranges.emplace_back(above - values.begin(), to);
            changed.notify_all();
        }
    };
    return rounds(wanted.seconds, [&]() -> std::uint64_t {
        numbers random(1);
        for (unsigned &value : values)
            value = random.below(1u << 30);
        ranges = {{0, static_cast<std::ptrdiff_t>(values.size())}};
        unsorted = static_cast<std::ptrdiff_t>(values.size());
        std::vector<std::thread> sorters;
        for (int thread = 0; thread < wanted.threads; thread++)
            sorters.emplace_back(sort);
        for (std::thread &sorter : sorters)
            sorter.join();
        check(std::is_sorted(values.begin(), values.end()), "not sorted");
        return 1;
    });
}

// Threads that live for some microseconds.
PATTERN(short_threads, "short-threads") {
    std::mutex mutex;
    int count = 0;
    return rounds(wanted.seconds, [&] {
        std::vector<std::thread> members;
        int before = count;
        for (int thread = 0; thread < wanted.threads; thread++) {
            members.emplace_back([&] {
                work(5);
                std::lock_guard guard(mutex);
                count++;
            });
        }
        for (std::thread &member : members)
            member.join();
        check(count == before + wanted.threads, "a thread did nothing");
        return static_cast<std::uint64_t>(wanted.threads);
    });
}

PATTERN(async, "async") {
    return rounds(wanted.seconds, [&] {
        std::vector<std::future<int>> results;
        for (int number = 0; number < wanted.threads; number++) {
            results.push_back(std::async(std::launch::async, [number] {
                work(20);
                return number;
            }));
        }
        int sum = 0;
        for (auto &result : results)
            sum += result.get();
        check(sum == wanted.threads * (wanted.threads - 1) / 2, "a result is another's");
        return static_cast<std::uint64_t>(wanted.threads);
    });
}

// All wait for what never comes, and are cancelled.
PATTERN(cancelled, "cancelled") {
    struct shared {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t never = PTHREAD_COND_INITIALIZER;
        int waiting = 0;
    } all;
    auto wait = [](void *words) -> void * {
        auto *own = static_cast<shared *>(words);
        pthread_mutex_lock(&own->mutex);
        own->waiting++;
        pthread_cleanup_push(
            [](void *of) {
                static_cast<shared *>(of)->waiting--;
                pthread_mutex_unlock(&static_cast<shared *>(of)->mutex);
            },
            own);
        for (;;)
            pthread_cond_wait(&own->never, &own->mutex);
        pthread_cleanup_pop(0);
        return nullptr;
    };
    return rounds(wanted.seconds, [&] {
        std::vector<pthread_t> threads(static_cast<std::size_t>(wanted.threads));
        for (pthread_t &thread : threads)
            check(pthread_create(&thread, nullptr, wait, &all) == 0, "there is no thread");
        for (bool all_wait = false; !all_wait; std::this_thread::yield()) {
            pthread_mutex_lock(&all.mutex);
            all_wait = all.waiting == wanted.threads;
            pthread_mutex_unlock(&all.mutex);
        }
        for (pthread_t thread : threads)
            pthread_cancel(thread);
        for (pthread_t thread : threads)
            pthread_join(thread, nullptr);
        check(all.waiting == 0, "a clean-up did not run");
        return static_cast<std::uint64_t>(wanted.threads);
    });
}

// One in four waits for half a millisecond at a time; the others work, and use the same lock.
PATTERN(ticker, "ticker") {
    std::mutex mutex;
    std::condition_variable tick;
    return team(wanted.threads, wanted.seconds, [&](int thread) -> std::uint64_t {
        std::uint64_t done = 0;
        for (; !stop && thread % 4 == 1;) {
            std::unique_lock lock(mutex);
            tick.wait_for(lock, std::chrono::microseconds(500));
        }
        for (; !stop; done++) {
            work(20);
            std::lock_guard guard(mutex);
        }
        return done;
    });
}

static sem_t alarms;

// A timer's signal wakes one thread each millisecond, by a semaphore; the others share its lock.
PATTERN(alarmed, "alarmed") {
    sem_init(&alarms, 0, 0);
    struct sigaction action {};
    action.sa_handler = [](int) {
        int saved = errno;
        sem_post(&alarms);
        errno = saved;
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    itimerval timer{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &timer, nullptr);
    std::mutex mutex;
    std::uint64_t count = 0;
    double done = team(wanted.threads, wanted.seconds, [&](int thread) {
        std::uint64_t own = 0;
        for (; !stop; own++) {
            while (thread == 0 && sem_wait(&alarms) != 0)
                continue;
            std::unique_lock lock(mutex);
            count++;
            work(thread == 0 ? 50 : 1);
            lock.unlock();
            work(thread == 0 ? 0 : 5);
        }
        return own;
    });
    timer = {};
    setitimer(ITIMER_REAL, &timer, nullptr);
    check(static_cast<double>(count) == done, "two were inside");
    return done;
}
