// SPDX-License-Identifier: MIT OR Apache-2.0
// A pipeline whose stages wait for one another by spinlocks: a thread a stage, each of which spins until the one before
// is done. What busy-waiting detection is for (Huang et al., HPDC '21, section 4.2; docs/oversubscription.md): the same
// work by as many stages as there are CPUs, and by many times as many.
//
//     stage s, round r:  await(s - 1, r)   await(s + 1, r - ahead)   work   done(s, r)
//
// A stage has a gate for each of the next rounds, a spinlock, and holds that of the round which it is about to do: a
// thread that can take it, and gives it back at once, knows that the round is done. A stage takes its next gate before
// it gives the last one back, so none is passed too early. Both neighbours have passed a gate before it is used again:
// a stage is `ahead` rounds before the one at most, and none before the other, so it has one gate more than that.
#include <atomic>
#include <chrono>
#include <fmt/core.h>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/command_line.hpp"
#include "harness/wrong_result.hpp"
#include "programs/own_time.hpp"
#include "programs/spinlock_list.hpp"

namespace {

using holdfast::bench::spinlock, holdfast::bench::work_ms;

struct options {
    std::string lock = "ttas";
    unsigned threads = 2, steps = 1000;
    double step_ms = 1;
};

constexpr unsigned ahead = 2, gates = ahead + 1;

class stage {
public:
    explicit stage(const std::string &lock) {
        for (unsigned i = 0; i < gates; i++)
            gates_.push_back(std::make_unique<spinlock>(lock));
    }

    // By the stage's own thread, in order.
    void begin() { gates_[0]->lock(); }
    void done(unsigned round, unsigned long result) {
        results_[round % gates] = result;
        gates_[(round + 1) % gates]->lock();
        gates_[round % gates]->unlock();
    }
    void end(unsigned rounds) { gates_[rounds % gates]->unlock(); }

    // By its neighbours' threads.
    unsigned long await(unsigned round) {
        gates_[round % gates]->lock();
        unsigned long result = results_[round % gates];
        gates_[round % gates]->unlock();
        return result;
    }

private:
    std::vector<std::unique_ptr<spinlock>> gates_;
    unsigned long results_[gates] = {}; // guarded by the gates
};

class spin_pipeline {
public:
    explicit spin_pipeline(const options &wanted)
        : wanted_(wanted), rounds_(wanted.steps / wanted.threads), begin_(wanted.threads + 1) {
        for (unsigned i = 0; i < wanted.threads; i++)
            stages_.push_back(std::make_unique<stage>(wanted.lock));
    }

    // Seconds. Throws wrong_result.
    double run() {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < wanted_.threads; i++)
            threads.emplace_back([this, i] { work(i); });
        begin_.arrive_and_wait();
        auto began = std::chrono::steady_clock::now();
        for (std::thread &each : threads)
            each.join();
        double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        if (is_wrong_)
            throw holdfast::bench::wrong_result("a stage began before the one before it was done");
        return seconds;
    }

    unsigned rounds() const { return rounds_; }

private:
    void work(unsigned number) {
        stage &mine = *stages_[number];
        mine.begin();
        begin_.arrive_and_wait();
        for (unsigned round = 0; round < rounds_; round++) {
            unsigned long got = number > 0 ? stages_[number - 1]->await(round) : round;
            if (got != round + number) // each result is one more than the one before
                is_wrong_ = true;
            if (number + 1 < stages_.size() && round >= ahead)
                stages_[number + 1]->await(round - ahead);
            work_ms(wanted_.step_ms);
            mine.done(round, got + 1);
        }
        mine.end(rounds_);
    }

    const options &wanted_;
    unsigned rounds_;
    std::vector<std::unique_ptr<stage>> stages_;
    std::latch begin_;
    std::atomic<bool> is_wrong_ = false;
};

} // namespace

int main(int argc, char **argv) {
    options wanted;
    holdfast::bench::command_line line{
        .name = "spin-pipeline",
        .summary = "A thread a stage, each of which spins until the one before is done.",
        .options = {{"--lock", wanted.lock, holdfast::bench::spinlock_names(), "Which"},
                    {"--threads", wanted.threads, 1, 1000, "How many stages"},
                    {"--steps", wanted.steps, 1, 1'000'000'000, "Rounds times stages, together"},
                    {"--step-ms", wanted.step_ms, 0, 1e6, "CPU time of each"}},
        .footer = "Example: sudo holdfast run --detect-spinning -- spin-pipeline --lock mcs --threads 8",
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return holdfast::bench::run_checked(line.name, [&] {
        spin_pipeline pipeline(wanted);
        double seconds = pipeline.run();
        fmt::print("spin-pipeline {}: {} rounds of {} stages in {:.3f} s\n", wanted.lock, pipeline.rounds(),
                   wanted.threads, seconds);
    });
}
