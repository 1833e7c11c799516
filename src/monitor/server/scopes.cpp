// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/scopes.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "base/atomic.h"
#include "base/clock.h"

namespace holdfast {
namespace {

// More than half of them go to single processes: then each can be moved when its own CPUs change.
constexpr std::ptrdiff_t groups_for_single_processes = HF_HINT_GROUPS / 2;

constexpr std::uint64_t looks_apart_ns = 1'000'000'000; // when processes register all the time

struct group : group_of_processes {
    std::uint32_t reads = HF_SCOPE_MACHINE;
    std::uint32_t counts_in = HF_SCOPE_MACHINE;
};

} // namespace

std::vector<std::vector<std::uint32_t>> who_may_meet(const groups_of_processes &groups, scoping by) {
    struct circle {
        std::vector<std::uint32_t> members;
        cpu_set cpus;
        std::uint32_t user;
    };
    std::vector<circle> circles;
    for (std::uint32_t number = 0; number < groups.size(); number++) {
        const group_of_processes &each = groups[number];
        if (!each.in_use)
            continue;
        circle joined{.members = {number}, .cpus = each.cpus, .user = each.user};
        std::erase_if(circles, [&](const circle &other) {
            bool meets = (other.cpus & each.cpus).any() && (by != scoping::users || other.user == each.user);
            if (meets) {
                joined.members.insert(joined.members.end(), other.members.begin(), other.members.end());
                joined.cpus |= other.cpus;
            }
            return meets;
        });
        circles.push_back(std::move(joined));
    }
    std::vector<std::vector<std::uint32_t>> members;
    for (circle &each : circles) {
        std::ranges::sort(each.members);
        members.push_back(std::move(each.members));
    }
    return members;
}

struct scopes::books {
    using circle = std::vector<std::uint32_t>; // numbers of groups that may meet

    monitor &kernel_monitor;
    const scoping by;
    std::array<group, HF_HINT_GROUPS> groups;
    cpu_set online; // none until the first look: everybody may meet everybody
    std::uint64_t looked_at_ns = 0;

    books(monitor &its_monitor, scoping its_scoping) : kernel_monitor(its_monitor), by(its_scoping) {
        groups[HF_GROUP_OF_ALL].in_use = true;
    }

    void move(std::uint32_t number, std::uint32_t reads, std::uint32_t counts_in) {
        group &moved = groups[number];
        if (moved.reads == reads && moved.counts_in == counts_in)
            return;
        moved.reads = reads;
        moved.counts_in = counts_in;
        kernel_monitor.move_group(number, reads, counts_in);
    }

    // scope.S1: all have stopped reading before any stops counting.
    void send_on_the_way(const circle &members, std::uint32_t scope) {
        for (std::uint32_t number : members)
            move(number, HF_SCOPE_MACHINE, groups[number].counts_in);
        for (std::uint32_t number : members)
            move(number, HF_SCOPE_MACHINE, scope);
    }

    void back_to_machine(const circle &members) { send_on_the_way(members, HF_SCOPE_MACHINE); }

    // One without marks of before: a new reader would hear of those for as long as they last. The machine's if there is
    // no other.
    std::uint32_t unused_scope() const {
        for (std::uint32_t scope = HF_SCOPE_MACHINE + 1; scope < HF_HINT_SCOPES; scope++) {
            auto uses_it = [=](const group &each) { return each.reads == scope || each.counts_in == scope; };
            if (std::ranges::none_of(groups, uses_it) &&
                hf_load_relaxed(&kernel_monitor.page().scope[scope].preempted_critical_sections) == 0)
                return scope;
        }
        return HF_SCOPE_MACHINE;
    }

    // A member that asks the machine's count whatever others do.
    bool is_for_all(const circle &members) const {
        cpu_set cpus;
        for (std::uint32_t number : members)
            cpus |= groups[number].cpus;
        return members.front() == HF_GROUP_OF_ALL || online.none() || (by == scoping::cpus && (online & ~cpus).none());
    }

    groups_of_processes as_they_are() const {
        groups_of_processes copies;
        std::ranges::copy(groups, copies.begin());
        return copies;
    }

    // The one that all of them read, but for `besides`; the machine's when they read several.
    std::uint32_t scope_read_by(const circle &members, std::uint32_t besides = HF_HINT_GROUPS) const {
        std::set<std::uint32_t> read;
        for (std::uint32_t number : members) {
            if (number != besides)
                read.insert(groups[number].reads);
        }
        return read.size() == 1 ? *read.begin() : static_cast<std::uint32_t>(HF_SCOPE_MACHINE);
    }

    // The one that all of them are on their way to.
    std::uint32_t scope_counted_in_by(const circle &members) const {
        std::uint32_t scope = groups[members.front()].counts_in;
        auto counts_there = [&](std::uint32_t number) { return groups[number].counts_in == scope; };
        return std::ranges::all_of(members, counts_there) ? scope : static_cast<std::uint32_t>(HF_SCOPE_MACHINE);
    }

    // ---- a process registers

    std::optional<std::uint32_t> group_like(std::uint32_t user, const cpu_set &cpus) const {
        for (std::uint32_t number = HF_GROUP_OF_ALL + 1; number < groups.size(); number++) {
            if (groups[number].in_use && groups[number].user == user && groups[number].cpus == cpus)
                return number;
        }
        return std::nullopt;
    }

    std::optional<std::uint32_t> new_group(std::uint32_t user, const cpu_set &cpus) {
        auto found = std::ranges::find(groups, false, &group::in_use);
        if (found == groups.end())
            return std::nullopt;
        found->in_use = true;
        found->cpus = cpus;
        found->user = user;
        return static_cast<std::uint32_t>(found - groups.begin());
    }

    std::uint32_t admit(std::uint32_t user, const cpu_set &cpus) {
        std::optional<std::uint32_t> like = group_like(user, cpus);
        if (like && std::ranges::count(groups, true, &group::in_use) > groups_for_single_processes)
            return *like;
        std::uint32_t number = HF_GROUP_OF_ALL;
        if (std::optional<std::uint32_t> made = new_group(user, cpus))
            number = *made;
        else if (like)
            return *like;
        else
            groups[HF_GROUP_OF_ALL].cpus |= cpus;
        settle(number);
        return number;
    }

    // With whom does this one, which is new, share a scope? Nobody else has been looked at, so others are moved but to
    // where everybody is heard.
    void settle(std::uint32_t number) {
        for (const circle &each : who_may_meet(as_they_are(), by)) {
            if (std::ranges::find(each, number) == each.end())
                continue;
            std::uint32_t scope = each.size() == 1 ? unused_scope() : scope_read_by(each, number);
            if (is_for_all(each) || scope == HF_SCOPE_MACHINE)
                back_to_machine(each);
            else
                move(number, scope, scope);
        }
        grant_cpus();
    }

    // Tells the kernel which CPUs only one scope's programs use.
    void grant_cpus() {
        std::array<std::uint32_t, HF_HINT_CPUS> owner{};
        for (const group &each : groups) {
            if (by != scoping::cpus || each.reads == HF_SCOPE_MACHINE)
                continue;
            for (std::size_t cpu = 0; cpu < owner.size(); cpu++)
                owner[cpu] = each.cpus[cpu] ? each.reads : owner[cpu];
        }
        for (std::uint32_t cpu = 0; cpu < owner.size(); cpu++) {
            if (kernel_monitor.page().cpu[cpu].scope != owner[cpu])
                kernel_monitor.grant_cpu(cpu, owner[cpu]);
        }
    }

    // ---- a look at all

    cpu_set online_of(const hf_group_found &found) const { return cpus_of_words(found.cpus) & online; }

    // A child may be forked behind a walk's back, by a parent that then ends before the walk comes to it: only what a
    // second walk does not find either is taken for empty.
    std::optional<census> look() const {
        std::optional<census> first = kernel_monitor.take_census();
        auto seems_empty = [&](std::size_t number) { return first->groups[number].threads == 0; };
        bool any = false;
        for (std::size_t number = HF_GROUP_OF_ALL + 1; first && number < groups.size(); number++)
            any = any || (groups[number].in_use && seems_empty(number));
        std::optional<census> second = any ? kernel_monitor.take_census() : std::nullopt;
        for (std::size_t number = 0; second && number < groups.size(); number++) {
            if (seems_empty(number))
                first->groups[number] = second->groups[number];
        }
        return any && !second ? std::nullopt : first;
    }

    void note(std::uint32_t number, const hf_group_found &found) {
        group &each = groups[number];
        if (found.threads > 0) {
            each.in_use = true; // it may be of the service before this one
            each.cpus = online_of(found);
            each.user = found.user;
        } else if (number == HF_GROUP_OF_ALL) {
            each.cpus.reset();
        } else if (each.in_use) {
            back_to_machine({number});
            each = group{};
        }
    }

    // Sends all to where they should be, and tells who is on the way there.
    std::vector<circle> set_out() {
        std::set<std::uint32_t> taken;
        std::vector<circle> on_their_way;
        for (const circle &each : who_may_meet(as_they_are(), by)) {
            std::uint32_t scope = HF_SCOPE_MACHINE;
            for (std::uint32_t wanted : {scope_read_by(each), scope_counted_in_by(each), unused_scope()}) {
                if (scope == HF_SCOPE_MACHINE && !is_for_all(each) && !taken.contains(wanted))
                    scope = wanted;
            }
            taken.insert(scope);
            if (scope == HF_SCOPE_MACHINE || scope_read_by(each) != scope)
                send_on_the_way(each, scope);
            if (scope_read_by(each) != scope)
                on_their_way.push_back(each);
        }
        return on_their_way;
    }

    // scope.S1: nobody is behind. And nobody has other CPUs than when they set out.
    bool has_arrived(const circle &members, const census &now) const {
        return std::ranges::all_of(members, [&](std::uint32_t number) {
            const hf_group_found &found = now.groups[number];
            return found.behind == 0 && (online_of(found) & ~groups[number].cpus).none();
        });
    }

    void reconsider() {
        looked_at_ns = hf_monotonic_ns();
        std::optional<cpu_set> cpus = online_cpus();
        std::optional<census> now = cpus ? look() : std::nullopt;
        if (!now)
            return;
        online = *cpus;
        for (std::uint32_t number = 0; number < groups.size(); number++)
            note(number, now->groups[number]);
        std::vector<circle> on_their_way = set_out();
        if (!on_their_way.empty() && monitor::wait_for_switches())
            now = kernel_monitor.take_census();
        else
            on_their_way.clear();
        for (const circle &each : on_their_way) {
            if (!now || !has_arrived(each, *now))
                continue;
            for (std::uint32_t number : each)
                move(number, groups[number].counts_in, groups[number].counts_in);
        }
        grant_cpus();
    }
};

scopes::scopes(monitor &kernel_monitor, scoping by) : books_(std::make_unique<books>(kernel_monitor, by)) {}

scopes::~scopes() = default;

std::uint32_t scopes::admit(std::uint32_t user, const cpu_set &allowed) {
    if (books_->by == scoping::machine)
        return HF_GROUP_OF_ALL;
    if (books_->looked_at_ns == 0 || hf_monotonic_ns() > books_->looked_at_ns + looks_apart_ns)
        reconsider();
    return books_->admit(user, allowed);
}

void scopes::reconsider() {
    if (books_->by != scoping::machine)
        books_->reconsider();
}

void scopes::tell(hf_scope_status (&told)[HF_HINT_SCOPES], const census &now) const {
    std::array<cpu_set, HF_HINT_SCOPES> cpus;
    for (std::size_t number = 0; number < books_->groups.size(); number++) {
        const hf_group_found &found = now.groups[number];
        std::uint32_t scope = books_->groups[number].reads;
        told[scope].registered_processes += found.processes;
        cpus[scope] |= books_->online_of(found);
    }
    for (std::size_t scope = 0; scope < HF_HINT_SCOPES; scope++) {
        const hf_hint_scope &counted = books_->kernel_monitor.page().scope[scope];
        to_words(cpus[scope], told[scope].cpus);
        told[scope].preempted_critical_sections = hf_load_relaxed(&counted.preempted_critical_sections);
        told[scope].preemptions_total = hf_load_relaxed(&counted.preemptions_total);
        told[scope].sleeps_total = hf_load_relaxed(&counted.sleeps_total);
    }
}

} // namespace holdfast
