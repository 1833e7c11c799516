// SPDX-License-Identifier: MIT OR Apache-2.0
// Ranks of whole numbers, in the manner of NPB's is: each thread counts its keys, adds the counts to those of all, a
// mutex for each section of them, and after a barrier looks up its keys' ranks. A few iterations, each with other keys.
#include "programs/repeated_computation.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned iterations = 4, values = 2048, sections = 8, values_of_section = values / sections;

struct count_section {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    std::vector<std::uint64_t> counts = std::vector<std::uint64_t>(values_of_section); // guarded by the mutex
};

class integer_ranking : public computation {
public:
    integer_ranking(std::size_t count, unsigned threads)
        : threads_(threads), keys_(count), ranks_(count), sections_(iterations * sections), barrier_(threads) {}

    void begin() override {
        random_numbers random(1);
        for (unsigned &key : keys_)
            key = static_cast<unsigned>(random.next() % values);
        for (count_section &one : sections_)
            one.counts.assign(values_of_section, 0);
    }

    void work(unsigned thread) override {
        part mine = part_of(keys_.size(), thread, threads_);
        for (unsigned iteration = 0; iteration < iterations; iteration++) {
            count_section *all = &sections_[std::size_t{iteration} * sections];
            add_counts(mine, thread, all);
            barrier_.wait();
            look_up(mine, all);
        }
    }

    std::uint64_t digest() const override { return digest_of(ranks_); }

private:
    // Each thread begins with another section.
    void add_counts(part mine, unsigned thread, count_section *all) const {
        std::vector<std::uint64_t> own(values);
        for (std::size_t at = mine.begin; at < mine.end; at++)
            own[keys_[at]]++;
        for (unsigned i = 0; i < sections; i++) {
            unsigned section = (thread + i) % sections;
            pthread_mutex_lock(&all[section].mutex);
            for (unsigned value = 0; value < values_of_section; value++)
                all[section].counts[value] += own[section * values_of_section + value];
            pthread_mutex_unlock(&all[section].mutex);
        }
    }

    // Keys of the next iteration depend on the ranks.
    void look_up(part mine, const count_section *all) {
        std::vector<std::uint64_t> smaller(values);
        for (unsigned value = 1; value < values; value++) {
            unsigned before = value - 1;
            smaller[value] = smaller[before] + all[before / values_of_section].counts[before % values_of_section];
        }
        for (std::size_t at = mine.begin; at < mine.end; at++) {
            ranks_[at] = smaller[keys_[at]];
            keys_[at] = static_cast<unsigned>((keys_[at] * 17 + ranks_[at]) % values);
        }
    }

    unsigned threads_;
    std::vector<unsigned> keys_;
    std::vector<std::uint64_t> ranks_;
    std::vector<count_section> sections_; // those of each iteration
    step_barrier barrier_;
};

} // namespace

int main(int argc, char **argv) {
    return computation_main<integer_ranking>(argc, argv, "integer-ranking",
                                             "Ranks keys, whose counts are added up under a few mutexes.",
                                             {"--keys", 1 << 20, 1, 1 << 30, "How many"});
}
