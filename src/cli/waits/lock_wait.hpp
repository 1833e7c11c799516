// SPDX-License-Identifier: MIT OR Apache-2.0
// One wait in a futex, and what its numbers mean.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "cli/waits/call_chain.hpp"

namespace holdfast::cli {

// A process for good: its number may be given again, not so with its start.
struct watched_process {
    pid_t pid = 0;
    std::uint64_t started_ns = 0; // since boot, as the kernel has it
    auto operator<=>(const watched_process &) const = default;
};

// Chains that are alike are kept once, under a number.
using chain_number = std::size_t;
constexpr chain_number no_chain = 0; // which is empty

// A part of a wait: of a lock, up to the moment when a thread released it and woke somebody, from the release before
// or the begin of the wait on; of other futexes, all of it.
struct wait_for_holder {
    std::uint32_t thread = 0;
    chain_number released_at = no_chain;
    std::uint64_t ns = 0;
};

struct lock_wait {
    watched_process process;
    std::uint32_t waiter = 0;
    std::uint64_t address = 0;
    bool for_lock = false; // else for a condition, a join, a timer
    std::uint32_t weight = 1;
    std::uint64_t begun_ns = 0; // CLOCK_MONOTONIC
    std::uint64_t ended_ns = 0; // 0: it goes on
    chain_number waits_at = no_chain;
    // The thread that woke it by a call on this futex, and when. 0: none did.
    std::uint32_t releaser = 0;
    std::uint64_t released_ns = 0;
    std::vector<wait_for_holder> held_by{};

    std::uint64_t took_ns() const { return ended_ns - begun_ns; }
    // What all waits took that this one stands for.
    std::uint64_t stands_for_ns() const { return took_ns() * weight; }
};

// A thread that left the CPU unwillingly while others waited for the lock that it gave back next.
struct holder_preemption {
    watched_process process{};
    std::uint32_t thread = 0;
    std::uint64_t address = 0;
    std::uint64_t begun_ns = 0, ended_ns = 0; // CLOCK_MONOTONIC
    auto operator<=>(const holder_preemption &) const = default;
};

using futex_key = std::pair<watched_process, std::uint64_t>; // by its address

// What names the parts of waits: chains where they are kept, threads and futexes by what was noted of them.
class wait_names {
public:
    wait_names() = default;
    virtual ~wait_names() = default;

    virtual const call_chain &chain(chain_number number) const = 0;
    // What the program calls it. Printable; may be empty.
    std::string thread_name(const watched_process &process, std::uint32_t thread) const {
        return found_in(threads_, {process, thread});
    }
    // As its first thread is called, with its number: "mariadbd (1234)"; or "process 1234".
    std::string process_name(const watched_process &process) const {
        std::string name = thread_name(process, static_cast<std::uint32_t>(process.pid));
        std::string number = std::to_string(process.pid);
        return name.empty() ? "process " + number : name + " (" + number + ")";
    }
    // The symbol at the address; empty where there is none.
    std::string symbol_at(const watched_process &process, std::uint64_t address) const {
        return found_in(symbols_, {process, address});
    }

protected:
    wait_names(wait_names &&) = default;

    std::map<std::pair<watched_process, std::uint32_t>, std::string> threads_;
    std::map<futex_key, std::string> symbols_;

private:
    template <class Key>
    static std::string found_in(const std::map<Key, std::string> &names, const Key &key) {
        auto found = names.find(key);
        return found == names.end() ? "" : found->second;
    }
};

} // namespace holdfast::cli
