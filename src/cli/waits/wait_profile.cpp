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

bool some_frame(const call_chain &chain, std::string_view beginning) {
    return std::ranges::any_of(chain, [&](const auto &each) { return each.function.starts_with(beginning); });
}

// CPython's, whose words all lie in one object: a condition variable's and a mutex's. Since it is handed on by signals,
// its sleeps do not look like a lock's.
bool is_gil(const std::string &symbol) {
    return symbol.starts_with("_PyRuntime");
}

// What sleeps of programs with a machine of their own are for, as far as their symbols tell.
std::string kind_in_words(const call_chain &chain) {
    if (some_frame(chain, "ObjectMonitor::"))
        return "a monitor of Java's";
    if (some_frame(chain, "Unsafe_Park"))
        return "a lock of java.util.concurrent";
    if (some_frame(chain, "libjvm.so+"))
        return "Java's machine: a monitor, a lock, or a thread of its own";
    if (some_frame(chain, "runtime.futex"))
        return "Go's scheduler: goroutines that wait for locks are not seen by the kernel";
    return "";
}

const call_chain &commonest(const std::vector<wait_place> &places) {
    static const call_chain nowhere;
    return places.empty() ? nowhere : places.front().where;
}

std::string name_of(std::uint64_t address, const std::string &symbol, const call_chain &waiter) {
    if (is_gil(symbol))
        return "Python's GIL";
    if (!symbol.empty())
        return symbol;
    if (std::string kind = kind_in_words(waiter); !kind.empty())
        return fmt::format("{:#x} {}", address, kind);
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
    lock_sums &lock = locks_[{wait.process, wait.address}];
    lock.for_lock |= wait.for_lock;
    lock.all.add(wait.weight, wait.took_ns());
    lock.longest_ns = std::max(lock.longest_ns, wait.took_ns());
    lock.waiters[wait.waits_at].add(wait.weight, wait.took_ns());
    for (const wait_for_holder &each : wait.held_by)
        lock.holders[{each.thread, each.released_at}].add(wait.weight, each.ns);
}

lock_profile wait_profile::profile_of(const futex_key &key, const lock_sums &sums, const wait_names &names) {
    const auto &[process, address] = key;
    places waiters, holders;
    std::uint64_t released_ns = 0;
    for (const auto &[chain, of] : sums.waiters)
        waiters.add(names.chain(chain), 0, of);
    for (const auto &[who, of] : sums.holders) {
        holders.add(names.chain(who.second), who.first, of);
        released_ns += of.waited_ns;
    }
    lock_profile found{.address = address,
                       .for_lock = sums.for_lock,
                       .name = "",
                       .function = "",
                       .waits = sums.all.waits,
                       .waited_ns = sums.all.waited_ns,
                       .longest_ns = sums.longest_ns,
                       .seen = sums.all.seen,
                       .waiters = waiters.by_time(sums.all.waited_ns),
                       .holders = holders.by_time(released_ns)};
    for (wait_place &each : found.holders)
        each.thread_name = names.thread_name(process, each.thread);
    std::string symbol = names.symbol_at(process, address);
    found.name = name_of(address, symbol, commonest(found.waiters));
    found.is_of_language = is_gil(symbol);
    found.for_lock |= found.is_of_language;
    if (!found.waiters.empty())
        found.function = lock_function_in(found.waiters.front().where);
    return found;
}

std::vector<lock_profile> wait_profile::of(const watched_process &process, const wait_names &names) const {
    std::vector<lock_profile> found;
    for (auto each = locks_.lower_bound({process, 0}); each != locks_.end() && each->first.first == process; ++each)
        found.push_back(profile_of(each->first, each->second, names));
    std::ranges::stable_sort(found, waited_longer<lock_profile, lock_profile>);
    return found;
}

std::vector<watched_process> wait_profile::processes() const {
    std::vector<watched_process> found;
    for (const auto &[key, sums] : locks_) {
        if (found.empty() || found.back() != key.first)
            found.push_back(key.first);
    }
    return found;
}

std::map<futex_key, std::string> wait_profile::lock_names(const wait_names &names) const {
    std::map<futex_key, std::string> found;
    for (const auto &[key, sums] : locks_)
        found.emplace(key, profile_of(key, sums, names).name);
    return found;
}

void wait_profile::forget(const watched_process &process) {
    std::erase_if(locks_, [&](const auto &each) { return each.first.first == process; });
}

} // namespace holdfast::cli
