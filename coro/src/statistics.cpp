// SPDX-License-Identifier: MIT OR Apache-2.0
// The counters: a table of fixed size from address and kind to counters, which are never taken out.
//
//      key: 0 (free) --CAS--> address | kind, until reset()
//
// Counters are relaxed: each is exact by itself, and read() does not promise a moment at which all of them were so.
#include "holdfast/coro/statistics.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>

namespace holdfast::coro {
namespace {

struct counters {
    std::atomic<std::uintptr_t> key = 0;
    std::array<std::atomic<std::uint64_t>, passages> chosen{};
    std::atomic<std::uint64_t> given_up = 0;
    std::array<std::atomic<std::uint64_t>, delay_histogram::buckets> delays{};
};

static_assert(primitive_kinds <= 8, "a kind must fit into the low bits of an address");

constexpr std::size_t slots = 2 * statistics::primitives_max; // a power of two, half of it used

class table {
public:
    counters &of(primitive_kind kind, const void *primitive) noexcept {
        auto address = reinterpret_cast<std::uintptr_t>(primitive);
        std::uintptr_t key = (address & ~std::uintptr_t{7}) | static_cast<std::uintptr_t>(kind);
        for (std::size_t place = hash(key);; place = (place + 1) % slots) {
            counters &here = slots_[place];
            std::uintptr_t seen = here.key.load(std::memory_order_relaxed);
            if (seen == 0) {
                // Room is reserved first, so that never more than half of the slots are used and the search ends.
                if (used_.fetch_add(1, std::memory_order_relaxed) >= statistics::primitives_max) {
                    used_.fetch_sub(1, std::memory_order_relaxed);
                    return others_[static_cast<std::size_t>(kind)];
                }
                if (here.key.compare_exchange_strong(seen, key, std::memory_order_relaxed))
                    return here;
                used_.fetch_sub(1, std::memory_order_relaxed);
            }
            if (seen == key)
                return here;
        }
    }

    void clear() noexcept {
        each([](primitive_kind, const void *, counters &one) {
            for (auto &value : one.chosen)
                value.store(0, std::memory_order_relaxed);
            one.given_up.store(0, std::memory_order_relaxed);
            for (auto &value : one.delays)
                value.store(0, std::memory_order_relaxed);
            one.key.store(0, std::memory_order_relaxed);
        });
        used_.store(0, std::memory_order_relaxed);
    }

    // Calls visit(kind, address, counters) for all that are used.
    template <class Visit>
    void each(Visit visit) {
        for (counters &one : slots_)
            if (std::uintptr_t key = one.key.load(std::memory_order_relaxed))
                visit(static_cast<primitive_kind>(key & 7), reinterpret_cast<const void *>(key & ~std::uintptr_t{7}),
                      one);
        for (std::size_t kind = 0; kind < others_.size(); kind++)
            visit(static_cast<primitive_kind>(kind), nullptr, others_[kind]);
    }

private:
    static std::size_t hash(std::uintptr_t key) noexcept {
        return static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> 40) % slots; // Fibonacci hashing
    }

    std::array<counters, slots> slots_{};
    std::array<counters, primitive_kinds> others_{};
    std::atomic<std::size_t> used_ = 0;
};

// Both live until the process ends, whatever else does: a pool that is a static object may still count.
constinit std::atomic<table *> all = nullptr;

struct naming {
    std::mutex lock;
    std::map<const void *, std::string> names;
};
naming &named() {
    static naming *one = new naming;
    return *one;
}

primitive_counts read_one(primitive_kind kind, const void *address, const counters &from) {
    primitive_counts to;
    to.kind = kind;
    to.address = address;
    for (std::size_t i = 0; i < passages; i++)
        to.chosen[i] = from.chosen[i].load(std::memory_order_relaxed);
    to.given_up = from.given_up.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < delay_histogram::buckets; i++)
        to.delays.counts[i] = from.delays[i].load(std::memory_order_relaxed);
    to.name = statistics::name_of_address(address);
    return to;
}

} // namespace

namespace detail {

void count_wait(primitive_kind kind, const void *primitive, passage how, std::uint64_t delay_ns) noexcept {
    table *table = all.load(std::memory_order_acquire); // pairs with statistics::count()
    if (!table)
        return;
    counters &to = table->of(kind, primitive);
    to.chosen[static_cast<std::size_t>(how)].fetch_add(1, std::memory_order_relaxed);
    to.delays[delay_histogram::bucket_of(delay_ns)].fetch_add(1, std::memory_order_relaxed);
}

void note_wait(primitive_kind kind, const void *primitive, passage how, std::uint64_t chosen_ns) noexcept {
    std::uint64_t now_ns = observation_clock_ns();
    if (noting(counting))
        count_wait(kind, primitive, how, now_ns > chosen_ns ? now_ns - chosen_ns : 0);
}

void note_given_up(primitive_kind kind, const void *primitive) noexcept {
    if (table *table = all.load(std::memory_order_acquire); table && noting(counting))
        table->of(kind, primitive).given_up.fetch_add(1, std::memory_order_relaxed);
}

} // namespace detail

std::string_view name_of(primitive_kind kind) noexcept {
    constexpr std::array<std::string_view, primitive_kinds + 1> names = {
        "mutex", "shared_mutex", "semaphore", "condition_variable", "channel", "event", "barrier", "scope", "sleep"};
    return names[static_cast<std::size_t>(kind)];
}

std::size_t delay_histogram::bucket_of(std::uint64_t delay_ns) noexcept {
    return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(delay_ns)), buckets - 1);
}

std::uint64_t delay_histogram::total() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t one : counts)
        sum += one;
    return sum;
}

std::uint64_t delay_histogram::percentile_ns(double percent) const noexcept {
    std::uint64_t wanted = static_cast<std::uint64_t>(static_cast<double>(total()) * percent / 100), below = 0;
    for (std::size_t i = 0; i < buckets; i++) {
        below += counts[i];
        if (below > 0 && below >= wanted)
            return std::uint64_t{1} << i;
    }
    return 0;
}

std::uint64_t primitive_counts::hand_overs() const noexcept {
    std::uint64_t sum = 0;
    for (std::uint64_t one : chosen)
        sum += one;
    return sum;
}

namespace statistics {

void count(bool on) {
    if (on && !all.load(std::memory_order_acquire)) {
        auto made = std::make_unique<table>();
        class table *expected = nullptr;
        // Release: a task that counts sees an empty table.
        if (all.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel))
            static_cast<void>(made.release()); // for as long as the process lives
    }
    detail::set_noting(detail::counting, on);
}

bool counting() noexcept {
    return detail::noting(detail::counting);
}

std::vector<primitive_counts> read() {
    std::vector<primitive_counts> found;
    if (table *from = all.load(std::memory_order_acquire))
        from->each([&](primitive_kind kind, const void *address, const counters &one) {
            primitive_counts counts = read_one(kind, address, one);
            if (counts.hand_overs() > 0 || counts.given_up > 0)
                found.push_back(std::move(counts));
        });
    std::stable_sort(found.begin(), found.end(),
                     [](const auto &a, const auto &b) { return a.hand_overs() > b.hand_overs(); });
    return found;
}

void reset() noexcept {
    if (table *of = all.load(std::memory_order_acquire))
        of->clear();
}

std::string name_of_address(const void *address) {
    naming &names = named();
    std::lock_guard held(names.lock);
    auto found = names.names.find(address);
    return found == names.names.end() ? std::string() : found->second;
}

void name_address(const void *address, std::string as) {
    naming &names = named();
    std::lock_guard held(names.lock);
    names.names[address] = std::move(as);
}

void print(std::FILE *to) {
    std::vector<primitive_counts> found = read();
    if (found.empty())
        return;
    std::fprintf(to, "%-34s %10s %10s %10s %10s %10s %10s %10s %9s %9s\n", "holdfast: coroutines that waited",
                 "given up", "at once", "queued", "chain end", "destructor", "combined", "notified", "p50 us",
                 "p99 us");
    for (const primitive_counts &one : found) {
        std::string kind(name_of(one.kind));
        std::array<char, 32> address{};
        std::snprintf(address.data(), address.size(), "%p", one.address);
        std::string title = kind + " " + (!one.name.empty() ? one.name : one.address ? address.data() : "(others)");
        auto count = [&](passage how) { return static_cast<unsigned long long>(one.by(how)); };
        auto us = [&](double percent) { return static_cast<double>(one.delays.percentile_ns(percent)) / 1000; };
        std::fprintf(to, "%-34s %10llu %10llu %10llu %10llu %10llu %10llu %10llu %9.3f %9.3f\n", title.c_str(),
                     static_cast<unsigned long long>(one.given_up), count(passage::at_once), count(passage::queued),
                     count(passage::chain_end), count(passage::destructor), count(passage::combined),
                     count(passage::notified), us(50), us(99));
    }
}

} // namespace statistics
} // namespace holdfast::coro
