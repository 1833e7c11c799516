// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/wait_profile.hpp"

#include <algorithm>
#include <fmt/core.h>
#include <tuple>

namespace holdfast::cli {
namespace {

bool waited_longer(const auto &one, const auto &other) {
    return one.waited_ns > other.waited_ns;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Chains that differ further out are one place; the commonest stands for it.
class places {
public:
    void add(const call_chain &chain, std::uint32_t thread, const auto &sum) {
        const call_frame *frame = place_in_program(chain);
        key of{thread, frame ? frame->function : "", frame ? frame->file : "", frame ? frame->line : 0};
        auto &[place, most_ns] = found_[of];
        place.thread = thread;
        place.waits += sum.waits;
        place.waited_ns += sum.waited_ns;
        place.seen += sum.seen;
        if (sum.waited_ns >= most_ns) {
            most_ns = sum.waited_ns;
            place.where = chain;
        }
    }

    std::vector<wait_place> by_time(std::uint64_t all_ns) const {
        std::vector<wait_place> sorted;
        for (const auto &[where, known] : found_) {
            sorted.push_back(known.first);
            sorted.back().share = share_of(known.first.waited_ns, all_ns);
        }
        std::ranges::stable_sort(sorted, waited_longer<wait_place, wait_place>);
        return sorted;
    }

private:
    using key = std::tuple<std::uint32_t, std::string, std::string, unsigned>;
    std::map<key, std::pair<wait_place, std::uint64_t>> found_;
};

const call_chain &commonest(const std::vector<wait_place> &places) {
    static const call_chain nowhere;
    return places.empty() ? nowhere : places.front().where;
}

std::string name_of(std::uint64_t address, const wait_kind &kind, const std::string &symbol, const call_chain &waiter) {
    if (!kind.name.empty())
        return kind.name;
    if (kind.label == "malloc")
        return fmt::format("{:#x} an arena of malloc's", address);
    if (!symbol.empty())
        return object_of(kind, symbol);
    const call_frame *place = place_in_program(waiter);
    return place ? fmt::format("{:#x} waited for in {}", address, place->function) : fmt::format("{:#x}", address);
}

} // namespace

void wait_profile::sum::add(std::uint64_t weight, std::uint64_t ns) {
    waits += weight;
    waited_ns += ns * weight;
    seen++;
}

void wait_profile::add(const lock_wait &wait) {
    sums_there &here = words_[{wait.process, wait.address}][wait.waits_at];
    here.for_lock = wait.for_lock && (here.for_lock || here.all.seen == 0);
    here.all.add(wait.weight, wait.took_ns());
    here.longest_ns = std::max(here.longest_ns, wait.took_ns());
    for (const wait_for_holder &each : wait.held_by)
        here.holders[{each.thread, each.released_at}].add(wait.weight, each.ns);
}

// What is one thing to those that wait for it.
struct wait_profile::group {
    wait_kind kind;
    std::vector<std::pair<futex_key, chain_number>> members; // in ascending order
    std::vector<const sums_there *> sums;                    // theirs

    lock_profile profile(const wait_names &names) const {
        lock_profile found{.kind = kind};
        places waiters, holders;
        std::uint64_t released_ns = 0;
        for (std::size_t i = 0; i < members.size(); i++) {
            const auto &[key, chain] = members[i];
            const sums_there &each = *sums[i];
            if (found.addresses.empty() || found.addresses.back() != key.second)
                found.addresses.push_back(key.second);
            found.waits += each.all.waits;
            found.waited_ns += each.all.waited_ns;
            found.seen += each.all.seen;
            found.longest_ns = std::max(found.longest_ns, each.longest_ns);
            waiters.add(names.chain(chain), 0, each.all);
            for (const auto &[who, of] : each.holders) {
                holders.add(names.chain(who.second), who.first, of);
                released_ns += of.waited_ns;
            }
        }
        const auto &[process, address] = members.front().first;
        found.waiters = waiters.by_time(found.waited_ns);
        found.holders = holders.by_time(released_ns);
        for (wait_place &each : found.holders)
            each.thread_name = names.thread_name(process, each.thread);
        found.name = name_of(address, kind, names.symbol_at(process, address), commonest(found.waiters));
        if (!found.waiters.empty())
            found.function = lock_function_in(found.waiters.front().where);
        return found;
    }
};

std::vector<wait_profile::group> wait_profile::groups_of(const watched_process &process,
                                                         const wait_names &names) const {
    std::map<std::tuple<wait_class, std::string, std::uint64_t>, group> found;
    for (auto word = words_.lower_bound({process, 0}); word != words_.end() && word->first.first == process; ++word) {
        std::string symbol = names.symbol_at(process, word->first.second);
        // A count that is 2 in passing is no lock.
        bool looks_like_lock = std::ranges::all_of(word->second, [](const auto &each) { return each.second.for_lock; });
        for (const auto &[chain, sums] : word->second) {
            wait_kind kind = kind_of(names.chain(chain), symbol, looks_like_lock);
            std::uint64_t object = kind.name.empty() ? object_of(kind, word->first.second) : 0;
            // A word that nothing is known of but its name is one thing, wherever it is waited for.
            group &of = found.try_emplace({kind.is, kind.name, object}, group{.kind = kind, .members = {}, .sums = {}})
                            .first->second;
            of.members.emplace_back(word->first, chain);
            of.sums.push_back(&sums);
        }
    }
    std::vector<group> groups;
    for (auto &[key, each] : found)
        groups.push_back(std::move(each));
    return groups;
}

std::vector<lock_profile> wait_profile::of(const watched_process &process, const wait_names &names) const {
    std::vector<lock_profile> found;
    for (const group &each : groups_of(process, names))
        found.push_back(each.profile(names));
    std::ranges::stable_sort(found, waited_longer<lock_profile, lock_profile>);
    return found;
}

std::vector<watched_process> wait_profile::processes() const {
    std::vector<watched_process> found;
    for (const auto &[key, sums] : words_) {
        if (found.empty() || found.back() != key.first)
            found.push_back(key.first);
    }
    return found;
}

waited_things wait_profile::things(const wait_names &names) const {
    waited_things found;
    for (const watched_process &process : processes()) {
        for (const group &each : groups_of(process, names)) {
            lock_profile profile = each.profile(names);
            for (const auto &member : each.members)
                found.known_.emplace(member, waited_things::thing{.name = profile.name,
                                                                  .is_held = profile.is_held(),
                                                                  .is_lock = each.kind.is == wait_class::lock});
        }
    }
    return found;
}

void wait_profile::forget(const watched_process &process) {
    std::erase_if(words_, [&](const auto &each) { return each.first.first == process; });
}

} // namespace holdfast::cli
