// SPDX-License-Identifier: MIT OR Apache-2.0
// LU factors of a dense matrix in blocks of columns, in the manner of NPB's lu: threads wait for a block by spinning on
// a flag of the program's own, which no library sees. In a finite field, so that the factors are exact.
#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr std::size_t block_columns = 16;

class lu_factors : public computation {
public:
    lu_factors(std::size_t blocks, unsigned threads)
        : threads_(threads), side_(blocks * block_columns), matrix_(side_ * side_), is_factored_(blocks) {}

    void begin() override {
        random_numbers random(1);
        for (std::uint64_t &one : matrix_)
            one = random.next() % field::prime;
        for (std::atomic<bool> &one : is_factored_)
            one = false;
    }

    // Blocks are dealt out in turns.
    void work(unsigned thread) override {
        for (std::size_t block = 0; block < is_factored_.size(); block++) {
            if (block % threads_ == thread) {
                factor(block);
                is_factored_[block].store(true, std::memory_order_release);
            }
            while (!is_factored_[block].load(std::memory_order_acquire))
                ;
            for (std::size_t later = block + 1; later < is_factored_.size(); later++) {
                if (later % threads_ == thread)
                    update(later, block);
            }
        }
    }

    std::uint64_t digest() const override { return digest_of(matrix_); }

private:
    std::uint64_t *column(std::size_t number) { return &matrix_[number * side_]; }

    void factor(std::size_t block) {
        std::size_t begin = block * block_columns, end = begin + block_columns;
        for (std::size_t pivot = begin; pivot < end; pivot++) {
            std::uint64_t *of_pivot = column(pivot);
            std::uint64_t scale = field::inverse(of_pivot[pivot]);
            for (std::size_t row = pivot + 1; row < side_; row++)
                of_pivot[row] = field::product(of_pivot[row], scale);
            for (std::size_t later = pivot + 1; later < end; later++)
                eliminate(column(later), of_pivot, pivot);
        }
    }

    void update(std::size_t later, std::size_t block) {
        for (std::size_t at = later * block_columns; at < (later + 1) * block_columns; at++) {
            for (std::size_t pivot = block * block_columns; pivot < (block + 1) * block_columns; pivot++)
                eliminate(column(at), column(pivot), pivot);
        }
    }

    void eliminate(std::uint64_t *target, const std::uint64_t *of_pivot, std::size_t pivot) const {
        std::uint64_t minus = field::prime - target[pivot];
        for (std::size_t row = pivot + 1; row < side_; row++)
            target[row] = (target[row] + minus * of_pivot[row]) % field::prime;
    }

    unsigned threads_;
    std::size_t side_;
    std::vector<std::uint64_t> matrix_;          // column by column
    std::vector<std::atomic<bool>> is_factored_; // by block
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<lu_factors>(argc, argv, "lu-factors",
                                        "Factors a matrix; threads spin on flags of the program's own.",
                                        {"--blocks", 24, 1, 1000, "Of 16 columns each"});
}
