// SPDX-License-Identifier: MIT OR Apache-2.0
// Task queues as programs of the nineties have them, volume renderers for example: each thread has a queue of its own;
// one that has emptied its own works on those of others, and looks for one that is not empty under two nested mutexes,
// again and again until all are done. Frames are apart by a barrier. A poller's every lock call succeeds soon, and none
// of them is of use while a thread that works is kept from a CPU.
#include <memory>
#include <vector>

#include "harness/pthread_workload.hpp"

namespace {

using namespace holdfast::bench;

constexpr unsigned items_of_queue = 12;

struct queue {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    unsigned next_item = 0;
};

class frames {
public:
    explicit frames(const pthread_workload_options &options)
        : options_(options), queues_(options.threads), barrier_(options.threads) {}

    void take_part(unsigned thread, team_phase &team, thread_result &own) {
        operation_counter done(team, own);
        std::uint64_t items = 0;
        for (;;) {
            barrier_.wait([&] { begin_frame(team.now() == phase::stopped); });
            if (over_)
                break;
            items += draw_frame(thread, done);
            barrier_.wait();
        }
        mutex_guard guard(all_);
        items_ += items;
    }

    void check() const {
        if (items_ != frames_ * options_.threads * items_of_queue)
            throw wrong_result("not every item of a frame was taken once: a mutex let two threads in at once");
    }

private:
    void begin_frame(bool over) {
        over_ = over;
        if (over)
            return;
        for (queue &one : queues_)
            one.next_item = 0;
        open_queues_ = options_.threads;
        frames_++;
    }

    std::uint64_t draw_frame(unsigned thread, operation_counter &done) {
        std::uint64_t items = 0;
        unsigned at = thread;
        pthread_mutex_lock(&all_);
        while (open_queues_ > 0) {
            pthread_mutex_unlock(&all_);
            items += empty_queue(queues_[at], done);
            if (at == thread) {
                mutex_guard guard(all_);
                open_queues_--;
            }
            at = next_with_work(at);
        }
        pthread_mutex_unlock(&all_);
        return items;
    }

    std::uint64_t empty_queue(queue &from, operation_counter &done) {
        for (std::uint64_t items = 0;; items++) {
            std::uint64_t asked = hf_ticks();
            pthread_mutex_lock(&from.mutex);
            unsigned item = from.next_item++;
            pthread_mutex_unlock(&from.mutex);
            if (item >= items_of_queue)
                return items;
            std::uint64_t waited = hf_ticks() - asked;
            use_cpu(options_.work_us);
            done.add(waited);
        }
    }

    // Returns with all_ taken: at a queue that is not empty, or when there is none.
    unsigned next_with_work(unsigned at) {
        for (;;) {
            at = (at + 1) % options_.threads;
            pthread_mutex_lock(&all_);
            pthread_mutex_lock(&queues_[at].mutex);
            bool has_work = queues_[at].next_item < items_of_queue;
            pthread_mutex_unlock(&queues_[at].mutex);
            if (has_work || open_queues_ == 0)
                return at;
            pthread_mutex_unlock(&all_);
        }
    }

    pthread_workload_options options_;
    pthread_mutex_t all_ = PTHREAD_MUTEX_INITIALIZER; // open_queues_, items_
    unsigned open_queues_ = 0;
    std::uint64_t items_ = 0;
    std::vector<queue> queues_;
    cond_barrier barrier_; // over_, frames_
    bool over_ = false;
    std::uint64_t frames_ = 0;
};

team_result run(const pthread_workload_options &options) {
    auto scene = std::make_unique<frames>(options);
    team_result result =
        run_team(options.threads, options.seconds,
                 [&](unsigned thread, team_phase &team, thread_result &own) { scene->take_part(thread, team, own); });
    scene->check();
    return result;
}

} // namespace

int main(int argc, char **argv) {
    return pthread_workload_main(argc, argv, {"poll-under-lock", 20, "Microseconds of work of an item", run});
}
