// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/lock_places.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/signals_blocked.hpp"
#include "cli/symbols/process_stat.hpp"
#include "cli/symbols/unwinder.hpp"
#include "cli/top/running_process.hpp"
#include "cli/waits/wait_log.hpp"
#include "cli/waits/wait_profile.hpp"

namespace holdfast::cli::top {
namespace {

// On each CPU one wait for a lock and one other sleep of 10 ms, and of more one in 64: a look needs hundreds, and to
// unwind a stack takes tens of microseconds.
constexpr unsigned waits_of_slot = 1;
constexpr auto reads_apart = std::chrono::milliseconds(50);
constexpr std::size_t places_kept = 4, callers_shown = 5;
constexpr double share_least = 0.005;

place_sample sample_of(const wait_place &place) {
    const call_frame *frame = place_in_program(place.where);
    return {.where = place_in_words(place.where),
            .function = frame ? frame->function : "",
            .callers = callers_in_words(place.where, callers_shown),
            .thread = place.thread,
            .thread_name = place.thread_name,
            .share = place.share,
            .waits_seen = place.seen};
}

std::vector<place_sample> samples_of(const std::vector<wait_place> &places) {
    std::vector<place_sample> found;
    for (const wait_place &each : places) {
        if (found.size() < places_kept && each.share >= share_least)
            found.push_back(sample_of(each));
    }
    return found;
}

void put_places(const lock_profile &profile, lock_sample &lock) {
    lock.waits_in = samples_of(profile.waiters);
    lock.held_in = samples_of(profile.holders);
    lock.is_held = profile.is_held();
    if (lock.name.empty() || !profile.kind.name.empty())
        lock.name = profile.name;
    if (lock.from == source::futexes)
        lock.kind = profile.kind.label;
}

// Its waits are as many as were seen and what these stand for.
lock_sample sample_of(const lock_profile &profile) {
    lock_sample found{.address = profile.addresses.front(),
                      .name = profile.name,
                      .from = source::futexes,
                      .is_lock = profile.kind.is != wait_class::other};
    found.so_far.waits = found.so_far.timed_waits = profile.waits;
    found.so_far.waited_ns = found.so_far.blocked_ns = profile.waited_ns;
    found.so_far.longest_wait_ns = profile.longest_ns;
    put_places(profile, found);
    return found;
}

void add_waits(const counts &more, counts &sum) {
    sum.waits += more.waits;
    sum.timed_waits += more.waits;
    sum.waited_ns += more.waited_ns;
    sum.blocked_ns += more.waited_ns;
    sum.longest_wait_ns = std::max(sum.longest_wait_ns, more.longest_wait_ns);
}

// The kernel has counted the words that look like locks', and Holdfast's locks themselves. What neither has is as many
// waits as were seen, and what these stand for. What belongs to a machine (Python's GIL, Java's monitors) is made of
// several words, of which one may be a mutex of Holdfast's: that has its own line.
void put_into(process_sample &process, const lock_profile &profile) {
    auto is_of_it = [&](const lock_sample &each) {
        return std::ranges::binary_search(profile.addresses, each.address);
    };
    bool is_machines = !profile.kind.name.empty();
    auto known = std::ranges::find_if(process.each_lock, is_of_it);
    bool is_mistaken = profile.kind.is == wait_class::other && known != process.each_lock.end() &&
                       known->from == source::futexes; // a part of a barrier's waits looks like a lock's
    if (known != process.each_lock.end() && !is_machines && !is_mistaken) {
        put_places(profile, *known);
        return;
    }
    auto is_seen_by_kernel = [&](const lock_sample &each) { return each.from == source::futexes && is_of_it(each); };
    lock_sample found = sample_of(profile);
    counts uncounted = found.so_far;
    for (const lock_sample &each : process.each_lock) {
        if (!is_seen_by_kernel(each))
            continue;
        uncounted.waits -= std::min(each.so_far.waits, uncounted.waits);
        uncounted.waited_ns -= std::min(each.so_far.waited_ns, uncounted.waited_ns);
    }
    std::erase_if(process.each_lock, is_seen_by_kernel);
    process.each_lock.push_back(found);
    if (profile.kind.is != wait_class::lock)
        return;
    if (process.locks && is_machines)
        add_waits(uncounted, *process.locks);
    if (process.futexes) {
        add_waits(uncounted, *process.futexes);
        process.futexes->other_sleeps -= std::min(uncounted.waits, process.futexes->other_sleeps);
    }
}

} // namespace

struct lock_places::watched {
    wait_watch watch{{.everybody = true, .locks_alone = false, .preemptions = false, .all_of_slot = waits_of_slot}};
    wait_log log;
    wait_profile profile; // of what has ended
    wait_profile shown;   // at this look: of what goes on, too
    std::uint64_t lost = 0;
    std::mutex one_at_a_time;
    std::jthread reader; // last: it uses the others

    watched() {
        watch.meet_sleepers(0);
        signals_blocked in_the_thread;
        reader = std::jthread([this](const std::stop_token &stop) {
            while (!stop.stop_requested()) {
                read();
                std::this_thread::sleep_for(reads_apart);
            }
        });
    }

    void read() {
        std::lock_guard guard(one_at_a_time);
        log.read(watch, [this](const lock_wait &wait) { profile.add(wait); });
        if (watch.lost_total() != std::exchange(lost, watch.lost_total()))
            log.forget_open();
    }

    void look() {
        read();
        std::lock_guard guard(one_at_a_time);
        shown = profile;
        log.tell_open(hf_monotonic_ns(), [this](const lock_wait &wait) { shown.add(wait); });
    }
};

lock_places::lock_places() : why_not_(unwinder::why_not()) {
    if (!why_not_.empty())
        return;
    try {
        watched_ = std::make_unique<watched>();
    } catch (const wait_watch_unavailable &unavailable) {
        why_not_ = unavailable.what();
    }
}

lock_places::~lock_places() = default;

older_waits lock_places::sees_older() const {
    return watched_ ? watched_->watch.sees_older() : older_waits::seen;
}

void lock_places::look() {
    if (watched_)
        watched_->look();
}

void lock_places::add_to(process_sample &process) {
    if (!watched_)
        return;
    std::lock_guard guard(watched_->one_at_a_time);
    for (const watched_process &each : watched_->shown.processes()) {
        if (process_id{.pid = each.pid, .started_ticks = ticks_of(each.started_ns)} != process.id)
            continue;
        for (const lock_profile &profile : watched_->shown.of(each, watched_->log))
            put_into(process, profile);
    }
}

void lock_places::forget_ended() {
    if (!watched_)
        return;
    std::lock_guard guard(watched_->one_at_a_time);
    for (const watched_process &each : watched_->profile.processes()) {
        if (has_ended(each))
            watched_->profile.forget(each);
    }
    watched_->log.forget_ended();
}

} // namespace holdfast::cli::top
