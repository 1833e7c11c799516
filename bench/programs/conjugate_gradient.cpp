// SPDX-License-Identifier: MIT OR Apache-2.0
// Conjugate gradients of a sparse symmetric matrix, in the manner of NPB's cg: a barrier after each product of vectors,
// for the sum of all threads' parts. In a finite field, where sums do not depend on their order.
#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned steps = 12;
constexpr std::size_t distances[] = {1, 7, 61, 509}; // from the diagonal, to entries on both sides of it

using vector = std::vector<std::uint64_t>;

// Padded, since each thread writes its own.
struct alignas(64) partial_sum {
    std::uint64_t value = 0;
};

class conjugate_gradient : public computation {
public:
    conjugate_gradient(std::size_t side, unsigned threads)
        : side_(side), threads_(threads), solution_(side), residual_(side), direction_(side), image_(side),
          sums_(threads), barrier_(threads) {}

    void begin() override {
        random_numbers random(1);
        solution_.assign(side_, 0);
        for (std::uint64_t &one : residual_)
            one = random.next() % field::prime;
        direction_ = residual_;
    }

    void work(unsigned thread) override {
        part mine = part_of(side_, thread, threads_);
        std::uint64_t square = product(residual_, residual_, mine, thread);
        for (unsigned step = 0; step < steps; step++) {
            multiply(mine);
            std::uint64_t length = field::product(square, field::inverse(product(direction_, image_, mine, thread)));
            for (std::size_t at = mine.begin; at < mine.end; at++) {
                solution_[at] = field::sum(solution_[at], field::product(length, direction_[at]));
                residual_[at] = field::difference(residual_[at], field::product(length, image_[at]));
            }
            std::uint64_t next = product(residual_, residual_, mine, thread);
            std::uint64_t share = field::product(next, field::inverse(square));
            for (std::size_t at = mine.begin; at < mine.end; at++)
                direction_[at] = field::sum(residual_[at], field::product(share, direction_[at]));
            barrier_.wait();
            square = next;
        }
    }

    std::uint64_t digest() const override { return digest_of(solution_); }

private:
    void multiply(part mine) {
        for (std::size_t at = mine.begin; at < mine.end; at++) {
            std::uint64_t sum = field::product(at + 2, direction_[at]);
            for (std::size_t distance : distances)
                sum += direction_[(at + distance) % side_] + direction_[(at + side_ - distance % side_) % side_];
            image_[at] = sum % field::prime;
        }
    }

    // The whole product, in each thread.
    std::uint64_t product(const vector &a, const vector &b, part mine, unsigned thread) {
        std::uint64_t sum = 0;
        for (std::size_t at = mine.begin; at < mine.end; at++)
            sum = field::sum(sum, field::product(a[at], b[at]));
        sums_[thread].value = sum;
        barrier_.wait();
        sum = 0;
        for (const partial_sum &one : sums_)
            sum = field::sum(sum, one.value);
        barrier_.wait(); // before the next product's parts are written
        return sum;
    }

    std::size_t side_;
    unsigned threads_;
    vector solution_, residual_, direction_, image_;
    std::vector<partial_sum> sums_;
    step_barrier barrier_;
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<conjugate_gradient>(argc, argv, "conjugate-gradient",
                                                "Conjugate gradients in a finite field, with a barrier for each sum.",
                                                {"--side", 1 << 16, 1, 1 << 30, "Of the matrix"});
}
