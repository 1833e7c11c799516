// SPDX-License-Identifier: MIT OR Apache-2.0
// The simulated machine itself: what it does must be what a machine of its kind does, and the same each time.
//
// Shown able to fail: a store that others see at once (StoresAreSeenLate); read-modify-writes that leave the buffer as
// it is (FenceShowsStores); chance from the host's clock (SameSeedSameOutput); a quota that is never given anew;
// weights left out; stores that are seen at once (StoresWaitForTheirLine), misses that wait for each other
// (MissesOverlap), loads that always share (LoadTakesAChangedLine), wakes that read no line (FutexCallsContend).
#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/cpu.h"
#include "base/poll.h"
#include "engine/simulation.hpp"
#include "holdfast/holdfast.h"
#include "park/futex.h"

namespace holdfast::sim {
namespace {

// One simulation in a process: what it finds comes back by a pipe.
template <typename result>
result in_child(const std::function<result()> &find) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        result found = find();
        _exit(write(ends[1], &found, sizeof(found)) == sizeof(found) ? 0 : 1);
    }
    result found{};
    EXPECT_EQ(read(ends[0], &found, sizeof(found)), static_cast<ssize_t>(sizeof(found)));
    close(ends[0]);
    close(ends[1]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    return found;
}

machine of_cpus(double cpus) {
    machine one = read_machine(HF_MACHINES "/two.machine");
    one.cpus = cpus;
    return one;
}

exploration slow_stores(bool by_priorities) {
    exploration by;
    by.by_priorities = by_priorities;
    by.steps_expected = 20;
    by.store_delay_steps = 50;
    return by;
}

constexpr int rounds = 30;

struct two_words {
    alignas(64) std::uint32_t first = 0;
    alignas(64) std::uint32_t second = 0;
};

// Two threads, by turns together, do this with two words of their own; how often it went so that `found` says yes.
int count_rounds(std::uint64_t seed, void (*act)(int thread, two_words &words, std::uint32_t *seen),
                 bool (*found)(const std::uint32_t *seen)) {
    return in_child<int>([=] {
        static two_words words[rounds];
        static std::uint32_t seen[rounds][2], arrived;
        simulation run(of_cpus(2), seed);
        run.explore(slow_stores(seed % 2));
        for (int i = 0; i < 2; i++) {
            run.add_thread([=](int) {
                for (std::uint32_t round = 0; round < rounds; round++) {
                    hf_fetch_add_relaxed(&arrived, 1u);
                    while (hf_load_relaxed(&arrived) < 2 * round + 2)
                        hf_pause();
                    act(i, words[round], seen[round]);
                }
            });
        }
        EXPECT_EQ(run.run(never), outcome::all_done);
        return static_cast<int>(std::count_if(seen, seen + rounds, [&](const auto &one) { return found(one); }));
    });
}

int count_all(void (*act)(int thread, two_words &words, std::uint32_t *seen),
              bool (*found)(const std::uint32_t *seen)) {
    int counted = 0;
    for (std::uint64_t seed = 1; seed <= 12; seed++)
        counted += count_rounds(seed, act, found);
    return counted;
}

// Each stores to one word and loads the other.
template <bool fenced>
void store_and_load(int thread, two_words &words, std::uint32_t *seen) {
    hf_store_relaxed(thread ? &words.first : &words.second, 1u);
    if (fenced)
        hf_fence_seq_cst();
    seen[thread] = hf_load_relaxed(thread ? &words.second : &words.first);
}

bool neither_saw(const std::uint32_t *seen) {
    return seen[0] == 0 && seen[1] == 0;
}

TEST(Simulation, StoresAreSeenLate) {
    EXPECT_GT(count_all(store_and_load<false>, neither_saw), 0);
}

TEST(Simulation, FenceShowsStores) {
    EXPECT_EQ(count_all(store_and_load<true>, neither_saw), 0);
}

TEST(Simulation, StoresAreSeenInOrder) {
    auto pass = [](int thread, two_words &words, std::uint32_t *seen) {
        if (thread == 0) {
            hf_store_relaxed(&words.first, 1u);
            hf_store_release(&words.second, 1u);
        } else {
            seen[0] = hf_load_acquire(&words.second);
            seen[1] = hf_load_relaxed(&words.first);
        }
    };
    EXPECT_EQ(count_all(pass, [](const std::uint32_t *seen) { return seen[0] == 1 && seen[1] == 0; }), 0);
}

std::uint64_t run_time() {
    return simulation::running()->observed_ns();
}

struct figures {
    std::uint64_t operations, misses, switches, migrations;
    bool operator==(const figures &) const = default;
};

figures measured(std::uint64_t seed, bool alike) {
    return in_child<figures>([=] {
        static hf_flexguard_t lock;
        static hf_mcs_t queue;
        figures found{};
        simulation run(of_cpus(4), seed);
        for (int i = 0; i < 6; i++) {
            run.add_thread([&](int) {
                for (;;) {
                    hf_flexguard_lock(&lock);
                    found.operations++;
                    hf_flexguard_unlock(&lock);
                    if (!alike) // a clock reading: no round of a poll is like the last one
                        hf_ticks();
                    hf_mcs_lock(&queue);
                    hf_mcs_unlock(&queue);
                }
            });
        }
        EXPECT_EQ(run.run(3'000'000 * ps_a_ns), outcome::time_is_over);
        found.misses = run.counted().misses;
        found.switches = run.counted().switches;
        found.migrations = run.counted().migrations;
        return found;
    });
}

TEST(Simulation, SameSeedSameOutput) {
    figures once = measured(7, true);
    EXPECT_GT(once.operations, 10u);
    EXPECT_EQ(once, measured(7, true));
    EXPECT_NE(once, measured(8, true));
}

TEST(Simulation, SaysThatNobodyWillWake) {
    EXPECT_EQ(in_child<outcome>([] {
                  static std::uint32_t word;
                  simulation run(of_cpus(2), 1);
                  run.add_thread([&](int) { hf_futex_wait(&word, 0, nullptr); });
                  return run.run(1'000'000'000 * ps_a_ns);
              }),
              outcome::stuck);
    EXPECT_EQ(in_child<outcome>([] {
                  static std::uint32_t word;
                  simulation run(of_cpus(2), 1);
                  run.add_thread([&](int) {
                      while (hf_load_relaxed(&word) == 0)
                          hf_futex_wait(&word, 0, nullptr);
                  });
                  run.add_thread([&](int) {
                      hf_store_relaxed(&word, 1u);
                      hf_futex_wake(&word, 1);
                  });
                  return run.run(1'000'000'000 * ps_a_ns);
              }),
              outcome::all_done);
}

// Rounds that are left out take as long as if they had been run, and are as many.
TEST(Simulation, LeavesRoundsOut) {
    struct polled {
        int rounds;
        std::uint64_t took_ns;
    };
    auto poll = [](bool alike) {
        return in_child<polled>([=] {
            static std::uint32_t word;
            polled found{};
            simulation run(of_cpus(2), 1);
            run.add_thread([&](int) {
                std::uint64_t begin = hf_ticks();
                int left = 5000;
                while (left > 0 && hf_load_relaxed(&word) == 0) {
                    left--;
                    hf_pause();
                    if (alike)
                        hf_polls_alike_counted(left, -1, left);
                }
                found = {5000 - left, hf_ticks() - begin};
            });
            run.add_thread([&](int) {
                simulation::running()->charge_ns(20'000);
                hf_store_relaxed(&word, 1u);
            });
            run.run(never);
            return found;
        });
    };
    polled all = poll(false), some = poll(true);
    EXPECT_NEAR(all.rounds, some.rounds, 5);
    EXPECT_NEAR(static_cast<double>(all.took_ns), static_cast<double>(some.took_ns), 150);
}

TEST(Simulation, CountsPreemptedHolders) {
    auto count = in_child<std::array<std::uint64_t, 2>>([] {
        static hf_flexguard_t lock;
        simulation run(of_cpus(1), 1);
        for (int i = 0; i < 2; i++) {
            run.add_thread([&](int) {
                for (int sections = 0; sections < 4; sections++) {
                    hf_flexguard_lock(&lock);
                    for (int i = 0; i < 1000; i++) {
                        simulation::running()->charge_ns(10'000);
                        hf_ticks();
                    }
                    hf_flexguard_unlock(&lock);
                }
            });
        }
        EXPECT_EQ(run.run(never), outcome::all_done);
        return std::array<std::uint64_t, 2>{run.counted().critical_preemptions, run.critical_count()};
    });
    EXPECT_GT(count[0], 0u);
    EXPECT_EQ(count[1], 0u);
}

// How long the second of two threads takes for something, after the first one has done something else; each on a CPU.
std::uint64_t second_takes_ns(const std::vector<std::string> &changes, void (*first)(two_words &),
                              void (*second)(two_words &)) {
    return in_child<std::uint64_t>([=] {
        static two_words words;
        static std::uint64_t took;
        machine on = of_cpus(2);
        on.jitter = 0;
        for (const auto &change : changes)
            change_machine(on, change);
        simulation run(on, 1);
        run.add_thread([=](int) { first(words); });
        run.add_thread([=](int) {
            simulation::running()->compute(50'000);
            std::uint64_t began = run_time();
            second(words);
            took = run_time() - began;
        });
        EXPECT_EQ(run.run(never), outcome::all_done);
        return took;
    });
}

void change_both(two_words &words) {
    hf_fetch_add_relaxed(&words.first, 1u);
    hf_fetch_add_relaxed(&words.second, 1u);
}

TEST(Simulation, MissesOverlap) {
    auto one = second_takes_ns({}, change_both, [](two_words &words) { hf_fetch_add_relaxed(&words.first, 1u); });
    auto both = second_takes_ns({}, change_both, change_both);
    auto after_pause = second_takes_ns({}, change_both, [](two_words &words) {
        hf_fetch_add_relaxed(&words.first, 1u);
        hf_pause();
        hf_fetch_add_relaxed(&words.second, 1u);
    });
    EXPECT_GT(one, 55u);
    EXPECT_LT(both, one + 20);
    EXPECT_GT(after_pause, 2 * one);
}

TEST(Simulation, LoadTakesAChangedLine) {
    auto load_and_store = [](two_words &words) {
        hf_store_relaxed(&words.first, hf_load_relaxed(&words.first) + 1);
        hf_fence_seq_cst();
    };
    EXPECT_LT(second_takes_ns({"load_takes=1"}, change_both, load_and_store), 90u);
    EXPECT_GT(second_takes_ns({"load_takes=0", "window_ns=0"}, change_both, load_and_store), 110u);
}

// One way of a word between two CPUs that poll for it is no less than the line's.
TEST(Simulation, StoresWaitForTheirLine) {
    constexpr std::uint32_t turns = 100;
    auto took = in_child<std::uint64_t>([] {
        static two_words words;
        static std::uint64_t took_ns;
        simulation run(of_cpus(2), 1);
        for (std::uint32_t i = 0; i < 2; i++) {
            run.add_thread([=](int) {
                std::uint64_t began = run_time();
                for (std::uint32_t turn = 1; turn <= turns; turn++) {
                    if (i == 0)
                        hf_store_release(&words.first, turn);
                    while (hf_load_acquire(i ? &words.first : &words.second) != turn)
                        simulation::running()->charge_ns(1);
                    if (i == 1)
                        hf_store_release(&words.second, turn);
                }
                took_ns = run_time() - began;
            });
        }
        EXPECT_EQ(run.run(never), outcome::all_done);
        return took_ns;
    });
    EXPECT_GT(took / turns / 2, 60u);
}

// A wait that is refused takes longer beside a CPU that wakes sleepers of the same word, whether there are any or not.
TEST(Simulation, FutexCallsContend) {
    auto refused_ns = [](bool others_wake) {
        return in_child<std::uint64_t>([=] {
            static std::uint32_t word, over;
            static std::uint64_t took;
            simulation run(of_cpus(2), 1);
            run.add_thread([=](int) {
                std::uint64_t began = run_time();
                for (int i = 0; i < 100; i++)
                    hf_futex_wait(&word, 1, nullptr);
                took = (run_time() - began) / 100;
                hf_store_relaxed(&over, 1u);
            });
            run.add_thread([=](int) {
                while (hf_load_relaxed(&over) == 0) {
                    if (others_wake)
                        hf_futex_wake(&word, 1);
                    else
                        hf_pause();
                }
            });
            EXPECT_EQ(run.run(never), outcome::all_done);
            return took;
        });
    };
    EXPECT_GT(refused_ns(true), refused_ns(false) + 50);
}

// What each of some threads that only compute gets of the CPUs in 400 ms.
std::array<double, 4> shares_of_computing(const std::vector<std::string> &changes, std::array<int, 4> nice) {
    return in_child<std::array<double, 4>>([=] {
        static std::array<double, 4> done_ms;
        machine on = of_cpus(2);
        for (const auto &change : changes)
            change_machine(on, change);
        simulation run(on, 1);
        for (int i = 0; i < 4; i++) {
            run.add_thread(
                [](int number) {
                    for (;;) {
                        simulation::running()->compute(10'000);
                        done_ms.at(static_cast<std::size_t>(number)) += 0.01;
                    }
                },
                false, nice.at(static_cast<std::size_t>(i)));
        }
        EXPECT_EQ(run.run(400'000'000 * ps_a_ns), outcome::time_is_over);
        return done_ms;
    });
}

double sum(const std::array<double, 4> &of) {
    return of[0] + of[1] + of[2] + of[3];
}

TEST(Simulation, ComputingThreadsShareCpus) {
    auto done = shares_of_computing({}, {});
    EXPECT_NEAR(sum(done), 800, 8);
    for (double one : done)
        EXPECT_NEAR(one, 200, 40);
}

TEST(Simulation, NiceThreadsGetLess) {
    auto done = shares_of_computing({"cpus=1"}, {0, 0, 5, 5});
    EXPECT_NEAR((done[0] + done[1]) / (done[2] + done[3]), 3.05, 0.6);
}

TEST(Simulation, QuotaIsKept) {
    EXPECT_NEAR(sum(shares_of_computing({"quota_ns=50000000"}, {})), 200, 20);
}

TEST(Simulation, StolenTimeIsLost) {
    EXPECT_NEAR(sum(shares_of_computing({"stolen_every_ns=10000000", "stolen_ns=5000000"}, {})), 400, 80);
    EXPECT_NEAR(sum(shares_of_computing({"interrupts_every_ns=100000", "interrupts_last_ns=5000"}, {})), 760, 15);
}

TEST(Machine, FilesAreWhole) {
    for (const char *name : {"two", "eight", "thirty-two", "hundred-four", "five-hundred-twelve"}) {
        machine one = read_machine(std::string(HF_MACHINES "/") + name + ".machine");
        EXPECT_EQ(one.name, name);
        EXPECT_LE(one.transfer_complex_ns, one.transfer_remote_ns);
    }
    machine one = of_cpus(2);
    change_machine(one, "pause_ns*2");
    EXPECT_EQ(one.pause_ns, 28);
    EXPECT_THROW(change_machine(one, "pace_ns*2"), std::invalid_argument);
    EXPECT_THROW(read_machine("no such file"), std::invalid_argument);
}

} // namespace
} // namespace holdfast::sim
