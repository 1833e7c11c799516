// SPDX-License-Identifier: MIT OR Apache-2.0
// One instruction of x86-64: how long it is, where it goes on, and what it computes from what. Those that loops which
// only wait are made of; any other (calls, string and vector instructions, ...) is UNKNOWN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace holdfast {

// Bit n for general register n (4: rsp, 5: rbp).
using register_set = std::uint32_t;
constexpr register_set flags_register = 1U << 16;

// A place on the stack, by rsp or rbp and no index.
struct stack_slot {
    std::uint8_t base;
    std::int32_t distance;
    bool operator==(const stack_slot &) const = default;
};

struct x86_instruction {
    enum class flow { unknown, next, branch, jump };
    // Exchange: atomic, writes a value that does not depend on what is there, if any (xchg, cmpxchg, bts). Change:
    // atomic or of a slot on the stack, of what is there (add, xadd).
    enum class access { none, load, store, exchange, change };

    flow then = flow::unknown;
    unsigned length = 0;
    std::int64_t distance = 0; // of the target from the end of a branch or jump
    bool pauses = false;

    access memory = access::none;
    register_set address = 0;        // the registers that memory is found by
    std::optional<stack_slot> place; // of memory that is a slot
    register_set stored = 0;         // the registers whose value goes to memory; none: a constant

    // Every register of `outputs` depends on all of `inputs` and on what was loaded.
    register_set inputs = 0, outputs = 0;
};

// The one at `at`. What reaches beyond the end of `code` is unknown.
x86_instruction decode_x86(std::span<const std::uint8_t> code, std::size_t at);

} // namespace holdfast
