// SPDX-License-Identifier: MIT OR Apache-2.0
// Waits added up: for which lock, where, and for which threads that held it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/waits/lock_wait.hpp"

namespace holdfast::cli {

// A share of the time that was waited for one lock.
struct wait_place {
    call_chain where{};       // one of those that end in the same function and line: the commonest
    std::uint32_t thread = 0; // of holders; 0: of all threads together
    std::string thread_name{};
    std::uint64_t waits = 0;
    std::uint64_t waited_ns = 0;
    std::uint64_t seen = 0; // of the waits, those that the share rests on
    double share = 0;
};

struct lock_profile {
    std::uint64_t address = 0;
    bool for_lock = false;
    bool is_of_language = false; // Python's GIL, whose sleeps do not look like a lock's
    std::string name{};          // a symbol, a kind that is known, or the address and where it is waited for
    std::string function{};      // of the library that it was waited in: "pthread_mutex_lock"; may be empty
    std::uint64_t waits = 0;
    std::uint64_t waited_ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t seen = 0;            // of the waits, those that these figures rest on
    std::vector<wait_place> waiters{}; // by place; the most time first
    std::vector<wait_place> holders{}; // by thread and place: those whose release ended waits
};

class wait_profile {
public:
    void add(const lock_wait &wait);
    bool is_empty() const { return locks_.empty(); }

    // Of one process, the most time first.
    std::vector<lock_profile> of(const watched_process &process, const wait_names &names) const;
    std::vector<watched_process> processes() const;
    // Of all processes: what lock_profile::name is.
    std::map<futex_key, std::string> lock_names(const wait_names &names) const;

    void forget(const watched_process &process);

private:
    struct sum {
        std::uint64_t waits = 0;
        std::uint64_t waited_ns = 0;
        std::uint64_t seen = 0;
        void add(std::uint64_t weight, std::uint64_t ns);
    };
    struct lock_sums {
        bool for_lock = false;
        sum all;
        std::uint64_t longest_ns = 0;
        std::map<chain_number, sum> waiters;
        std::map<std::pair<std::uint32_t, chain_number>, sum> holders;
    };

    static lock_profile profile_of(const futex_key &key, const lock_sums &sums, const wait_names &names);
    std::map<futex_key, lock_sums> locks_;
};

} // namespace holdfast::cli
