// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a thread spins for a lock whose owner it keeps from its CPU: two threads on one CPU, one of which owns a
// spinlock for some milliseconds of its time, while the other tries. What to measure the sensitivity of busy-waiting
// detection with (Huang et al., HPDC '21, section 4.2; docs/oversubscription.md): a try that was noticed ends its
// thread's turn early. In CPU time, so other load does not count. The interposer knows nothing of these locks, and
// nobody counts their polls, as the workloads do. Only locks whose waiters never sleep.
#include <algorithm>
#include <atomic>
#include <fmt/core.h>
#include <sched.h>
#include <string>
#include <thread>

#include "base/thread_cpus.hpp"
#include "harness/command_line.hpp"
#include "programs/own_time.hpp"
#include "programs/spinlock_list.hpp"

namespace {

using holdfast::bench::own_ms, holdfast::bench::spinlock, holdfast::bench::work_ms;

struct options {
    std::string lock = "ttas";
    unsigned tries = 100;
    double hold_ms = 10, long_ms = 2;
};

void share_one_cpu() {
    holdfast::stay_on({holdfast::usable_cpus().front()});
}

class experiment {
public:
    explicit experiment(const options &wanted) : wanted_(wanted), lock_(wanted.lock) {}

    void run() {
        std::thread owner([&] { own(); });
        try_all();
        owner.join();
    }

    unsigned met_it_held = 0, spun_long = 0;
    double spun_ms = 0;

private:
    void own() {
        for (unsigned round = 0; round < wanted_.tries; round++) {
            lock_.lock();
            is_held_ = true;
            rounds_begun_ = round + 1;
            work_ms(wanted_.hold_ms);
            is_held_ = false;
            lock_.unlock();
            while (tries_done_ <= round)
                sched_yield();
        }
    }

    void try_all() {
        for (unsigned round = 0; round < wanted_.tries; round++) {
            while (rounds_begun_ <= round)
                sched_yield();
            bool is_held = is_held_;
            double began = own_ms();
            lock_.lock();
            double spun = own_ms() - began;
            lock_.unlock();
            met_it_held += is_held;
            spun_long += is_held && spun > wanted_.long_ms;
            spun_ms += is_held ? spun : 0;
            tries_done_ = round + 1;
        }
    }

    const options &wanted_;
    spinlock lock_;
    std::atomic<bool> is_held_ = false;
    std::atomic<unsigned> rounds_begun_ = 0, tries_done_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    options wanted;
    holdfast::bench::command_line line{
        .name = "spin-locks",
        .summary = "Two threads on one CPU: one owns a spinlock, the other tries.",
        .options = {{"--lock", wanted.lock, holdfast::bench::spinlock_names(), "Which"},
                    {"--tries", wanted.tries, 1, 1'000'000, "How many"},
                    {"--hold-ms", wanted.hold_ms, 0, 1e6, "CPU time of the owner, for each"},
                    {"--long-ms", wanted.long_ms, 0, 1e6, "CPU time of a try that was not noticed"}},
        .footer = "Example: sudo holdfast run --detect-spinning --stats -- spin-locks --lock mcs",
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return holdfast::bench::run_checked(line.name, [&] {
        share_one_cpu();
        experiment tries(wanted);
        tries.run();
        fmt::print("spin-locks {}: {} of {} tries met it held, {} of them spun for more than {} ms; mean {:.2f} ms\n",
                   wanted.lock, tries.met_it_held, wanted.tries, tries.spun_long, wanted.long_ms,
                   tries.spun_ms / std::max(tries.met_it_held, 1u));
    });
}
