// SPDX-License-Identifier: MIT OR Apache-2.0
// Workloads made of pthread mutexes and condition variables: patterns that programs consist of. Nothing of Holdfast's
// locks is linked: `holdfast bench` runs them as they are and under the interposer.
#pragma once

#include <cstdint>
#include <functional>
#include <pthread.h>
#include <string>

#include "harness/thread_team.hpp"
#include "harness/wrong_result.hpp"

namespace holdfast::bench {

struct pthread_workload_options {
    unsigned threads = 4;
    double seconds = 0.5;
    double work_us; // a piece of work outside of all locks; what it is of, each workload says
};

struct pthread_workload {
    const char *name; // in workload_list.def
    double usual_work_us;
    const char *work_help;
    std::function<team_result(const pthread_workload_options &)> run;
};

// main() of a workload: runs it and prints its record. Returns 0; 1 with a sentence on stderr when it failed; 2 when an
// option is wrong.
int pthread_workload_main(int argc, char **argv, const pthread_workload &what);

// Uses a CPU for a time. The time for which the thread is off the CPU does not count, unlike in work_for(): a piece of
// work is as much work whoever is preempted meanwhile.
void use_cpu(double us);

// Counts one thread's operations once all threads have done one, until the measurement ends.
class operation_counter {
public:
    operation_counter(team_phase &team, thread_result &own) : team_(team), own_(own) {}

    // `waited_ticks`: of this operation, as its workload defines it.
    void add(std::uint64_t waited_ticks) noexcept {
        phase now = team_.now();
        if (now == phase::measuring) {
            own_.operations++;
            own_.wait_ticks.add(waited_ticks);
        }
        if (!warm_) {
            warm_ = true;
            team_.first_operation_done();
        }
    }

private:
    team_phase &team_;
    thread_result &own_;
    bool warm_ = false;
};

class mutex_guard {
public:
    explicit mutex_guard(pthread_mutex_t &mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~mutex_guard() { pthread_mutex_unlock(&mutex_); }
    mutex_guard(const mutex_guard &) = delete;
    mutex_guard &operator=(const mutex_guard &) = delete;

private:
    pthread_mutex_t &mutex_;
};

// A barrier as programs build it of a mutex and a condition variable. The last thread to come runs a function before
// all leave.
class cond_barrier {
public:
    explicit cond_barrier(unsigned threads) : threads_(threads) {}

    void wait(const std::function<void()> &at_last = [] {}) {
        mutex_guard guard(mutex_);
        std::uint64_t round = round_;
        if (++arrived_ == threads_) {
            arrived_ = 0;
            round_++;
            at_last();
            pthread_cond_broadcast(&all_here_);
            return;
        }
        while (round == round_)
            pthread_cond_wait(&all_here_, &mutex_);
    }

private:
    unsigned threads_;
    unsigned arrived_ = 0;
    std::uint64_t round_ = 0;
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t all_here_ = PTHREAD_COND_INITIALIZER;
};

} // namespace holdfast::bench
