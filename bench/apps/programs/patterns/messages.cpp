// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads that hand work to each other.
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <semaphore.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "pattern.hpp"

// Actors with a mailbox each; a message goes on to one of them at random.
PATTERN(actors, "actors") {
    struct mailbox {
        std::mutex mutex;
        std::condition_variable filled;
        std::deque<int> messages;
    };
    std::vector<mailbox> boxes(static_cast<std::size_t>(wanted.threads));
    auto post = [&](unsigned to, int message) {
        std::lock_guard guard(boxes[to].mutex);
        boxes[to].messages.push_back(message);
        boxes[to].filled.notify_one();
    };
    auto to_all = [&](int message) {
        for (unsigned to = 0; to < boxes.size(); to++)
            post(to, message);
    };
    to_all(1);
    to_all(2);
    auto act = [&](int thread) -> std::uint64_t {
        mailbox &own = boxes[static_cast<std::size_t>(thread)];
        numbers random(thread);
        for (std::uint64_t done = 0;; done++) {
            std::unique_lock lock(own.mutex);
            own.filled.wait(lock, [&] { return !own.messages.empty(); });
            int message = own.messages.front();
            own.messages.pop_front();
            lock.unlock();
            if (message == 0)
                return done;
            work(3);
            post(random.below(static_cast<unsigned>(boxes.size())), message);
        }
    };
    return team(wanted.threads, wanted.seconds, act, [&] { to_all(0); });
}

// A buffer with one condition variable for both directions, hence a broadcast for each item.
PATTERN(buffer_broadcast, "buffer-broadcast") {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::uint64_t> items;
    std::uint64_t put = 0, taken = 0;
    int producers = (wanted.threads + 1) / 2;
    auto produce = [&] {
        std::uint64_t done = 0;
        for (; !stop; done++) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return items.size() < 16; });
            items.push_back(done);
            put += done;
            changed.notify_all();
            lock.unlock();
            work(2);
        }
        std::lock_guard guard(mutex);
        producers--;
        changed.notify_all();
        return done;
    };
    auto consume = [&]() -> std::uint64_t {
        for (;;) {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return !items.empty() || producers == 0; });
            if (items.empty())
                return 0;
            taken += items.front();
            items.pop_front();
            changed.notify_all();
            lock.unlock();
            work(2);
        }
    };
    double done =
        team(wanted.threads, wanted.seconds, [&](int thread) { return thread % 2 == 0 ? produce() : consume(); });
    check(put == taken, "an item was lost");
    return done;
}

// The pool that everybody writes: functions in a queue, results in futures.
PATTERN(pool, "pool") {
    std::mutex mutex;
    std::condition_variable filled;
    std::queue<std::function<void()>> tasks;
    bool over = false;
    std::vector<std::thread> workers;
    for (int thread = 0; thread < wanted.threads; thread++) {
        workers.emplace_back([&] {
            for (;;) {
                std::unique_lock lock(mutex);
                filled.wait(lock, [&] { return over || !tasks.empty(); });
                if (tasks.empty())
                    return;
                std::function<void()> task = std::move(tasks.front());
                tasks.pop();
                lock.unlock();
                task();
            }
        });
    }
    double done = rounds(wanted.seconds, [&]() -> std::uint64_t {
        constexpr int batch = 64;
        std::vector<std::future<int>> results;
        for (int number = 0; number < batch; number++) {
            auto task = std::make_shared<std::packaged_task<int()>>([number] {
                work(5);
                return number;
            });
            results.push_back(task->get_future());
            {
                std::lock_guard guard(mutex);
                tasks.push([task] { (*task)(); });
            }
            filled.notify_one();
        }
        int sum = 0;
        for (auto &result : results)
            sum += result.get();
        check(sum == batch * (batch - 1) / 2, "a result is another's");
        return batch;
    });
    {
        std::lock_guard guard(mutex);
        over = true;
    }
    filled.notify_all();
    for (std::thread &worker : workers)
        worker.join();
    return done;
}

// Michael and Scott's queue of two locks. Those that find it empty, or full, yield and look again.
PATTERN(two_lock_queue, "two-lock-queue") {
    struct node {
        std::atomic<node *> next = nullptr;
    };
    std::mutex first_mutex, last_mutex;
    node *first = new node, *last = first;
    std::atomic<std::uint64_t> put = 0, taken = 0;
    std::atomic<int> producers = (wanted.threads + 1) / 2;
    auto produce = [&]() -> std::uint64_t {
        while (!stop) {
            if (put - taken > 1000) {
                std::this_thread::yield();
                continue;
            }
            node *added = new node;
            {
                std::lock_guard guard(last_mutex);
                last->next = added;
                last = added;
            }
            put++;
            work(1);
        }
        producers--;
        return 0;
    };
    auto consume = [&] {
        for (std::uint64_t done = 0;;) {
            std::unique_lock lock(first_mutex);
            node *next = first->next;
            if (next)
                delete std::exchange(first, next);
            lock.unlock();
            if (next) {
                taken++;
                done++;
                work(1);
            } else if (producers == 0 && put == taken) {
                return done;
            } else {
                std::this_thread::yield();
            }
        }
    };
    return team(wanted.threads, wanted.seconds, [&](int thread) { return thread % 2 == 0 ? produce() : consume(); });
}

// The textbook's buffer: two semaphores and a mutex.
PATTERN(semaphore_buffer, "semaphore-buffer") {
    sem_t places, items;
    sem_init(&places, 0, 16);
    sem_init(&items, 0, 0);
    std::mutex mutex;
    std::deque<int> queue;
    auto put = [&](int item) {
        sem_wait(&places);
        {
            std::lock_guard guard(mutex);
            queue.push_back(item);
        }
        sem_post(&items);
    };
    auto produce = [&]() -> std::uint64_t {
        while (!stop) {
            put(1);
            work(2);
        }
        put(0);
        return 0;
    };
    auto consume = [&] {
        for (std::uint64_t done = 0;; done++) {
            sem_wait(&items);
            std::unique_lock lock(mutex);
            int item = queue.front();
            queue.pop_front();
            lock.unlock();
            sem_post(&places);
            if (item == 0)
                return done;
            work(2);
        }
    };
    return team(wanted.threads / 2 * 2, wanted.seconds,
                [&](int thread) { return thread % 2 == 0 ? produce() : consume(); });
}

// Pairs that take turns.
PATTERN(ping_pong, "ping-pong") {
    struct pair {
        std::mutex mutex;
        std::condition_variable changed;
        int turn = 0;
        bool over = false;
    };
    std::vector<pair> pairs(static_cast<std::size_t>(wanted.threads / 2));
    return team(wanted.threads / 2 * 2, wanted.seconds, [&](int thread) {
        pair &own = pairs[static_cast<std::size_t>(thread / 2)];
        std::uint64_t done = 0;
        std::unique_lock lock(own.mutex);
        for (;; done++) {
            own.changed.wait(lock, [&] { return own.turn == thread % 2 || own.over; });
            own.over = own.over || stop;
            own.turn = 1 - own.turn;
            own.changed.notify_one();
            if (own.over)
                return done;
        }
    });
}

// Some consumers never wait for a lock, and sleep when there is nothing.
PATTERN(trylock_poll, "trylock-poll") {
    std::mutex mutex;
    std::uint64_t items = 0, put = 0;
    auto produce = [&]() -> std::uint64_t {
        while (!stop) {
            work(5);
            std::lock_guard guard(mutex);
            items++;
            put++;
        }
        return 0;
    };
    auto consume = [&] {
        std::uint64_t done = 0;
        while (!stop) {
            std::unique_lock lock(mutex, std::try_to_lock);
            bool has_one = lock.owns_lock() && items > 0;
            if (has_one)
                items--;
            if (lock.owns_lock())
                lock.unlock();
            if (has_one) {
                done++;
                work(5);
            } else {
                usleep(50);
            }
        }
        return done;
    };
    double done = team(wanted.threads, wanted.seconds, [&](int thread) { return thread == 0 ? produce() : consume(); });
    check(done + static_cast<double>(items) == static_cast<double>(put), "an item was taken twice");
    return done;
}
