// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/lock_places.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

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
    return {.where = frame ? text_of(*frame) : "",
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
    if (lock.name.empty())
        lock.name = profile.name;
}

// Its waits are as many as were seen and what these stand for.
lock_sample sample_of(const lock_profile &profile) {
    lock_sample found{.address = profile.address, .name = profile.name, .from = source::futexes};
    found.so_far.waits = found.so_far.timed_waits = profile.waits;
    found.so_far.waited_ns = found.so_far.blocked_ns = profile.waited_ns;
    found.so_far.longest_wait_ns = profile.longest_ns;
    put_places(profile, found);
    return found;
}

} // namespace

struct lock_places::watched {
    wait_watch watch{{.everybody = true, .locks_alone = false, .all_of_slot = waits_of_slot}};
    wait_log log;
    wait_profile profile;
    std::mutex one_at_a_time;
    std::jthread reader; // last: it uses the others

    watched() {
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

void lock_places::add_to(process_sample &process) {
    if (!watched_)
        return;
    std::lock_guard guard(watched_->one_at_a_time);
    for (const watched_process &each : watched_->profile.processes()) {
        if (process_id{.pid = each.pid, .started_ticks = ticks_of(each.started_ns)} != process.id)
            continue;
        for (const lock_profile &profile : watched_->profile.of(each, watched_->log)) {
            auto lock = std::ranges::find(process.each_lock, profile.address, &lock_sample::address);
            if (lock != process.each_lock.end())
                put_places(profile, *lock);
            else if (profile.is_of_language)
                process.each_lock.push_back(sample_of(profile));
        }
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
