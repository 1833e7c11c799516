// SPDX-License-Identifier: MIT OR Apache-2.0
// A way round is gone once, and for each register it is noted what its value depends on: registers as they were
// before, memory. The way waits if
//
//   - it stores nowhere but to the stack, and calls nothing, not even the kernel,
//   - what it exchanges with memory does not come from memory, so it is the same each time,
//   - it loads something, and no register's value depends on its own value of the round before, by whatever registers
//     between: there is no counter, no sum, no pointer that moves on.
//
// Nothing of what it has computed is left after a few rounds then: each does what the one before did, until another
// thread changes what is loaded. A way with a PAUSE waits if it keeps to the first rule: its author says so, and what
// it counts is polls or a delay.
//
// Not found: loops that call functions, store signs of life, or count without PAUSE; and long ones.
#include "monitor/wait_loop.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "monitor/x86_instruction.hpp"

namespace holdfast {
namespace {

constexpr std::size_t instructions_max = 40;
constexpr unsigned steps_max = 4000; // of the search: there are as many ways as branches make

using access = x86_instruction::access;
using flow = x86_instruction::flow;

// What a value depends on: bits 0 to 16 are the registers and flags before the round, then the slots of the stack that
// it uses, then what it has loaded.
using origins = std::uint32_t;
constexpr unsigned first_slot = 17, slots_max = 14;
constexpr origins loaded_value = 1U << 31;

class round_trip {
public:
    round_trip() {
        for (unsigned i = 0; i < depends_.size(); i++)
            depends_.at(i) = 1U << i;
    }

    // False: it can't be one that waits.
    bool passes(const x86_instruction &step) {
        pauses_ = pauses_ || step.pauses;
        if (step.memory == access::store && !step.place)
            return false;
        origins inputs = of(step.inputs) | of(step.address) | read_memory(step);
        if (step.place && (step.memory == access::store || step.memory == access::change) &&
            !store(*step.place, of(step.stored) | (step.memory == access::change ? inputs : 0)))
            return false;
        for (unsigned i = 0; i < first_slot; i++) {
            if (step.outputs >> i & 1)
                write(i, inputs);
        }
        return true;
    }

    bool waits() const {
        return pauses_ || (loads_ && !changes_ && settled() == written_ && !(in_the_end(exchanged_) & loaded_value));
    }

private:
    origins read_memory(const x86_instruction &step) {
        switch (step.memory) {
        case access::none:
        case access::store: return 0;
        case access::load: break;
        case access::exchange: exchanged_ |= of(step.stored); break;
        case access::change: changes_ = changes_ || !step.place; break;
        }
        if (step.place && step.memory != access::exchange)
            return load(*step.place);
        loads_ = true;
        return loaded_value;
    }

    origins of(register_set registers) const {
        origins all = 0;
        for (unsigned i = 0; i < first_slot; i++) {
            if (registers >> i & 1)
                all |= depends_.at(i);
        }
        return all;
    }
    void write(unsigned what, origins value) {
        depends_.at(what) = value;
        written_ |= 1U << what;
    }

    unsigned number_of(const stack_slot &slot) {
        auto found = std::find(slots_.begin(), slots_.end(), slot);
        if (found == slots_.end())
            found = slots_.insert(slots_.end(), slot);
        return first_slot + static_cast<unsigned>(found - slots_.begin());
    }
    // Another thread may have a pointer to the slot: a waiter's node is there.
    origins load(const stack_slot &slot) {
        loads_ = true;
        unsigned number = number_of(slot);
        return loaded_value | (number < first_slot + slots_max ? depends_.at(number) : 0);
    }
    bool store(const stack_slot &slot, origins value) {
        unsigned number = number_of(slot);
        if (number >= first_slot + slots_max || written_ >> slot.base & 1)
            return false;
        write(number, value);
        return true;
    }

    // What a value depends on that has gone through rounds before: of a way whose registers settle.
    origins in_the_end(origins value) const {
        origins before = 0;
        do {
            before = value;
            for (unsigned i = 0; i < first_slot + slots_max; i++) {
                if (value & written_ & 1U << i)
                    value |= depends_.at(i);
            }
        } while (value != before);
        return value;
    }

    // Of what it writes: all whose value is that of memory and of what it does not write, after some rounds.
    origins settled() const {
        origins settled = 0, before = 0;
        do {
            before = settled;
            for (unsigned i = 0; i < first_slot + slots_max; i++) {
                if (written_ >> i & 1 && !(depends_.at(i) & written_ & ~before))
                    settled |= 1U << i;
            }
        } while (settled != before);
        return settled;
    }

    std::array<origins, first_slot + slots_max> depends_{};
    origins written_ = 0, exchanged_ = 0;
    std::vector<stack_slot> slots_;
    bool pauses_ = false, loads_ = false, changes_ = false;
};

class search {
public:
    search(std::span<const std::uint8_t> code, std::size_t from) : code_(code), from_(from) {}

    std::vector<std::size_t> ways_that_wait() {
        follow(from_, round_trip());
        return {found_.begin(), found_.end()};
    }

private:
    void follow(std::size_t at, round_trip state) {
        if (at == from_ && !way_.empty()) {
            if (state.waits())
                found_.insert(way_.begin(), way_.end());
            return;
        }
        if (at >= code_.size() || way_.size() == instructions_max || ++steps_ > steps_max ||
            std::find(way_.begin(), way_.end(), at) != way_.end())
            return;
        const x86_instruction &step = instruction_at(at);
        if (step.then == flow::unknown || !state.passes(step))
            return;
        way_.push_back(at);
        std::size_t next = at + step.length;
        if (step.then != flow::jump)
            follow(next, state);
        if (step.then != flow::next)
            follow(next + static_cast<std::size_t>(step.distance), state); // before the code is far behind it, too
        way_.pop_back();
    }

    const x86_instruction &instruction_at(std::size_t at) {
        auto [place, is_new] = known_.try_emplace(at);
        if (is_new)
            place->second = decode_x86(code_, at);
        return place->second;
    }

    std::span<const std::uint8_t> code_;
    std::size_t from_;
    unsigned steps_ = 0;
    std::vector<std::size_t> way_;
    std::map<std::size_t, x86_instruction> known_;
    std::set<std::size_t> found_;
};

} // namespace

std::vector<std::size_t> find_wait_loop(std::span<const std::uint8_t> code, std::size_t at) {
    return search(code, at).ways_that_wait();
}

std::optional<std::string> why_no_wait_loops() {
    return std::nullopt;
}

} // namespace holdfast
