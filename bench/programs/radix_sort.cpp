// SPDX-License-Identifier: MIT OR Apache-2.0
// Radix sort, in the manner of SPLASH-2's radix: each thread counts the digits of its keys, waits with a condition
// variable for the sums of the threads before it, and moves its keys where they belong.
#include <array>

#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned digit_bits = 8, digits = 4, radix = 1 << digit_bits;

using digit_counts = std::array<std::size_t, radix>;

// The sums, handed from each thread to the next.
class handed_sums {
public:
    void give(const digit_counts &sums) {
        pthread_mutex_lock(&mutex_);
        sums_ = sums;
        is_there_ = true;
        pthread_cond_signal(&given_);
        pthread_mutex_unlock(&mutex_);
    }

    digit_counts take() {
        pthread_mutex_lock(&mutex_);
        while (!is_there_)
            pthread_cond_wait(&given_, &mutex_);
        is_there_ = false;
        digit_counts sums = sums_;
        pthread_mutex_unlock(&mutex_);
        return sums;
    }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t given_ = PTHREAD_COND_INITIALIZER;
    digit_counts sums_{};
    bool is_there_ = false;
};

class radix_sort : public computation {
public:
    radix_sort(std::size_t count, unsigned threads)
        : threads_(threads), keys_(count), sorted_(count), handed_(threads), barrier_(threads) {}

    void begin() override {
        random_numbers random(1);
        for (std::uint32_t &key : keys_)
            key = static_cast<std::uint32_t>(random.next());
    }

    void work(unsigned thread) override {
        part mine = part_of(keys_.size(), thread, threads_);
        for (unsigned digit = 0; digit < digits; digit++) {
            bool to_keys = digit % 2; // an even number of digits leaves the keys where they were
            move(to_keys ? sorted_ : keys_, to_keys ? keys_ : sorted_, mine, digit * digit_bits, thread);
            barrier_.wait();
        }
    }

    std::uint64_t digest() const override { return digest_of(keys_); }

private:
    void move(const std::vector<std::uint32_t> &from, std::vector<std::uint32_t> &to, part mine, unsigned shift,
              unsigned thread) {
        digit_counts own{};
        for (std::size_t at = mine.begin; at < mine.end; at++)
            own[from[at] >> shift & (radix - 1)]++;

        digit_counts before = thread > 0 ? handed_[thread - 1].take() : digit_counts{};
        digit_counts up_to_own = before;
        for (unsigned digit = 0; digit < radix; digit++)
            up_to_own[digit] += own[digit];
        if (thread + 1 < threads_)
            handed_[thread].give(up_to_own);
        else
            totals_ = up_to_own;
        barrier_.wait();

        std::size_t smaller = 0;
        for (unsigned digit = 0; digit < radix; digit++) {
            before[digit] += smaller;
            smaller += totals_[digit];
        }
        for (std::size_t at = mine.begin; at < mine.end; at++)
            to.at(before[from[at] >> shift & (radix - 1)]++) = from[at];
    }

    unsigned threads_;
    std::vector<std::uint32_t> keys_, sorted_;
    std::vector<handed_sums> handed_;
    digit_counts totals_{};
    step_barrier barrier_;
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<radix_sort>(argc, argv, "radix-sort",
                                        "Sorts keys by their digits, with condition variables from thread to thread.",
                                        {"--keys", 1 << 20, 1, 1 << 30, "How many"});
}
