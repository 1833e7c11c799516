// SPDX-License-Identifier: MIT OR Apache-2.0
// Multigrid cycles, in the manner of NPB's mg: from a fine grid to ever coarser ones and back, a barrier after each
// operation. Coarse grids have little work between barriers.
#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned cycles = 4;
constexpr std::size_t coarsest = 4;

struct grid {
    std::size_t side; // a power of two; the grid is a torus
    std::vector<std::int64_t> value, smoothed;

    explicit grid(std::size_t a_side) : side(a_side), value(side * side), smoothed(side * side) {}

    std::int64_t at(std::size_t row, std::size_t column) const {
        return value[(row & (side - 1)) * side + (column & (side - 1))];
    }
};

class multigrid : public computation {
public:
    multigrid(unsigned levels, unsigned threads) : threads_(threads), barrier_(threads) {
        for (unsigned level = levels; level > 0; level--)
            grids_.emplace_back(coarsest << (level - 1));
    }

    void begin() override {
        random_numbers random(1);
        for (std::int64_t &one : grids_[0].value)
            one = static_cast<std::int64_t>(random.next() >> 24);
    }

    void work(unsigned thread) override {
        for (unsigned cycle = 0; cycle < cycles; cycle++) {
            for (std::size_t level = 0; level + 1 < grids_.size(); level++) {
                smooth(grids_[level], thread);
                restrict_to(grids_[level + 1], grids_[level], thread);
            }
            smooth(grids_.back(), thread);
            for (std::size_t level = grids_.size() - 1; level > 0; level--) {
                prolong_to(grids_[level - 1], grids_[level], thread);
                smooth(grids_[level - 1], thread);
            }
        }
    }

    std::uint64_t digest() const override { return digest_of(grids_[0].value); }

private:
    // Calls operation(row, column) for each point of this thread's rows, and waits for all.
    template <class Operation>
    void each_point(std::size_t side, unsigned thread, const Operation &operation) {
        part rows = part_of(side, thread, threads_);
        for (std::size_t row = rows.begin; row < rows.end; row++) {
            for (std::size_t column = 0; column < side; column++)
                operation(row, column);
        }
        barrier_.wait();
    }

    void smooth(grid &one, unsigned thread) {
        each_point(one.side, thread, [&one](std::size_t row, std::size_t column) {
            one.smoothed[row * one.side + column] =
                (4 * one.at(row, column) + one.at(row - 1, column) + one.at(row + 1, column) + one.at(row, column - 1) +
                 one.at(row, column + 1)) /
                8;
        });
        each_point(one.side, thread, [&one](std::size_t row, std::size_t column) {
            one.value[row * one.side + column] = one.smoothed[row * one.side + column];
        });
    }

    void restrict_to(grid &coarse, const grid &fine, unsigned thread) {
        each_point(coarse.side, thread, [&](std::size_t row, std::size_t column) {
            coarse.value[row * coarse.side + column] =
                (fine.at(2 * row, 2 * column) + fine.at(2 * row + 1, 2 * column + 1)) / 2;
        });
    }

    void prolong_to(grid &fine, const grid &coarse, unsigned thread) {
        each_point(fine.side, thread, [&](std::size_t row, std::size_t column) {
            fine.value[row * fine.side + column] += coarse.at(row / 2, column / 2) / 4;
        });
    }

    unsigned threads_;
    std::vector<grid> grids_; // from the finest
    step_barrier barrier_;
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<multigrid>(argc, argv, "multigrid",
                                       "Multigrid cycles, with a barrier after each operation.",
                                       {"--levels", 8, 1, 12, "Of grids; the coarsest has 4 points in each direction"});
}
