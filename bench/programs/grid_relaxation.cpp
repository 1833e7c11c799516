// SPDX-License-Identifier: MIT OR Apache-2.0
// Relaxation of a grid, in the manner of SPLASH-2's ocean: red points and black ones in turns, a barrier after each,
// and how much a sweep has changed added up under one mutex.
#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned sweeps = 10;

class grid_relaxation : public computation {
public:
    grid_relaxation(std::size_t side, unsigned threads)
        : side_(side), threads_(threads), points_(side * side), barrier_(threads) {}

    void begin() override {
        random_numbers random(1);
        for (std::int64_t &one : points_)
            one = static_cast<std::int64_t>(random.next() >> 24);
        changed_ = 0;
    }

    void work(unsigned thread) override {
        part rows = part_of(side_ - 2, thread, threads_); // the border stays
        for (unsigned sweep = 0; sweep < sweeps; sweep++) {
            std::int64_t changed = 0;
            for (std::size_t colour : {0, 1}) {
                for (std::size_t row = rows.begin + 1; row < rows.end + 1; row++)
                    changed += relax(row, colour);
                barrier_.wait();
            }
            pthread_mutex_lock(&mutex_);
            changed_ += changed;
            pthread_mutex_unlock(&mutex_);
        }
    }

    std::uint64_t digest() const override { return digest_of(points_) ^ static_cast<std::uint64_t>(changed_); }

private:
    std::int64_t relax(std::size_t row, std::size_t colour) {
        std::int64_t changed = 0;
        for (std::size_t column = 1 + (row + colour) % 2; column < side_ - 1; column += 2) {
            std::int64_t *at = &points_[row * side_ + column];
            std::int64_t mean = (at[-1] + at[1] + *(at - side_) + at[side_]) / 4;
            changed += mean - *at;
            *at = mean;
        }
        return changed;
    }

    std::size_t side_;
    unsigned threads_;
    std::vector<std::int64_t> points_;
    step_barrier barrier_;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    std::int64_t changed_ = 0; // guarded by the mutex
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<grid_relaxation>(argc, argv, "grid-relaxation",
                                             "Relaxes a grid, with a barrier after each half of a sweep.",
                                             {"--side", 1024, 3, 10000, "Points in each direction"});
}
