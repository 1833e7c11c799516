// SPDX-License-Identifier: MIT OR Apache-2.0
// Up to four stages with a bounded queue between each and the next, and unequal costs: the threads of a cheap stage
// wait most of the time, for items or for room.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "harness/pthread_workload.hpp"

namespace {

using namespace holdfast::bench;

constexpr std::array cost_of_stage{0.25, 1.0, 0.5, 2.25}; // of the mean
constexpr std::uint64_t queued_max = 16;

class bounded_queue {
public:
    explicit bounded_queue(unsigned producers) : producers_(producers) {}

    void put(std::uint64_t item) {
        mutex_guard guard(mutex_);
        while (put_ - taken_ == queued_max)
            pthread_cond_wait(&not_full_, &mutex_);
        items_[put_++ % queued_max] = item;
        pthread_cond_signal(&not_empty_);
    }

    // Empty: all producers have left, and so have their items.
    std::optional<std::uint64_t> take() {
        mutex_guard guard(mutex_);
        while (put_ == taken_ && producers_ > 0)
            pthread_cond_wait(&not_empty_, &mutex_);
        if (put_ == taken_)
            return std::nullopt;
        std::uint64_t item = items_[taken_++ % queued_max];
        pthread_cond_signal(&not_full_);
        return item;
    }

    void leave() {
        mutex_guard guard(mutex_);
        if (--producers_ == 0)
            pthread_cond_broadcast(&not_empty_);
    }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t not_full_ = PTHREAD_COND_INITIALIZER, not_empty_ = PTHREAD_COND_INITIALIZER;
    std::array<std::uint64_t, queued_max> items_{};
    std::uint64_t put_ = 0, taken_ = 0;
    unsigned producers_;
};

class pipeline {
public:
    explicit pipeline(const pthread_workload_options &options)
        : options_(options), stages_(std::min<unsigned>(options.threads, cost_of_stage.size())) {
        for (unsigned stage = 0; stage + 1 < stages_; stage++)
            queues_.push_back(std::make_unique<bounded_queue>((options.threads - stage + stages_ - 1) / stages_));
    }

    void take_part(unsigned thread, team_phase &team, thread_result &own) {
        unsigned stage = thread % stages_;
        bool is_first = stage == 0, is_last = stage + 1 == stages_;
        operation_counter done(team, own);
        std::uint64_t made = 0, sum = 0;
        for (;;) {
            std::uint64_t asked = hf_ticks();
            std::optional<std::uint64_t> item;
            if (is_first && team.now() != phase::stopped)
                item = (++made << 16) + thread;
            else if (!is_first)
                item = queues_[stage - 1]->take();
            if (!item)
                break;
            std::uint64_t waited = hf_ticks() - asked;
            use_cpu(options_.work_us * cost_of_stage.at(stage));
            std::uint64_t finished = hf_ticks();
            if (!is_last)
                queues_[stage]->put(*item);
            waited += hf_ticks() - finished;
            // Each item at its first stage less at its last one: 0 in the end.
            sum += (is_first ? *item : 0) - (is_last ? *item : 0);
            done.add(waited);
        }
        if (!is_last)
            queues_[stage]->leave();
        mutex_guard guard(mutex_);
        missing_ += sum;
    }

    void check() const {
        if (missing_ != 0)
            throw wrong_result("what came out is not what went in: a mutex let two threads in at once");
    }

private:
    pthread_workload_options options_;
    unsigned stages_;
    std::vector<std::unique_ptr<bounded_queue>> queues_; // behind each stage but the last
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    std::uint64_t missing_ = 0;
};

team_result run(const pthread_workload_options &options) {
    pipeline stages(options);
    team_result result =
        run_team(options.threads, options.seconds,
                 [&](unsigned thread, team_phase &team, thread_result &own) { stages.take_part(thread, team, own); });
    stages.check();
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return pthread_workload_main(argc, argv, {"stages", 10, "Microseconds of a stage's work on an item, mean", run});
}
