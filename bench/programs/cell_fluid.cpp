// SPDX-License-Identifier: MIT OR Apache-2.0
// Fluid in cells, in the manner of PARSEC's fluidanimate: each thread has a band of the cells, and gives a share of
// what is in each to its neighbours, which may be in another band: so each cell has a mutex. A barrier ends each step.
#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned steps = 4, neighbours = 4;

struct cell {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::uint64_t now = 0;
    std::uint64_t arriving = 0; // guarded by the mutex
};

class cell_fluid : public computation {
public:
    cell_fluid(unsigned side, unsigned threads)
        : side_(side), threads_(threads), cells_(std::size_t{side} * side), barrier_(threads) {}

    void begin() override {
        random_numbers random(1);
        for (cell &one : cells_) {
            one.now = random.next() >> 8;
            one.arriving = 0;
        }
    }

    void work(unsigned thread) override {
        part mine = part_of(cells_.size(), thread, threads_);
        for (unsigned step = 0; step < steps; step++) {
            for (std::size_t at = mine.begin; at < mine.end; at++)
                flow_from(at);
            barrier_.wait();
            for (std::size_t at = mine.begin; at < mine.end; at++) {
                cells_[at].now += cells_[at].arriving;
                cells_[at].arriving = 0;
            }
            barrier_.wait();
        }
    }

    std::uint64_t digest() const override {
        std::vector<std::uint64_t> contents;
        for (const cell &one : cells_)
            contents.push_back(one.now);
        return digest_of(contents);
    }

private:
    void flow_from(std::size_t at) {
        std::size_t count = cells_.size();
        std::uint64_t share = cells_[at].now / 8;
        cells_[at].now -= share * neighbours;
        for (std::size_t to : {at + 1, at + count - 1, at + side_, at + count - side_}) {
            cell &neighbour = cells_[to % count];
            pthread_mutex_lock(&neighbour.mutex);
            neighbour.arriving += share;
            pthread_mutex_unlock(&neighbour.mutex);
        }
    }

    unsigned side_, threads_;
    std::vector<cell> cells_;
    step_barrier barrier_;
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<cell_fluid>(argc, argv, "cell-fluid",
                                        "Fluid flows between cells, each of which has a mutex.",
                                        {"--side", 512, 2, 10000, "Cells in each direction"});
}
