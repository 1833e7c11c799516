// SPDX-License-Identifier: MIT OR Apache-2.0
// Waits added up: for which lock, where, and for which threads that held it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/waits/lock_wait.hpp"
#include "cli/waits/wait_kind.hpp"

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
    std::vector<std::uint64_t> addresses{}; // of its words, in ascending order
    wait_kind kind{};
    std::string name{};     // a symbol, a kind that is known, or the address and where it is waited for
    std::string function{}; // of the library that it was waited in: "pthread_mutex_lock"; may be empty
    std::uint64_t waits = 0;
    std::uint64_t waited_ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t seen = 0;            // of the waits, those that these figures rest on
    std::vector<wait_place> waiters{}; // by place; the most time first
    std::vector<wait_place> holders{}; // by thread and place: those whose release ended waits

    // Did those that woke its waiters hold it? Else they woke them, and that is all that is known.
    bool is_held() const { return kind.is == wait_class::lock && !kind.parks; }
};

// What each wait of a process was for: by its futex and where the waiter was, since threads of some machines sleep at
// one word of their own for whatever they wait.
class waited_things {
public:
    struct thing {
        std::string name{};
        bool is_held = false;
        bool is_lock = false;
    };

    const thing &of(const lock_wait &wait) const { return known_.at({{wait.process, wait.address}, wait.waits_at}); }
    // What the word is to one of those that waited for it. Empty: none did.
    std::string name_of(const futex_key &word) const {
        auto first = known_.lower_bound({word, no_chain});
        return first != known_.end() && first->first.first == word ? first->second.name : "";
    }

private:
    friend class wait_profile;
    std::map<std::pair<futex_key, chain_number>, thing> known_;
};

class wait_profile {
public:
    void add(const lock_wait &wait);
    bool is_empty() const { return words_.empty(); }

    // Of one process, the most time first.
    std::vector<lock_profile> of(const watched_process &process, const wait_names &names) const;
    std::vector<watched_process> processes() const;
    waited_things things(const wait_names &names) const;

    void forget(const watched_process &process);

private:
    struct sum {
        std::uint64_t waits = 0;
        std::uint64_t waited_ns = 0;
        std::uint64_t seen = 0;
        void add(std::uint64_t weight, std::uint64_t ns);
    };
    // Of one word, from one place.
    struct sums_there {
        bool for_lock = false;
        sum all;
        std::uint64_t longest_ns = 0;
        std::map<std::pair<std::uint32_t, chain_number>, sum> holders;
    };
    using sums_of_word = std::map<chain_number, sums_there>;
    struct group;

    std::vector<group> groups_of(const watched_process &process, const wait_names &names) const;
    std::map<futex_key, sums_of_word> words_;
};

} // namespace holdfast::cli
