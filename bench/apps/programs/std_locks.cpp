// SPDX-License-Identifier: MIT OR Apache-2.0
// ISO C++ threads: each kind of lock under contention. The output depends on nothing but the argument.
//
// usage: std_locks TURNS
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

constexpr unsigned thread_count = 16;

template <typename body>
void in_threads(body run) {
    std::vector<std::jthread> threads;
    for (unsigned index = 0; index < thread_count; index++)
        threads.emplace_back(run, index);
}

void say(const char *what, std::uint64_t value) {
    std::printf("%s: %llu\n", what, static_cast<unsigned long long>(value));
}

// Money moves between accounts, two locks at a time; none is made or lost.
void mutexes(unsigned turns) {
    struct account {
        std::mutex mutex;
        std::uint64_t balance = 1000;
    };
    std::array<account, 8> accounts;
    std::mutex counter_mutex;
    std::uint64_t counter = 0;
    in_threads([&](unsigned index) {
        for (unsigned turn = 0; turn < turns; turn++) {
            account &from = accounts[(index + turn) % 8], &to = accounts[(index * 3 + turn + 1) % 8];
            if (&from != &to) {
                std::scoped_lock both(from.mutex, to.mutex);
                from.balance--, to.balance++;
            }
            std::lock_guard guard(counter_mutex);
            counter++;
        }
    });
    std::uint64_t sum = 0;
    for (account &one : accounts)
        sum += one.balance;
    say("mutex: counter", counter);
    say("mutex: balances", sum);
}

// Writers keep two numbers equal; readers, several at a time, see no difference.
void shared_mutexes(unsigned turns) {
    std::shared_mutex mutex;
    std::uint64_t left = 0, right = 0;
    std::atomic<std::uint64_t> torn = 0, reads = 0;
    in_threads([&](unsigned index) {
        for (unsigned turn = 0; turn < turns; turn++) {
            if ((turn + index) % 8 == 0) {
                std::unique_lock lock(mutex);
                left++, right++;
            } else {
                std::shared_lock lock(mutex);
                torn += left != right;
                reads++;
            }
        }
    });
    say("shared_mutex: writes", left);
    say("shared_mutex: reads", reads);
    say("shared_mutex: torn reads", torn);
}

void recursive_timed_mutexes(unsigned turns) {
    std::recursive_timed_mutex mutex;
    std::uint64_t counter = 0;
    in_threads([&](unsigned) {
        for (unsigned turn = 0; turn < turns; turn++) {
            while (!mutex.try_lock_for(std::chrono::milliseconds(50))) {
            }
            mutex.lock();
            counter++;
            mutex.unlock();
            mutex.unlock();
        }
    });
    say("recursive_timed_mutex: counter", counter);

    std::lock_guard held(mutex);
    auto other = std::async(std::launch::async, [&] { return mutex.try_lock_for(std::chrono::milliseconds(5)); });
    say("recursive_timed_mutex: taken from its owner", other.get());
}

// Half of the threads put numbers into a short queue, the other half take them out.
void condition_variables(unsigned turns) {
    std::mutex mutex;
    std::condition_variable not_full, not_empty;
    std::deque<std::uint64_t> queue;
    std::uint64_t sum = 0;
    in_threads([&](unsigned index) {
        for (unsigned turn = 0; turn < turns; turn++) {
            std::unique_lock lock(mutex);
            if (index % 2 == 0) {
                not_full.wait(lock, [&] { return queue.size() < 4; });
                queue.push_back(index * turns + turn);
                not_empty.notify_one();
            } else {
                while (!not_empty.wait_for(lock, std::chrono::milliseconds(50), [&] { return !queue.empty(); })) {
                }
                sum += queue.front();
                queue.pop_front();
                not_full.notify_one();
            }
        }
    });
    say("condition_variable: sum", sum);
    say("condition_variable: left in the queue", queue.size());
}

// The first caller of each flag throws, so that the second one does the work; all others see it done.
void call_once(unsigned turns) {
    struct once {
        std::once_flag flag;
        std::uint64_t attempts = 0, value = 0;
    };
    std::vector<once> all(turns);
    std::atomic<std::uint64_t> seen = 0, thrown = 0;
    in_threads([&](unsigned) {
        for (once &one : all) {
            try {
                std::call_once(one.flag, [&] {
                    if (one.attempts++ == 0)
                        throw std::runtime_error("again");
                    one.value = 1;
                });
                seen += one.value;
            } catch (const std::runtime_error &) {
                thrown++;
            }
        }
    });
    say("call_once: seen done", seen);
    say("call_once: thrown", thrown);
}

} // namespace

int main(int, char **arguments) {
    auto turns = static_cast<unsigned>(std::strtoul(arguments[1], nullptr, 10));
    mutexes(turns);
    shared_mutexes(turns);
    recursive_timed_mutexes(turns);
    condition_variables(turns);
    call_once(turns);
    std::fprintf(stderr, "std_locks: done\n");
    return 7; // a status that nothing else has
}
