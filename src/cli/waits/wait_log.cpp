// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/wait_log.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <fstream>

#include "cli/common/say.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t releases_kept = 4096; // of each lock

lock_wait begun(const hf_wait_event &event) {
    return {.process = {.pid = static_cast<pid_t>(event.process), .started_ns = event.process_started_ns},
            .waiter = event.waiter,
            .address = event.address,
            .for_lock = event.for_lock != 0,
            .weight = event.weight,
            .begun_ns = event.begun_ns};
}

} // namespace

void wait_log::note_release(lock_wait &wait, const release &more) {
    wait.releaser = more.thread;
    wait.released_ns = more.at_ns;
    meet(wait.process, more.thread);
    std::deque<release> &all = releases_[{wait.process, wait.address}];
    // CPUs tell in an order of their own.
    auto later = std::ranges::upper_bound(all, more.at_ns, {}, &release::at_ns);
    all.insert(later, more);
    if (all.size() > releases_kept)
        all.pop_front();
}

// A lock that is held for long, and then handed from one waiter to the next, was held by the first for nearly all of
// each one's wait, although each is woken by the one before.
void wait_log::put_holders(lock_wait &wait) const {
    auto known = releases_.find({wait.process, wait.address});
    if (known == releases_.end() || wait.releaser == 0)
        return;
    auto from = std::ranges::upper_bound(known->second, wait.begun_ns, {}, &release::at_ns);
    std::uint64_t since_ns = wait.begun_ns;
    if (!wait.for_lock)
        from = std::ranges::lower_bound(known->second, wait.released_ns, {}, &release::at_ns);
    for (auto each = from; each != known->second.end() && each->at_ns <= wait.released_ns; ++each) {
        std::uint64_t until_ns = each->at_ns == wait.released_ns ? wait.ended_ns : each->at_ns;
        auto same = std::ranges::find_if(wait.held_by, [&](const wait_for_holder &part) {
            return part.thread == each->thread && part.released_at == each->released_at;
        });
        if (same == wait.held_by.end())
            same = wait.held_by.insert(same, {.thread = each->thread, .released_at = each->released_at});
        same->ns += until_ns - std::min(since_ns, until_ns);
        since_ns = until_ns;
    }
}

// CPUs tell in an order of their own, but each event has its place in the ring before the next one of the same wait is
// made: a thread is woken after it has left, and comes back after it was woken.
void wait_log::take(const hf_wait_event &event, const hf_stack *stack, const sink &ended) {
    wait_key key(event.waiter, event.begun_ns);
    if (event.kind == HF_WAIT_BEGINS && stack) {
        lock_wait wait = begun(event);
        wait.waits_at = stacks_.read(wait.process, *stack);
        meet(wait.process, wait.waiter);
        auto [symbol, is_new] = symbols_.try_emplace({wait.process, wait.address});
        if (is_new)
            symbol->second = stacks_.name_of_data(wait.process, wait.address);
        open_.insert_or_assign(key, wait);
        return;
    }
    auto place = open_.find(key);
    if (place == open_.end())
        return;
    lock_wait &wait = place->second;
    if (event.kind == HF_WAIT_RELEASED && stack) {
        note_release(wait,
                     {.at_ns = event.at_ns, .thread = event.thread, .released_at = stacks_.read(wait.process, *stack)});
    } else if (event.kind == HF_WAIT_ENDS) {
        wait.ended_ns = event.at_ns;
        put_holders(wait);
        ended(wait);
        open_.erase(place);
    }
}

void wait_log::read(const wait_watch &watch, const sink &ended) {
    watch.read([&](const hf_wait_event &event, const hf_stack *stack) { take(event, stack, ended); });
}

void wait_log::end_all(std::uint64_t now_ns, const sink &ended) {
    for (auto &[key, wait] : open_) {
        wait.ended_ns = std::max(now_ns, wait.begun_ns);
        put_holders(wait);
        ended(wait);
    }
    open_.clear();
}

void wait_log::forget_ended() {
    stacks_.forget_ended();
    std::map<watched_process, bool> asked; // the kernel, once of each
    auto ended = [&asked](const watched_process &process) {
        auto [answer, is_new] = asked.try_emplace(process);
        if (is_new)
            answer->second = has_ended(process);
        return answer->second;
    };
    auto is_of_ended = [&ended](const auto &each) { return ended(each.first.first); };
    std::erase_if(open_, [&ended](const auto &each) { return ended(each.second.process); });
    std::erase_if(releases_, is_of_ended);
    std::erase_if(threads_, is_of_ended);
    std::erase_if(symbols_, is_of_ended);
}

void wait_log::meet(const watched_process &process, std::uint32_t thread) {
    auto [place, is_new] = threads_.try_emplace({process, thread});
    if (!is_new)
        return;
    std::ifstream file(fmt::format("/proc/{}/task/{}/comm", process.pid, thread));
    std::getline(file, place->second);
    place->second = with_controls_shown(place->second);
}

} // namespace holdfast::cli
