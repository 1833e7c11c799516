// SPDX-License-Identifier: MIT OR Apache-2.0
// The coroutine workloads with Boost.Fiber's mutex, condition variable and buffered channel, under its work-sharing
// scheduler. It has no reader-writer lock; the semaphore came with 1.84.
#include <boost/fiber/all.hpp>
#include <fmt/core.h>
#include <mutex>

#include "coro/cell_main.hpp"
#include "coro/peers/fiber_mutex.hpp"
#include "coro/peers/fiber_scene.hpp"
#include "coro/prime_work.hpp"

namespace {

using namespace holdfast::bench;

cell_result measure_mutex(const cell_options &options) {
    fiber_scene at(options, use_shared_work<boost::fibers::algo::shared_work>);
    return measure_fiber_mutex<boost::fibers::mutex>(at);
}

constexpr std::size_t buffer_size = 16;

// As prime_buffer.hpp.
class fiber_buffer {
public:
    bool put(unsigned prime) {
        std::unique_lock held(mutex_);
        not_full_.wait(held, [&] { return count_ < buffer_size || closed_; });
        if (closed_)
            return false;
        primes_[(first_ + count_++) % buffer_size] = prime;
        not_empty_.notify_one();
        return true;
    }
    bool take(unsigned &prime) {
        std::unique_lock held(mutex_);
        not_empty_.wait(held, [&] { return count_ > 0 || closed_; });
        if (count_ == 0)
            return false;
        prime = primes_[first_];
        first_ = (first_ + 1) % buffer_size;
        count_--;
        not_full_.notify_one();
        return true;
    }
    void close() {
        std::unique_lock held(mutex_);
        closed_ = true;
        not_full_.notify_all();
        not_empty_.notify_all();
    }

private:
    boost::fibers::mutex mutex_;
    boost::fibers::condition_variable not_full_, not_empty_;
    std::array<unsigned, buffer_size> primes_{};
    std::size_t first_ = 0;
    std::size_t count_ = 0;
    bool closed_ = false;
};

// Of its 16 places one stays free: a limit of its own.
class fiber_channel {
public:
    bool put(unsigned prime) { return primes_.push(prime) == boost::fibers::channel_op_status::success; }
    bool take(unsigned &prime) { return primes_.pop(prime) == boost::fibers::channel_op_status::success; }
    void close() { primes_.close(); }

private:
    boost::fibers::buffered_channel<unsigned> primes_{buffer_size};
};

template <class Buffer>
cell_result measure_conveyor(const cell_options &options) {
    fiber_scene at(options, use_shared_work<boost::fibers::algo::shared_work>);
    Buffer buffer;
    std::atomic<std::uint64_t> put = 0, taken = 0;
    auto produce = [&](unsigned seed) {
        std::uint64_t sum = 0;
        while (!at.over()) {
            unsigned prime = random_prime(seed);
            if (!buffer.put(prime))
                break;
            sum += prime;
        }
        put += sum;
    };
    auto consume = [&] {
        std::uint64_t sum = 0;
        unsigned prime = 0;
        while (buffer.take(prime)) {
            at.count();
            sum += prime;
            factor(prime);
        }
        taken += sum;
    };
    cell_result result = at.run(
        [&](unsigned task) {
            if (task % 2)
                consume();
            else
                produce(seed_of(task));
            at.ended(0);
        },
        [&] { buffer.close(); });
    if (put != taken)
        throw result_wrong(
            fmt::format("primes of the sum {} were put in and of {} taken out", put.load(), taken.load()));
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return coro_peer_main(argc, argv, "boost-fiber",
                          {{"coro-mutex", measure_mutex},
                           {"coro-queuing-delay", measure_mutex},
                           {"coro-condvar", measure_conveyor<fiber_buffer>},
                           {"coro-channel", measure_conveyor<fiber_channel>}});
}
