// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/bench/line_transfer.hpp"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/thread_cpus.hpp"
#include "measure/statistics.hpp"

namespace holdfast::cli {
namespace {

using clock = std::chrono::steady_clock;

constexpr int transfers_of_batch = 400;
constexpr int batches = 9;             // of which the median counts: some may have lost a CPU
constexpr unsigned polls_of_look = 64; // at the clock
constexpr std::chrono::milliseconds time_max{20};

// Two threads write a number by turns: one the even ones, the other the odd ones.
class rally {
public:
    // Waits for `number` and writes the next. False when time is over.
    bool answer(int number) {
        for (unsigned polls = 1; ball_.load(std::memory_order_acquire) != number; polls++) {
            if (polls % polls_of_look == 0 && clock::now() > end_)
                return false;
        }
        ball_.store(number + 1, std::memory_order_release);
        return true;
    }

private:
    alignas(2 * HF_CACHE_LINE_BYTES) std::atomic<int> ball_ = 0;
    alignas(2 * HF_CACHE_LINE_BYTES) const clock::time_point end_ = clock::now() + time_max;
};

} // namespace

std::optional<double> line_transfer_ns() {
    std::vector<int> cpus = usable_cpus();
    if (cpus.size() < 2)
        return std::nullopt;
    rally balls;
    std::jthread other([&] {
        int number = 1;
        if (stay_on({cpus.back()}))
            while (number < transfers_of_batch * batches && balls.answer(number))
                number += 2;
    });
    std::vector<double> each_ns;
    std::jthread one([&] { // not this thread, which keeps its CPUs
        if (!stay_on({cpus.front()}))
            return;
        int number = 0;
        for (int batch = 0; batch < batches; batch++) {
            clock::time_point began = clock::now();
            for (int i = 0; i < transfers_of_batch; i += 2, number += 2) {
                if (!balls.answer(number))
                    return;
            }
            each_ns.push_back(std::chrono::duration<double, std::nano>(clock::now() - began).count() /
                              transfers_of_batch);
        }
    });
    one.join();
    return median(each_ns);
}

} // namespace holdfast::cli
