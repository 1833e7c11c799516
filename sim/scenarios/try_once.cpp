// SPDX-License-Identifier: MIT OR Apache-2.0
// One trial of a scenario: draws machine, threads and order from a seed, runs it, and says what did not hold.
#include <fmt/core.h>

#include "base/pause.h"
#include "engine/exploration.hpp"
#include "scenarios/scenario.hpp"
#include "thread/thread_record.h"

namespace holdfast::sim {
namespace {

template <typename value>
value one_of(random_source &chance, std::initializer_list<value> values) {
    return values.begin()[chance.below(values.size())];
}

machine drawn_machine(random_source &chance) {
    machine one;
    one.name = "explored";
    one.cpus = static_cast<double>(one_of(chance, {1, 2, 2, 2, 3, 3, 4}));
    one.timer_slack_ns = 50'000;
    one.slice_ns = 1'000'000;
    one.tick_ns = 1'000'000;
    return one;
}

exploration drawn_exploration(random_source &chance, const trial_size &size) {
    exploration by;
    by.by_priorities = chance.one_in(2);
    by.switches_one_in = one_of(chance, {2u, 4u, 8u, 32u});
    by.change_points = static_cast<unsigned>(1 + chance.below(5));
    by.steps_expected = std::uint64_t(size.threads) * size.operations * one_of(chance, {30u, 100u});
    by.store_delay_steps = one_of(chance, {0u, 10u, 50u, 200u, 1000u});
    by.stalls_one_in = one_of(chance, {2u, 4u, 32u});
    by.slice_steps = one_of(chance, {100u, 1000u, 5000u});
    by.spurious_one_in = one_of(chance, {0u, 8u, 64u});
    by.late_one_in = one_of(chance, {0u, 4u, 32u});
    return by;
}

// Threads that are through hold nothing and stand nowhere.
std::string left_over(const simulation &run) {
    if (run.critical_count() != 0)
        return fmt::format("the monitor still counts {} critical sections", run.critical_count());
    for (std::size_t i = 0; i < run.thread_count(); i++) {
        const hf_critical_words &words = run.thread_at(i).record->critical;
        if (words.critical_depth != 0 || words.queue_state != HF_QUEUE_IDLE)
            return fmt::format("thread {} ended with depth {} and queue state {}", i, words.critical_depth,
                               words.queue_state);
    }
    return "";
}

} // namespace

std::string try_once(const scenario &what, std::uint64_t seed) {
    random_source chance(seed);
    trial_size size{static_cast<unsigned>(2 + chance.below(4)), one_of(chance, {3u, 10u, 30u, 100u})};
    simulation run(drawn_machine(chance), seed);
    hf_pauses_a_timed_pause = 1;
    run.explore(drawn_exploration(chance, size));
    if (chance.one_in(8))
        run.without_monitor();
    what.add_threads(run, size);
    outcome ended = run.run(never);
    if (!run.why_stopped().empty())
        return run.why_stopped();
    switch (ended) {
    case outcome::all_done: return run.what_does_not_hold() + left_over(run);
    case outcome::stuck: return "a thread sleeps, and nobody will wake it";
    default: return fmt::format("nobody gets on: {} steps", run.steps());
    }
}

} // namespace holdfast::sim
