// SPDX-License-Identifier: MIT OR Apache-2.0
// How long a thread spins for a lock whose owner it keeps from its CPU: two threads on one CPU, one of which owns a
// spinlock for some milliseconds of its time, while the other tries. What to measure the sensitivity of busy-waiting
// detection with (Huang et al., HPDC '21, section 4.2; docs/oversubscription.md): a try that was noticed ends its
// thread's turn early. In CPU time, so other load does not count. The interposer knows nothing of these locks, and
// nobody counts their polls, as the workloads do. Only locks whose waiters never sleep.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <fmt/core.h>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/mcs.h"
#include "holdfast/ticket.h"

#include "peers/peer.hpp"

extern "C" {
extern const hf_peer hf_peer_array, hf_peer_clh, hf_peer_cna, hf_peer_partitioned_ticket;
}

namespace {

template <class Lock, void (*take)(Lock *), void (*give)(Lock *)>
struct of_functions {
    Lock lock_;
    void lock() { take(&lock_); }
    void unlock() { give(&lock_); }
};

// Under the interposer it is Holdfast's, unless the policy says otherwise.
struct of_posix {
    bool is_made_;
    pthread_spinlock_t lock_;
    void lock() {
        if (!is_made_) // its owner comes first
            is_made_ = pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE) == 0;
        pthread_spin_lock(&lock_);
    }
    void unlock() { pthread_spin_unlock(&lock_); }
};

// As programs have it: Holdfast's calls a function in its loop.
struct test_and_test_and_set {
    std::atomic<unsigned> word_;
    void lock() {
        while (word_.exchange(1, std::memory_order_acquire)) {
            while (word_.load(std::memory_order_relaxed))
                ;
        }
    }
    void unlock() { word_.store(0, std::memory_order_release); }
};

struct named_lock {
    const char *name;
    hf_peer lock;
};

std::vector<named_lock> spinlocks() {
    using holdfast::bench::peer_of;
    return {{"array", hf_peer_array},
            {"clh", hf_peer_clh},
            {"cna", hf_peer_cna},
            {"mcs", peer_of<of_functions<hf_mcs_t, hf_mcs_lock, hf_mcs_unlock>>()},
            {"partitioned-ticket", hf_peer_partitioned_ticket},
            {"pthread-spin", peer_of<of_posix>()},
            {"ticket", peer_of<of_functions<hf_ticket_t, hf_ticket_lock, hf_ticket_unlock>>()},
            {"ttas", peer_of<test_and_test_and_set>()}};
}

struct options {
    std::string lock = "ttas";
    unsigned tries = 100;
    double hold_ms = 10, long_ms = 2;
};

double own_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void share_one_cpu() {
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    for (unsigned cpu = 0; CPU_COUNT(&one) == 0; cpu++) {
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    }
    sched_setaffinity(0, sizeof(one), &one);
}

class experiment {
public:
    experiment(const options &wanted, const hf_peer &kind)
        : wanted_(wanted), kind_(kind), lock_(operator new(kind.bytes, line)) {
        std::memset(lock_, 0, kind.bytes);
    }
    ~experiment() { operator delete(lock_, line); }
    experiment(const experiment &) = delete;
    experiment &operator=(const experiment &) = delete;

    void run() {
        std::thread owner([&] { own(); });
        try_all();
        owner.join();
    }

    unsigned met_it_held = 0, spun_long = 0;
    double spun_ms = 0;

private:
    static constexpr std::align_val_t line{64};

    void own() {
        for (unsigned round = 0; round < wanted_.tries; round++) {
            kind_.lock(lock_);
            is_held_ = true;
            rounds_begun_ = round + 1;
            for (double end = own_ms() + wanted_.hold_ms; own_ms() < end;)
                ;
            is_held_ = false;
            kind_.unlock(lock_);
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
            kind_.lock(lock_);
            double spun = own_ms() - began;
            kind_.unlock(lock_);
            met_it_held += is_held;
            spun_long += is_held && spun > wanted_.long_ms;
            spun_ms += is_held ? spun : 0;
            tries_done_ = round + 1;
        }
    }

    const options &wanted_;
    const hf_peer &kind_;
    void *lock_;
    std::atomic<bool> is_held_ = false;
    std::atomic<unsigned> rounds_begun_ = 0, tries_done_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    options wanted;
    CLI::App app("Two threads on one CPU: one owns a spinlock, the other tries.");
    std::vector<std::string> names;
    for (const named_lock &each : spinlocks())
        names.emplace_back(each.name);
    app.add_option("--lock", wanted.lock, "Which")->check(CLI::IsMember(names))->capture_default_str();
    app.add_option("--tries", wanted.tries, "How many")->capture_default_str();
    app.add_option("--hold-ms", wanted.hold_ms, "CPU time of the owner, for each")->capture_default_str();
    app.add_option("--long-ms", wanted.long_ms, "CPU time of a try that was not noticed")->capture_default_str();
    app.footer("Example: sudo holdfast run --detect-spinning --stats -- spin-locks --lock mcs");
    CLI11_PARSE(app, argc, argv);
    share_one_cpu();
    for (const named_lock &each : spinlocks()) {
        if (wanted.lock != each.name)
            continue;
        experiment tries(wanted, each.lock);
        tries.run();
        fmt::print("spin-locks {}: {} of {} tries met it held, {} of them spun for more than {} ms; mean {:.2f} ms\n",
                   each.name, tries.met_it_held, wanted.tries, tries.spun_long, wanted.long_ms,
                   tries.spun_ms / std::max(tries.met_it_held, 1u));
    }
}
