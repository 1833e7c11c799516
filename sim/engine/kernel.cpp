// SPDX-License-Identifier: MIT OR Apache-2.0
// The kernel: who runs on which CPU, sleeping and waking.
//
//             it is its turn                 its slice is over, or another is woken
//     READY -----------------> RUNNING -------------------------------------------> READY
//       ^                         | sleeps
//       +------- woken ------- ASLEEP
//
// Scheduling is that of the fair class in short: of those in a CPU's queue the one that has used least runs; it may be
// preempted after a slice, at a tick, or by a woken one that has used less by a margin. A woken thread goes to an idle
// CPU, the nearer to its last one the better, or else to its last one's queue; a CPU that has nothing takes from the
// longest queue, nearest first. What is not here: groups, cpusets, a load by weights, the waker's CPU as a place.
#include <algorithm>
#include <cerrno>

#include "base/address_hash.h"
#include "engine/simulation.hpp"

namespace holdfast::sim {
namespace {

picoseconds ps(double ns) {
    return static_cast<picoseconds>(ns * ps_a_ns);
}

} // namespace

simulation::bucket &simulation::bucket_of(const std::uint32_t *word) {
    return futexes_[hf_address_hash(reinterpret_cast<std::uintptr_t>(word), 8)];
}

// Its owner reads a word meanwhile, which may be another CPU's. Locks go from one to the next in their order.
void simulation::lock_bucket(bucket &of, const std::uint32_t *word_read) {
    if (exploring_)
        return;
    modify_line(of.memory);
    picoseconds begins = me_->now;
    if (of.locked_until > begins)
        begins = of.locked_until + jittered_ps(topology_.to_own(of.memory, me_->number));
    picoseconds holds = jittered(machine_.bucket_ns);
    of.locked_until = begins + holds;
    if (word_read) {
        const line &its = lines_.at(word_read);
        if (!its.sharers.has(me_->number))
            of.locked_until += topology_.to_load(its, me_->number);
    }
    me_->now = begins + holds;
    wait_for_turn();
}

void simulation::unlock_bucket(bucket &of) {
    if (exploring_)
        return;
    wait_for_turn();
    modify_line(of.memory);
}

// What is left of a call's price, which is that of one that has the bucket's line.
double simulation::after_bucket_ns(double half_ns) const {
    return std::max(0.0, half_ns - machine_.bucket_ns - 2 * machine_.rmw_ns);
}

// ---- what threads call

// Gives the CPU up: the thread is asleep or done. Returns when it has been woken and it is its turn.
void simulation::block() {
    cpu &one = *me_;
    one.is_giving_up = true;
    switch_threads(one, now());
    run_others();
}

int simulation::sleep_on(const std::uint32_t *word, std::uint32_t expected, std::uint64_t deadline_ns,
                         std::uint32_t kind) {
    if (!executing_)
        return 0;
    if (!exploring_)
        me_->now += jittered(machine_.call_ns);
    enter_kernel();
    bucket &its = bucket_of(word);
    lock_bucket(its, word);
    // The kernel reads the word with its bucket locked, as others see it.
    auto *seen = static_cast<const std::uint32_t *>(load(word));
    if (*seen != expected) {
        counts_.sleeps_refused++;
        unlock_bucket(its);
        charge_ns(after_bucket_ns(machine_.call_ns));
        return 0;
    }
    thread &who = self();
    std::uint64_t now_ns = clock_begin_ns + now() / ps_a_ns;
    if (deadline_ns <= now_ns)
        return ETIMEDOUT;
    counts_.sleeps++;
    who.word = word;
    who.kind = kind;
    who.state = thread_state::asleep;
    who.woke_with = 0;
    who.sleeps++;
    its.sleepers.push_back(&who); // and nothing else happens until it is asleep: the price of the unlock is the call's
    if (deadline_ns != never)
        add_event({now() + (deadline_ns - now_ns) * ps_a_ns + jittered(machine_.timer_slack_ns), 0, event_kind::timer,
                   0, &who, who.sleeps});
    if (exploring_ && by_.spurious_one_in && chance_.one_in(by_.spurious_one_in))
        add_event({now() + chance_.below(50'000 * ps_a_ns), 0, event_kind::spurious, 0, &who, who.sleeps});
    block();
    charge_ns(machine_.call_ns);
    return who.woke_with;
}

void simulation::unqueue(thread &who) {
    if (!who.word)
        return;
    auto &its = bucket_of(who.word).sleepers;
    its.erase(std::find(its.begin(), its.end(), &who));
    who.word = nullptr;
}

void simulation::wake(const std::uint32_t *word, int count, std::uint32_t kind) {
    if (!executing_)
        return;
    charge_ns(machine_.wake_call_ns / 2);
    enter_kernel();
    bucket &its = bucket_of(word);
    if (!exploring_)
        load_line(its.memory);
    bool locks = !its.sleepers.empty() || its.locked_until > me_->now;
    if (locks)
        lock_bucket(its);
    auto is_meant = [&](const thread *one) { return one->word == word && (one->kind & kind); };
    if (std::none_of(its.sleepers.begin(), its.sleepers.end(), is_meant)) {
        counts_.wakes_of_nobody++;
        if (locks)
            unlock_bucket(its);
        charge_ns(locks ? after_bucket_ns(machine_.wake_call_ns / 2) : machine_.wake_call_ns / 2);
        return;
    }
    std::vector<thread *> woken;
    for (thread *one : its.sleepers) {
        if (is_meant(one) && static_cast<int>(woken.size()) < count)
            woken.push_back(one);
    }
    for (thread *one : woken) {
        unqueue(*one);
        one->sleeps++; // its timers mean nothing any more
    }
    unlock_bucket(its);
    for (thread *one : woken) {
        counts_.wakes++;
        if (!exploring_)
            me_->now += jittered(machine_.wake_ns);
        wait_for_turn();
        set_ready(*one, now());
    }
    charge_ns(after_bucket_ns(machine_.wake_call_ns / 2));
}

void simulation::move(const std::uint32_t *from, const std::uint32_t *to) {
    if (!executing_)
        return;
    charge_ns(2 * machine_.call_ns);
    enter_kernel();
    auto &sleepers = bucket_of(from).sleepers;
    auto found = std::find_if(sleepers.begin(), sleepers.end(), [&](const thread *one) { return one->word == from; });
    if (found == sleepers.end())
        return;
    thread *moved = *found;
    sleepers.erase(found);
    moved->word = to;
    bucket_of(to).sleepers.push_back(moved);
}

void simulation::sleep_for(std::uint64_t ns) {
    if (!executing_)
        return;
    if (!exploring_)
        me_->now += jittered(2 * machine_.call_ns);
    enter_kernel();
    counts_.short_sleeps++;
    thread &who = self();
    who.state = thread_state::asleep;
    who.sleeps++;
    add_event({now() + ns * ps_a_ns + jittered(machine_.timer_slack_ns), 0, event_kind::timer, 0, &who, who.sleeps});
    block();
    charge_ns(machine_.call_ns);
}

// As Linux from 6.18 on: what is left of its slice counts as used.
void simulation::yield() {
    if (!executing_)
        return;
    charge_ns(machine_.call_ns);
    enter_kernel();
    cpu &one = *me_;
    if (one.queue.empty())
        return;
    counts_.yields++;
    self().used += ps(machine_.slice_ns);
    switch_threads(one, now());
    run_others();
}

// membarrier: each CPU that runs one of ours is interrupted.
void simulation::fence_all() {
    if (!executing_)
        return;
    counts_.fences++;
    if (!exploring_)
        me_->now += jittered(machine_.call_ns);
    enter_kernel();
    picoseconds answered = now();
    for (auto &other : cpus_) {
        other.stores.show_all();
        if (exploring_ || &other == me_ || !other.current)
            continue;
        if (other.is_polling)
            stop_polling(other, now(), true);
        other.now += ps(machine_.interrupt_ns);
        answered += ps_a_ns * 100;
    }
    if (!exploring_) {
        me_->now = std::max(me_->now, answered + ps(machine_.interrupt_ns) * 2);
        wait_for_turn();
    } else {
        step();
    }
}

// ---- who runs where

picoseconds simulation::used_by_now(const cpu &one, picoseconds at) const {
    picoseconds ran = at > one.started ? at - one.started : 0;
    double weight = one.current->weight;
    return one.current->used + (weight == 1 ? ran : static_cast<picoseconds>(static_cast<double>(ran) / weight));
}

void simulation::reschedule(cpu &one, picoseconds at) {
    if (one.switch_is_due)
        return;
    one.switch_is_due = true;
    add_event({at, 0, event_kind::reschedule, one.number, nullptr, 0});
}

// At the first tick after its slice. CPUs tick at different times.
void simulation::arm_slice(cpu &one, picoseconds at) {
    if (one.slice_is_due)
        return;
    one.slice_is_due = true;
    picoseconds ends;
    if (exploring_) {
        ends = at + (1 + chance_.below(by_.slice_steps)) * 20 * ps_a_ns;
    } else {
        picoseconds tick = ps(machine_.tick_ns), phase = tick / cpus_.size() * static_cast<std::size_t>(one.number);
        ends = std::max(at, one.started + ps(machine_.slice_ns));
        ends = (ends - std::min(ends, phase) + tick - 1) / tick * tick + phase;
    }
    add_event({ends, 0, event_kind::slice_end, one.number, nullptr, ++one.slice});
}

void simulation::add_to_queue(cpu &of, thread &who, picoseconds at) {
    who.state = thread_state::ready;
    who.cpu = of.number;
    of.queue.push_back(&who);
    if (of.current)
        arm_slice(of, at);
}

cpu *simulation::idle_near(int home) {
    auto is_idle = [&](int number) {
        const cpu &one = cpus_[static_cast<std::size_t>(number)];
        return !one.current && one.queue.empty();
    };
    if (is_idle(home))
        return &cpus_[static_cast<std::size_t>(home)];
    int best = -1, best_distance = 3, cpus = static_cast<int>(cpus_.size());
    for (int k = 1; k < cpus && best_distance > 0; k++) {
        int number = (home + k) % cpus;
        int distance = topology_.complex_of(number) == topology_.complex_of(home) ? 0
                       : topology_.socket_of(number) == topology_.socket_of(home) ? 1
                                                                                  : 2;
        if (distance < best_distance && is_idle(number)) {
            best = number;
            best_distance = distance;
        }
    }
    return best < 0 ? nullptr : &cpus_[static_cast<std::size_t>(best)];
}

void simulation::set_ready(thread &who, picoseconds at) {
    cpu &last = cpus_[static_cast<std::size_t>(who.cpu)];
    cpu *idle = idle_near(who.cpu);
    cpu &its = idle ? *idle : last;
    if (&its != &last) {
        who.used = who.used - std::min(who.used, last.floor) + its.floor;
        counts_.migrations++;
    }
    // A thread that has slept for long gets no more than half a slice ahead of the others.
    picoseconds credit = ps(machine_.slice_ns) / 2;
    who.used = std::max(who.used, its.floor - std::min(its.floor, credit));
    add_to_queue(its, who, at);
    picoseconds comes =
        exploring_ ? chance_.below(40) * 20 * ps_a_ns : jittered(idle ? machine_.idle_exit_ns : machine_.interrupt_ns);
    if (exploring_ && by_.late_one_in && chance_.one_in(by_.late_one_in))
        comes += chance_.below(50'000 * ps_a_ns);
    if (idle)
        reschedule(its, std::max(at, exploring_ ? 0 : its.now) + comes);
    else if (its.current && used_by_now(its, at) > who.used + ps(machine_.wake_preempts_ns))
        reschedule(its, at + comes);
}

bool simulation::has_ready(const cpu &of) const {
    return is_throttled_ ? std::any_of(of.queue.begin(), of.queue.end(), [&](const auto *one) { return may_run(*one); })
                         : !of.queue.empty();
}

thread *simulation::take_next(cpu &of) {
    if (!has_ready(of))
        return nullptr;
    auto next = exploring_
                    ? of.queue.begin() + static_cast<std::ptrdiff_t>(chance_.below(of.queue.size()))
                    : std::min_element(of.queue.begin(), of.queue.end(), [&](const thread *one, const thread *other) {
                          bool may = may_run(*one), other_may = may_run(*other);
                          return may != other_may ? may : one->used < other->used;
                      });
    thread *who = *next;
    of.queue.erase(next);
    return who;
}

void simulation::steal_for(cpu &idle) {
    cpu *from = nullptr;
    int from_distance = 3;
    for (auto &other : cpus_) {
        if (!has_ready(other) || !other.current || &other == &idle)
            continue;
        int distance = topology_.complex_of(other.number) == topology_.complex_of(idle.number) ? 0
                       : topology_.socket_of(other.number) == topology_.socket_of(idle.number) ? 1
                                                                                               : 2;
        bool is_better =
            !from || distance < from_distance || (distance == from_distance && other.queue.size() > from->queue.size());
        if (is_better) {
            from = &other;
            from_distance = distance;
        }
    }
    if (!from)
        return;
    thread *who = take_next(*from);
    who->used = who->used - std::min(who->used, from->floor) + idle.floor;
    who->cpu = idle.number;
    idle.queue.push_back(who);
    counts_.migrations++;
}

void simulation::switch_threads(cpu &one, picoseconds at) {
    one.switch_is_due = false;
    thread *before = one.current;
    bool could_go_on = before && !one.is_giving_up;
    if (one.is_polling)
        stop_polling(one, at, false);
    if (!exploring_)
        at = std::max(at, one.now);
    one.stores.show_all();
    if (could_go_on && may_run(*before) && !has_ready(one)) {
        if (!exploring_)
            add_event({at, 0, event_kind::resume, one.number, nullptr, ++one.resumption});
        return;
    }
    if (before) {
        before->used = used_by_now(one, at);
        if (!before->is_stranger && at > one.started)
            one.used_by_own += at - one.started;
        before->switched_out++;
    }
    if (could_go_on) {
        before->state = thread_state::ready;
        before->preempted++;
        counts_.preemptions++;
    }
    one.resumption++;
    one.is_giving_up = false;
    if (!has_ready(one))
        steal_for(one);
    thread *next = take_next(one);
    if (could_go_on)
        one.queue.push_back(before);
    one.current = next;
    at = at_switch(one, before, could_go_on, next, at);
    if (trace_ && before)
        trace_->ran(one.number, before->number, one.started, at, could_go_on ? "preempted" : "asleep");
    one.now = at;
    if (!next)
        return;
    counts_.switches++;
    next->state = thread_state::running;
    next->cpu = one.number;
    one.floor = std::max(one.floor, next->used);
    one.started = at;
    one.looks_ahead = false;
    one.round_is_pure = false;
    if (!exploring_) {
        one.now = at + jittered(machine_.switch_ns);
        add_event({one.now, 0, event_kind::resume, one.number, nullptr, one.resumption});
    }
    if (!one.queue.empty()) {
        one.slice_is_due = false;
        arm_slice(one, at);
    }
}

void simulation::handle(const event &one) {
    cpu &its = cpus_[static_cast<std::size_t>(one.cpu)];
    switch (one.kind) {
    case event_kind::resume: break;
    case event_kind::reschedule:
        // In the middle of something: as soon as that is over.
        if (!exploring_ && its.current && !its.is_polling && its.now > one.at) {
            its.switch_is_due = false;
            reschedule(its, its.now);
            its.resumption++;
            break;
        }
        switch_threads(its, one.at);
        break;
    case event_kind::slice_end:
        if (one.number != its.slice)
            break;
        its.slice_is_due = false;
        if (its.current && !its.queue.empty())
            reschedule(its, one.at);
        break;
    case event_kind::timer:
    case event_kind::spurious: {
        thread &who = *one.who;
        if (who.sleeps != one.number || who.state != thread_state::asleep)
            break;
        if (who.word)
            who.woke_with = one.kind == event_kind::timer ? ETIMEDOUT : (chance_.one_in(2) ? EINTR : 0);
        unqueue(who);
        who.sleeps++;
        set_ready(who, one.at);
        break;
    }
    case event_kind::stolen: take_time(its, one.at, machine_.stolen_every_ns, machine_.stolen_ns, one.kind); break;
    case event_kind::interrupted:
        take_time(its, one.at, machine_.interrupts_every_ns, machine_.interrupts_last_ns, one.kind);
        break;
    case event_kind::given: get_line_of_store(*one.given, its, one.at); break;
    case event_kind::quota: watch_quota(one.at); break;
    }
}

picoseconds simulation::own_from_kernel(cpu &by, const void *word, picoseconds at) {
    if (exploring_)
        return at;
    line &of = lines_.at(word);
    if (of.owner == by.number)
        return at + ps(machine_.rmw_ns);
    picoseconds begins = std::max(at, of.busy_until);
    of.busy_until = begins + jittered_ps(topology_.to_own(of, by.number));
    take_from_others(of, by.number, at);
    of.is_changed = true;
    of.used_at = at;
    return of.busy_until;
}

} // namespace holdfast::sim
