// SPDX-License-Identifier: MIT OR Apache-2.0
// Rates from two looks. Shown able to fail: processes told apart by their number alone; has_begun_anew() always false,
// and true for any sum that falls; sums subtracted without the minimum; seconds without their lower bound; opportunity
// without the time in which nobody held the lock, or of threads' sums since their beginning; estimates not scaled.
#include "cli/top/change.hpp"

#include <gtest/gtest.h>

namespace holdfast::cli::top {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

process_sample process(pid_t pid, std::uint64_t started, const counts &so_far) {
    return {.id = {.pid = pid, .started_ticks = started},
            .name = "program",
            .user = "user",
            .under_holdfast = true,
            .locks = so_far};
}

look look_at(std::uint64_t seconds, std::vector<process_sample> processes) {
    look found;
    found.at_ns = seconds * second_ns;
    found.processes = std::move(processes);
    return found;
}

distribution times(std::vector<std::uint64_t> counts_from_one) {
    distribution found;
    for (std::size_t i = 0; i < counts_from_one.size(); i++) {
        if (counts_from_one[i] != 0)
            found.buckets.push_back({std::uint64_t{1} << i, std::uint64_t{2} << i, counts_from_one[i]});
    }
    return found;
}

TEST(change, is_the_difference_by_the_second) {
    counts before{.acquisitions = 1000,
                  .contended = 100,
                  .waits = 100,
                  .timed_waits = 100,
                  .waited_ns = second_ns,
                  .blocked_ns = second_ns};
    counts now{.acquisitions = 3000,
               .contended = 600,
               .waits = 600,
               .timed_waits = 600,
               .waited_ns = 5 * second_ns,
               .blocked_ns = 2 * second_ns};
    now.preemptions = 6;
    change found = between(look_at(10, {process(7, 1, before)}), look_at(12, {process(7, 1, now)}));
    EXPECT_DOUBLE_EQ(found.seconds, 2);
    const rates &rates = found.processes.at(0).now;
    EXPECT_DOUBLE_EQ(*rates.acquisitions_per_s, 1000);
    EXPECT_DOUBLE_EQ(*rates.contended_share, 0.25);
    EXPECT_DOUBLE_EQ(rates.waits_per_s, 250);
    EXPECT_DOUBLE_EQ(rates.waiters, 2);
    EXPECT_DOUBLE_EQ(*rates.mean_wait_ns, 8e6);
    EXPECT_DOUBLE_EQ(*rates.spun_share, 0.75);
    EXPECT_DOUBLE_EQ(*rates.preemptions_per_s, 3);
    EXPECT_DOUBLE_EQ(*found.spun_share(), 0.75);
}

// The second look's counts were read late, as on a busy machine. Shown able to fail: with the looks' times.
TEST(change, is_by_the_time_at_which_the_counts_were_read) {
    process_sample before = process(7, 1, {}), now = process(7, 1, {.acquisitions = 3000});
    before.counted_ns = 10 * second_ns;
    now.counted_ns = 13 * second_ns;
    change found = between(look_at(10, {before}), look_at(12, {now}));
    EXPECT_DOUBLE_EQ(found.seconds, 2);
    EXPECT_DOUBLE_EQ(*found.processes.at(0).now.acquisitions_per_s, 1000);
}

TEST(change, knows_no_share_of_nothing) {
    change found = between(look_at(1, {process(7, 1, {})}), look_at(2, {process(7, 1, {})}));
    EXPECT_FALSE(found.processes.at(0).now.contended_share);
    EXPECT_FALSE(found.processes.at(0).now.mean_wait_ns);
    EXPECT_FALSE(found.spun_share());
    EXPECT_EQ(found.processes.at(0).now.acquisitions_per_s, 0.0);
}

process_sample with_lock(std::uint64_t threads, const counts &so_far) {
    process_sample one = process(7, 1, so_far);
    one.threads = threads;
    one.each_lock.push_back({.address = 0x10, .kind = "mutex", .so_far = so_far});
    return one;
}

// Shown able to fail: without the clamps; with the waits counted in place of those timed.
TEST(change, is_never_more_than_can_be) {
    counts now{.waits = 100, .timed_waits = 100, .waited_ns = 90 * second_ns, .held_ns = 12 * second_ns};
    change found = between(look_at(1, {with_lock(8, {})}), look_at(2, {with_lock(8, now)}));
    for (const rates &each : {found.processes[0].now, found.processes[0].each_lock[0].now}) {
        EXPECT_DOUBLE_EQ(each.waiters, 8);
        EXPECT_DOUBLE_EQ(*each.holders, 1);
    }
}

TEST(change, knows_nothing_of_waits_that_were_not_timed) {
    change found = between(look_at(1, {with_lock(8, {})}), look_at(2, {with_lock(8, {.waits = 95})}));
    EXPECT_TRUE(nothing_was_timed(found.processes[0].now));
    EXPECT_FALSE(found.processes[0].now.mean_wait_ns);
    EXPECT_FALSE(found.processes[0].each_lock[0].now.mean_wait_ns);
}

// One has waited for a second at the first look, and is done a second later; one waits since half a second.
TEST(change, counts_waits_that_have_not_ended) {
    counts before{.waiting_ns = 1e9, .waiting_now = 1};
    counts now{.waits = 1, .timed_waits = 1, .waited_ns = 2 * second_ns, .waiting_ns = 0.5e9, .waiting_now = 1};
    change found = between(look_at(1, {with_lock(8, before)}), look_at(3, {with_lock(8, now)}));
    EXPECT_DOUBLE_EQ(found.processes[0].now.waiters, 0.75);
    EXPECT_EQ(found.processes[0].now.waiting_now, 1u);
    EXPECT_DOUBLE_EQ(*found.processes[0].now.mean_wait_ns, 2e9);
}

look with_holds(std::uint64_t seconds, std::vector<hold_sample> holds) {
    process_sample one = process(7, 1, {});
    one.each_lock.push_back({.address = 0x10, .kind = "mutex", .holds = std::move(holds)});
    return look_at(seconds, {one});
}

TEST(change, tells_each_threads_opportunity) {
    constexpr std::uint64_t tenth = second_ns / 10;
    // In two seconds 71 holds it for a fifth of the time, 72, which is new, for half; 73 does not.
    look before = with_holds(10, {{71, 5 * tenth, true}, {73, 9 * tenth, true}});
    look now = with_holds(12, {{73, 9 * tenth, true}, {72, 10 * tenth, true}, {71, 9 * tenth, true}});
    lock_change found = between(before, now).processes.at(0).each_lock.at(0);
    ASSERT_EQ(found.threads.size(), 3u);
    EXPECT_EQ(found.threads[0].thread, 73u);
    EXPECT_NEAR(found.threads[0].opportunity, 0.3, 1e-9);
    EXPECT_EQ(found.threads[0].held, 0);
    EXPECT_EQ(found.threads[1].thread, 71u);
    EXPECT_NEAR(found.threads[1].held, 0.2, 1e-9);
    EXPECT_NEAR(found.threads[1].opportunity, 0.5, 1e-9);
    EXPECT_NEAR(found.threads[2].opportunity, 0.8, 1e-9);
    EXPECT_NEAR(*found.jain_opportunity, 1.6 * 1.6 / (3 * (0.09 + 0.25 + 0.64)), 1e-9);
}

TEST(change, knows_that_no_lock_is_held_for_longer_than_there_is_time) {
    look before = with_holds(10, {{71, 0}, {72, 0}});
    look now = with_holds(11, {{71, 9 * second_ns}, {72, second_ns / 3}});
    lock_change found = between(before, now).processes.at(0).each_lock.at(0);
    EXPECT_NEAR(found.threads.at(0).opportunity, 0.25, 1e-6);
    EXPECT_NEAR(found.threads.at(1).opportunity, 0.75, 1e-6);
    EXPECT_FALSE(between(with_holds(1, {}), with_holds(2, {{71, 5}})).processes[0].each_lock[0].jain_opportunity);
}

TEST(change, leaves_out_processes_that_have_ended) {
    change found = between(look_at(1, {process(7, 1, {}), process(8, 1, {})}), look_at(2, {process(8, 1, {})}));
    ASSERT_EQ(found.processes.size(), 1u);
    EXPECT_EQ(found.processes[0].id.pid, 8);
}

TEST(change, takes_a_number_that_is_given_again_for_a_new_process) {
    counts old{.acquisitions = 100}, fresh{.acquisitions = 150};
    change found = between(look_at(1, {process(7, 1, old)}), look_at(2, {process(7, 5, fresh)}));
    EXPECT_DOUBLE_EQ(*found.processes.at(0).now.acquisitions_per_s, 150);
}

TEST(change, takes_a_count_that_is_far_less_for_one_that_has_begun_anew) {
    counts old{.acquisitions = 1000, .contended = 3, .waiting = times({1, 2})};
    counts fresh{.acquisitions = 50, .contended = 4, .waiting = times({1, 3})};
    const rates rates = between(look_at(1, {process(7, 1, old)}), look_at(2, {process(7, 1, fresh)})).processes[0].now;
    EXPECT_DOUBLE_EQ(*rates.acquisitions_per_s, 50);
    EXPECT_EQ(rates.waiting.total(), 4u);
}

TEST(change, stands_sums_that_run_ahead_of_one_another) {
    counts before{.waits = 1, .waited_ns = 100, .blocked_ns = 90}, now{.waits = 2, .waited_ns = 95, .blocked_ns = 200};
    const rates rates = between(look_at(1, {process(7, 1, before)}), look_at(2, {process(7, 1, now)})).processes[0].now;
    EXPECT_DOUBLE_EQ(rates.waiters, 0);
    EXPECT_FALSE(rates.spun_share);
}

TEST(change, of_a_sum_that_has_fallen_a_little_is_nothing) {
    counts before{.acquisitions = 1000, .contended = 500}, now{.acquisitions = 1500, .contended = 499};
    const rates rates = between(look_at(1, {process(7, 1, before)}), look_at(2, {process(7, 1, now)})).processes[0].now;
    EXPECT_DOUBLE_EQ(*rates.acquisitions_per_s, 500);
    EXPECT_DOUBLE_EQ(*rates.contended_share, 0);
}

TEST(change, stands_two_looks_at_one_time) {
    change found = between(look_at(1, {process(7, 1, {})}), look_at(1, {process(7, 1, {.acquisitions = 1})}));
    EXPECT_GT(found.seconds, 0);
}

TEST(change, compares_locks_by_address_and_by_who_counted) {
    process_sample before = process(7, 1, {}), now = process(7, 1, {});
    before.each_lock = {{.address = 0x10, .name = "a", .from = source::locks, .kind = "mutex", .so_far = {.waits = 5}}};
    now.each_lock = {{.address = 0x10, .name = "a", .from = source::locks, .kind = "mutex", .so_far = {.waits = 7}},
                     {.address = 0x10, .name = "a", .from = source::futexes, .kind = "", .so_far = {.waits = 9}},
                     {.address = 0x20, .name = "b", .from = source::locks, .kind = "mutex", .so_far = {.waits = 11}}};
    change found = between(look_at(1, {before}), look_at(2, {now}));
    const auto &locks = found.processes.at(0).each_lock;
    ASSERT_EQ(locks.size(), 3u);
    EXPECT_DOUBLE_EQ(locks[0].now.waits_per_s, 2);
    EXPECT_DOUBLE_EQ(locks[1].now.waits_per_s, 9);
    EXPECT_DOUBLE_EQ(locks[2].now.waits_per_s, 11);
}

TEST(change, shows_the_kernels_count_where_locks_do_not_count) {
    process_sample now = process(7, 1, {});
    now.locks.reset();
    now.futexes = counts{.waits = 4, .other_sleeps = 6};
    change found = between(look_at(1, {}), look_at(2, {now}));
    EXPECT_EQ(found.processes.at(0).from, source::futexes);
    EXPECT_FALSE(found.processes[0].now.acquisitions_per_s);
    EXPECT_DOUBLE_EQ(found.processes[0].now.waits_per_s, 4);
    EXPECT_DOUBLE_EQ(*found.processes[0].now.other_sleeps_per_s, 6);
}

TEST(change, of_a_monitor_goes_on_unless_it_was_restarted) {
    look before = look_at(1, {}), now = look_at(3, {});
    before.monitors = {{.socket = "a", .runs = true, .preemptions = 10, .sleeps = 1},
                       {.socket = "b", .runs = true, .preemptions = 10, .sleeps = 1}};
    now.monitors = {{.socket = "a", .runs = true, .preemptions = 30, .sleeps = 1},
                    {.socket = "b", .runs = true, .preemptions = 4, .sleeps = 0},
                    {.socket = "c", .runs = false}};
    change found = between(before, now);
    EXPECT_DOUBLE_EQ(found.monitors.at(0).preemptions_per_s, 10);
    EXPECT_DOUBLE_EQ(found.monitors.at(1).preemptions_per_s, 2);
    EXPECT_DOUBLE_EQ(found.preemptions_per_s(), 12);
}

TEST(distribution, has_quantiles_at_the_ends_of_buckets) {
    distribution all = times({50, 0, 49, 1});
    EXPECT_EQ(all.total(), 100u);
    EXPECT_EQ(all.quantile_ns(0.5), 2u);
    EXPECT_EQ(all.quantile_ns(0.51), 8u);
    EXPECT_EQ(all.quantile_ns(1), 16u);
    EXPECT_FALSE(distribution().quantile_ns(0.5));
}

TEST(distribution, since_another_one_has_the_new_alone) {
    distribution found = since(times({1, 2, 3}), times({1, 5, 3, 4}));
    ASSERT_EQ(found.buckets.size(), 2u);
    EXPECT_EQ(found.buckets[0].from_ns, 2u);
    EXPECT_EQ(found.buckets[0].count, 3u);
    EXPECT_EQ(found.buckets[1].count, 4u);
}

} // namespace
} // namespace holdfast::cli::top
