// SPDX-License-Identifier: MIT OR Apache-2.0
// A service that starts a thread for each request. Clients put requests into a bounded queue; one thread takes them out
// and starts a thread each; that one borrows a connection from a small pool, works, counts in its account and writes to
// one log.
#include <array>
#include <deque>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <thread>

#include "programs/program.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned account_count = 16;
constexpr unsigned log_lines = 1024; // the newest ones
constexpr unsigned queued_max = 64;

class monitor {
public:
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }
    // Requires the lock; so does the condition.
    template <class Condition>
    void wait_until(const Condition &holds) {
        while (!holds())
            pthread_cond_wait(&changed_, &mutex_);
    }
    void changed() { pthread_cond_broadcast(&changed_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
};

struct service_options {
    unsigned connections = 4;
    unsigned work = 2000; // turns of an empty loop for a request
};

struct request {
    unsigned account;
    std::uint64_t amount;
};

class service {
public:
    explicit service(const service_options &wanted) : wanted_(wanted), free_connections_(wanted.connections) {}

    void put(const request &one) {
        std::lock_guard lock(queue_monitor_);
        queue_monitor_.wait_until([this] { return queued_ < queued_max; });
        queue_[(first_queued_ + queued_) % queued_max] = one;
        queue_monitor_.changed();
        queued_++;
    }

    // Requires that nobody puts any more.
    void close() {
        std::lock_guard lock(queue_monitor_);
        closed_ = true;
        queue_monitor_.changed();
    }

    // Until it is closed and the queue is empty.
    void serve() {
        std::deque<std::thread> running;
        while (std::optional<request> one = take()) {
            running.emplace_back([this, taken = *one] { answer(taken); });
            if (running.size() > 2 * wanted_.connections) {
                running.front().join();
                running.pop_front();
            }
        }
        for (auto &thread : running)
            thread.join();
    }

    // Requires that nobody uses it any more.
    bool adds_up(std::uint64_t requests, std::uint64_t amount) const {
        std::uint64_t total = 0, count = 0;
        for (const account &one : accounts_) {
            total += one.total;
            count += one.count;
        }
        return total == amount && count == requests && logged_ == requests && free_connections_ == wanted_.connections;
    }

private:
    struct account {
        monitor guard;
        std::uint64_t total = 0;
        std::uint64_t count = 0;
    };

    std::optional<request> take() {
        std::lock_guard lock(queue_monitor_);
        queue_monitor_.wait_until([this] { return queued_ > 0 || closed_; });
        if (queued_ == 0)
            return std::nullopt;
        request one = queue_[first_queued_];
        queue_monitor_.changed();
        first_queued_ = (first_queued_ + 1) % queued_max;
        queued_--;
        return one;
    }

    void answer(const request &one) {
        {
            std::lock_guard lock(pool_monitor_);
            pool_monitor_.wait_until([this] { return free_connections_ > 0; });
            free_connections_--;
        }
        for (unsigned turn = 0; turn < wanted_.work; turn++)
            asm volatile("" ::: "memory");
        {
            account &own = accounts_[one.account];
            std::lock_guard lock(own.guard);
            own.total += one.amount;
            own.count++;
        }
        {
            std::lock_guard lock(log_monitor_);
            log_[logged_++ % log_lines] = one;
        }
        std::lock_guard lock(pool_monitor_);
        free_connections_++;
        pool_monitor_.changed();
    }

    service_options wanted_;
    monitor queue_monitor_;
    std::array<request, queued_max> queue_{};
    unsigned first_queued_ = 0;
    unsigned queued_ = 0;
    bool closed_ = false;
    monitor pool_monitor_;
    unsigned free_connections_;
    std::array<account, account_count> accounts_;
    monitor log_monitor_;
    std::array<request, log_lines> log_{};
    std::uint64_t logged_ = 0;
};

std::vector<figure> run(const program_options &options, const service_options &wanted) {
    service all(wanted);
    std::atomic<std::uint64_t> amount = 0;
    std::thread server([&all] { all.serve(); });
    timed_run done = run_until_stopped(options, [&](unsigned thread, const stop_sign &stop) {
        random_numbers random(thread + 1);
        std::uint64_t requests = 0, sum = 0;
        for (; !stop.is_set(); requests++) {
            request one{static_cast<unsigned>(random.next() % account_count), random.next() % 1000};
            all.put(one);
            sum += one.amount;
        }
        amount += sum;
        return requests;
    });
    all.close();
    server.join();
    expect(all.adds_up(done.operations, amount), "the accounts, the log or the pool do not fit the requests");
    return {{"requests", done.operations_a_second(), "requests/s"}};
}

} // namespace

int main(int argc, char **argv) {
    service_options wanted;
    program what{
        .name = "request-service",
        .summary = "A service with a thread for each request.",
        .options = {{"--connections", wanted.connections, 1, 10000, "Size of the pool that requests borrow from"},
                    {"--work", wanted.work, 0, 1'000'000'000, "Turns of an empty loop for a request"}},
        .run = [&wanted](const program_options &options) { return run(options, wanted); }};
    return program_main(argc, argv, what);
}
