// SPDX-License-Identifier: MIT OR Apache-2.0
// Puts together what the kernel tells of a wait in pieces: its begin, the thread that woke it, its end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/waits/lock_wait.hpp"
#include "cli/waits/stack_reader.hpp"
#include "monitor/wait_watch.hpp"

namespace holdfast::cli {

class wait_log : public wait_names {
public:
    using sink = std::function<void(const lock_wait &)>;

    // Hands on each wait that has ended. What is named is named now, while the process runs.
    void read(const wait_watch &watch, const sink &ended);
    // One piece of it; `stack` as wait_watch::reader has it.
    void take(const hf_wait_event &event, const hf_stack *stack, const sink &ended);
    // Hands on those that go on, as if they ended now.
    void tell_open(std::uint64_t now_ns, const sink &each);
    // When pieces are lost, ends may be among them.
    void forget_open() { open_.clear(); }
    // Hands on those that go on, as if they ended now, and forgets them.
    void end_all(std::uint64_t now_ns, const sink &ended);
    // Lets go of what is known of processes that have ended, chains apart.
    void forget_ended();

    // Preemptions of holders that have been found since the last call, each once.
    std::vector<holder_preemption> take_preemptions();

    const call_chain &chain(chain_number number) const override { return stacks_.chain(number); }

private:
    // Of a lock, in the order of time.
    struct release {
        std::uint64_t at_ns = 0;
        std::uint32_t thread = 0;
        chain_number released_at = no_chain;
        std::uint64_t held_since_ns = 0; // not before; 0: nothing is known
    };

    // Of a thread, whatever it held.
    struct absence {
        std::uint64_t begun_ns = 0, ended_ns = 0;
    };

    void note_release(lock_wait &wait, const release &more);
    void note_preemptions(const lock_wait &wait, std::uint32_t holder, std::uint64_t from_ns, std::uint64_t until_ns);
    void put_holders(lock_wait &wait);
    void forget_older(const hf_wait_event &than);
    void meet(const watched_process &process, std::uint32_t thread);

    using wait_key = std::pair<std::uint32_t, std::uint64_t>; // its thread and its begin
    stack_reader stacks_;
    std::map<wait_key, lock_wait> open_;
    std::map<futex_key, std::deque<release>> releases_;                                 // the last ones
    std::map<std::pair<watched_process, std::uint32_t>, std::deque<absence>> absences_; // of threads; the last ones
    std::set<holder_preemption> told_;           // of these, those that are found
    std::vector<holder_preemption> preemptions_; // that are not taken yet
};

} // namespace holdfast::cli
