// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/wait_log.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <utility>

#include "cli/common/say.hpp"
#include "cli/waits/wait_kind.hpp"
#include "lock/posix/waiter_places.h"

namespace holdfast::cli {
namespace {

constexpr std::size_t releases_kept = 4096; // of each lock
constexpr std::size_t absences_kept = 64;   // of each thread

// A thread that waits for a condition variable of Holdfast's sleeps at a word of its own: what counts is the variable.
std::uint64_t waited_for(const hf_wait_event &event, const call_chain &chain, const hf_stack &stack) {
    std::uint64_t at = event.address - HF_CONDITION_BEFORE_PERMIT, condition = 0;
    std::uint64_t bytes = std::min<std::uint64_t>(stack.bytes, sizeof(stack.content));
    bool is_on_stack = bytes >= sizeof(condition) && at >= stack.from && at - stack.from <= bytes - sizeof(condition);
    bool is_condition = is_in_holdfast(chain) && lock_function_in(chain).starts_with("pthread_cond_");
    if ((event.look & HF_FUTEX_OF_LOCK) != 0 || !is_on_stack || !is_condition)
        return event.address;
    std::memcpy(&condition, stack.content + (at - stack.from), sizeof(condition));
    return condition != 0 ? condition : event.address;
}

lock_wait begun(const hf_wait_event &event) {
    return {.process = {.pid = static_cast<pid_t>(event.process), .started_ns = event.process_started_ns},
            .waiter = event.waiter,
            .address = event.address,
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

// Those that began and ended while it held the lock: what it had before is not known.
void wait_log::note_preemptions(const lock_wait &wait, std::uint32_t holder, std::uint64_t from_ns,
                                std::uint64_t until_ns) {
    auto known = absences_.find({wait.process, holder});
    if (known == absences_.end())
        return;
    for (const absence &each : known->second) {
        holder_preemption found{.process = wait.process,
                                .thread = holder,
                                .address = wait.address,
                                .begun_ns = std::max(each.begun_ns, from_ns),
                                .ended_ns = std::min(each.ended_ns, until_ns)};
        if (found.begun_ns >= found.ended_ns)
            continue;
        found.begun_ns = each.begun_ns; // as a whole: others see another part of it
        found.ended_ns = each.ended_ns;
        if (told_.insert(found).second)
            preemptions_.push_back(found);
    }
}

std::vector<holder_preemption> wait_log::take_preemptions() {
    if (told_.size() > releases_kept)
        told_.erase(told_.begin(), std::next(told_.begin(), static_cast<std::ptrdiff_t>(told_.size() / 2)));
    return std::exchange(preemptions_, {});
}

// A lock that is held for long, and then handed from one waiter to the next, was held by the first for nearly all of
// each one's wait, although each is woken by the one before.
void wait_log::put_holders(lock_wait &wait) {
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
        // Before it came back from a sleep for this lock another thread held it, or nobody did.
        since_ns = std::max(since_ns, each->held_since_ns);
        same->ns += until_ns - std::min(since_ns, until_ns);
        if (wait.for_lock)
            note_preemptions(wait, each->thread, since_ns, each->at_ns);
        since_ns = until_ns;
    }
}

// CPUs tell in an order of their own, but each event has its place in the ring before the next one of the same wait is
// made: a thread is woken after it has left, and comes back after it was woken.
void wait_log::take(const hf_wait_event &event, const hf_stack *stack, const sink &ended) {
    if (event.kind == HF_THREAD_PREEMPTED) {
        lock_wait of = begun(event);
        std::deque<absence> &all = absences_[{of.process, event.thread}];
        all.push_back({.begun_ns = event.begun_ns, .ended_ns = event.at_ns});
        if (all.size() > absences_kept)
            all.pop_front();
        return;
    }
    wait_key key(event.waiter, event.begun_ns);
    if (event.kind == HF_WAIT_BEGINS && stack) {
        lock_wait wait = begun(event);
        forget_older(event);
        wait.waits_at = stacks_.read(wait.process, *stack);
        wait.address = waited_for(event, stacks_.chain(wait.waits_at), *stack);
        meet(wait.process, wait.waiter);
        meet(wait.process, event.process); // its first thread
        auto [symbol, is_new] = symbols_.try_emplace({wait.process, wait.address});
        if (is_new)
            symbol->second = stacks_.name_of_data(wait.process, wait.address);
        // Reader-writer locks' words do not look like locks'.
        const call_chain &chain = stacks_.chain(wait.waits_at);
        bool looks_like_it = is_for_lock(chain, event.look);
        wait_kind kind = kind_of(chain, symbol->second, looks_like_it);
        wait.for_lock = kind.is == wait_class::lock && (looks_like_it || kind.name.empty());
        open_.insert_or_assign(key, wait);
        return;
    }
    auto place = open_.find(key);
    if (place == open_.end())
        return;
    lock_wait &wait = place->second;
    if (event.kind == HF_WAIT_RELEASED && stack) {
        note_release(wait, {.at_ns = event.at_ns,
                            .thread = event.thread,
                            .released_at = stacks_.read(wait.process, *stack),
                            .held_since_ns = event.held_since_ns});
    } else if (event.kind == HF_WAIT_ENDS) {
        // The kernel hides a switch now and then. Who was woken has waited to that moment at the least.
        wait.ended_ns = event.at_ns == 0 ? wait.released_ns : event.at_ns;
        if (wait.ended_ns >= wait.begun_ns) {
            put_holders(wait);
            ended(wait);
        }
        open_.erase(place);
    }
}

void wait_log::read(const wait_watch &watch, const sink &ended) {
    watch.read([&](const hf_wait_event &event, const hf_stack *stack) { take(event, stack, ended); });
}

void wait_log::tell_open(std::uint64_t now_ns, const sink &each) {
    for (const auto &[key, open] : open_) {
        lock_wait wait = open;
        wait.ended_ns = std::max(wait.releaser == 0 ? now_ns : wait.released_ns, wait.begun_ns);
        put_holders(wait);
        each(wait);
    }
}

void wait_log::end_all(std::uint64_t now_ns, const sink &ended) {
    tell_open(now_ns, ended);
    open_.clear();
}

// A thread waits once at a time: the end of the wait before is lost.
void wait_log::forget_older(const hf_wait_event &than) {
    auto first = open_.lower_bound({than.waiter, 0}), last = open_.lower_bound({than.waiter, than.begun_ns});
    open_.erase(first, last);
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
    std::erase_if(absences_, is_of_ended);
    std::erase_if(told_, [&ended](const auto &each) { return ended(each.process); });
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
