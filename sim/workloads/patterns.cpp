// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/patterns.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "base/atomic.h"
#include "base/clock.h"
#include "workloads/objects.hpp"

namespace holdfast::sim {
namespace {

double work_ns(const workload_settings &settings, double usual_us) {
    constexpr double ns_a_us = 1000;
    return (settings.work_us < 0 ? usual_us : settings.work_us) * ns_a_us;
}

// A field that its mutex protects.
template <typename type>
type change(type &field, type by) {
    type before = hf_load_own(&field);
    hf_store_own(&field, before + by);
    return before;
}

class mutex_guard {
public:
    explicit mutex_guard(mutex &of) : of_(of) { of_.lock(); }
    ~mutex_guard() { of_.unlock(); }
    mutex_guard(const mutex_guard &) = delete;
    mutex_guard &operator=(const mutex_guard &) = delete;

private:
    mutex &of_;
};

// ---- poll-under-lock: idle threads look for items of others' queues under two nested mutexes

class frames {
    static constexpr unsigned items_of_queue = 12;
    struct queue {
        explicit queue(const hf_lock_kind &kind) : lock(kind) {}
        mutex lock;
        unsigned next_item = 0;
    };

public:
    frames(simulation &on, measurement &figures, const workload_settings &settings)
        : on_(on), figures_(figures), threads_(settings.threads), item_ns_(work_ns(settings, 20)), all_(*settings.lock),
          barrier_(*settings.lock, settings.threads) {
        for (unsigned i = 0; i < threads_; i++)
            queues_.push_back(&placed<queue>(*settings.lock));
    }

    void take_part(unsigned thread) {
        for (;;) {
            barrier_.wait([&] { begin_frame(); });
            draw_frame(thread);
            barrier_.wait();
        }
    }

private:
    void begin_frame() {
        for (queue *one : queues_)
            hf_store_own(&one->next_item, 0u);
        hf_store_own(&open_queues_, threads_);
    }

    void draw_frame(unsigned thread) {
        unsigned at = thread;
        all_.lock();
        while (hf_load_own(&open_queues_) > 0) {
            all_.unlock();
            empty_queue(*queues_[at], thread);
            if (at == thread) {
                mutex_guard guard(all_);
                change(open_queues_, ~0u);
            }
            at = next_with_work(at);
        }
        all_.unlock();
    }

    void empty_queue(queue &from, unsigned thread) {
        for (;;) {
            std::uint64_t asked = hf_ticks();
            from.lock.lock();
            unsigned item = change(from.next_item, 1u);
            from.lock.unlock();
            if (item >= items_of_queue)
                return;
            std::uint64_t waited = hf_ticks() - asked;
            on_.compute(item_ns_);
            figures_.add(static_cast<int>(thread), waited);
        }
    }

    // Returns with all_ taken: at a queue that is not empty, or when there is none.
    unsigned next_with_work(unsigned at) {
        for (;;) {
            at = (at + 1) % threads_;
            queue &next = *queues_[at];
            all_.lock();
            next.lock.lock();
            bool has_work = hf_load_own(&next.next_item) < items_of_queue;
            next.lock.unlock();
            if (has_work || hf_load_own(&open_queues_) == 0)
                return at;
            all_.unlock();
        }
    }

    simulation &on_;
    measurement &figures_;
    unsigned threads_;
    double item_ns_;
    mutex all_;
    unsigned open_queues_ = 0;
    std::vector<queue *> queues_;
    cond_barrier barrier_;
};

// ---- phases: shares of work that differ, and a barrier

// From 0 to 2, 1 in the mean.
double share_of(unsigned thread, std::uint64_t number) {
    std::uint64_t mixed = (thread + 1) * 0x9e3779b97f4a7c15u + number * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 30)) * 0x94d049bb133111ebu;
    return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-52;
}

// ---- stages: a pipeline with bounded queues

constexpr std::array cost_of_stage{0.25, 1.0, 0.5, 2.25}; // of the mean

class bounded_queue {
public:
    explicit bounded_queue(const hf_lock_kind &kind) : lock_(kind) {}

    void put() {
        mutex_guard guard(lock_);
        while (hf_load_own(&items_) == most)
            not_full_.wait(lock_);
        change(items_, 1u);
        not_empty_.signal(lock_);
    }

    void take() {
        mutex_guard guard(lock_);
        while (hf_load_own(&items_) == 0)
            not_empty_.wait(lock_);
        change(items_, ~0u);
        not_full_.signal(lock_);
    }

private:
    static constexpr unsigned most = 16;
    mutex lock_;
    condition not_full_, not_empty_;
    unsigned items_ = 0;
};

// ---- task-queue

struct tasks {
    explicit tasks(const hf_lock_kind &kind) : lock(kind) {}
    mutex lock;
    std::uint64_t random = 1;
};

} // namespace

void poll_under_lock(simulation &on, measurement &figures, const workload_settings &settings) {
    frames &scene = placed<frames>(on, figures, settings);
    for (unsigned i = 0; i < settings.threads; i++)
        on.add_thread([&scene](int number) { scene.take_part(static_cast<unsigned>(number)); });
}

void phases(simulation &on, measurement &figures, const workload_settings &settings) {
    auto &barrier = placed<cond_barrier>(*settings.lock, settings.threads);
    double mean_ns = work_ns(settings, 100);
    for (unsigned i = 0; i < settings.threads; i++) {
        on.add_thread([=, &on, &figures, &barrier](int number) {
            for (std::uint64_t phase = 0;; phase++) {
                on.compute(mean_ns * share_of(static_cast<unsigned>(number), phase));
                std::uint64_t arrived = hf_ticks();
                barrier.wait();
                figures.add(number, hf_ticks() - arrived);
            }
        });
    }
}

void stages(simulation &on, measurement &figures, const workload_settings &settings) {
    unsigned count = std::min<unsigned>(settings.threads, cost_of_stage.size());
    std::vector<bounded_queue *> queues; // behind each stage but the last
    for (unsigned stage = 0; stage + 1 < count; stage++)
        queues.push_back(&placed<bounded_queue>(*settings.lock));
    double mean_ns = work_ns(settings, 10);
    for (unsigned i = 0; i < settings.threads; i++) {
        on.add_thread([=, &on, &figures](int number) {
            unsigned stage = static_cast<unsigned>(number) % count;
            for (;;) {
                std::uint64_t asked = hf_ticks();
                if (stage > 0)
                    queues[stage - 1]->take();
                std::uint64_t waited = hf_ticks() - asked;
                on.compute(mean_ns * cost_of_stage.at(stage));
                std::uint64_t finished = hf_ticks();
                if (stage + 1 < count)
                    queues[stage]->put();
                figures.add(number, waited + hf_ticks() - finished);
            }
        });
    }
}

// Tasks differ in length by a factor of 200, all orders of magnitude alike.
void task_queue(simulation &on, measurement &figures, const workload_settings &settings) {
    constexpr double longest_of_shortest = 200;
    double longest_ns = work_ns(settings, 100);
    tasks &all = placed<tasks>(*settings.lock);
    for (unsigned i = 0; i < settings.threads; i++) {
        on.add_thread([=, &on, &figures, &all](int number) {
            for (;;) {
                std::uint64_t asked = hf_ticks();
                all.lock.lock();
                std::uint64_t drawn = hf_load_own(&all.random) * 6364136223846793005u + 1442695040888963407u;
                hf_store_own(&all.random, drawn);
                all.lock.unlock();
                std::uint64_t waited = hf_ticks() - asked;
                on.compute(longest_ns * std::pow(longest_of_shortest, static_cast<double>(drawn >> 11) * 0x1p-53 - 1));
                figures.add(number, waited);
            }
        });
    }
}

} // namespace holdfast::sim
