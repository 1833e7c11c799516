// SPDX-License-Identifier: MIT OR Apache-2.0
// Walks over copies of stacks that were made once need not be made again: a server's threads wait in a few places, some
// hundred times a second, and to unwind by tables takes ten times as long as to see that it would be the same.
//
// What a walk finds depends on the registers and on the words of the stack that it reads, on nothing else: on a return
// address by its value; on where the stack goes on by the distance, so that threads of one program find each other's
// walks; and on what a function has saved of its caller's data not at all, as long as that is neither.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "monitor/bpf/wait_events.h"

namespace holdfast::cli {

class stack_walks {
public:
    using addresses = std::vector<std::uint64_t>;

    explicit stack_walks(std::function<bool(std::uint64_t address)> is_code) : is_code_(std::move(is_code)) {}

    // What a walk over this copy would find; nothing when none like it was kept.
    const addresses *known(const hf_stack &stack) const;
    // `read`: where words were asked for, those included that the copy does not have.
    void keep(const hf_stack &stack, addresses read, const addresses &found);

    std::size_t count() const { return count_; }

private:
    enum class meaning : std::uint8_t { data, code, stack };
    struct word {
        std::uint64_t place = 0; // a register's number, or a distance on the stack
        meaning is = meaning::data;
        std::uint64_t value = 0; // of code, or a distance on the stack
    };
    struct walk {
        std::uint64_t registers_known = 0;
        std::uint32_t bytes_at_least = 0, bytes_at_most = UINT32_MAX; // of the copy
        std::vector<word> registers, words;
        addresses found;
    };

    word meant_by(std::uint64_t place, std::uint64_t value, std::uint64_t from) const;
    bool is_same(const word &before, std::uint64_t value, std::uint64_t from) const;
    bool would_be(const walk &before, const hf_stack &stack) const;

    static constexpr std::size_t kept_max = 512; // some 512 KB
    std::function<bool(std::uint64_t)> is_code_;
    std::map<std::uint64_t, std::vector<walk>> walks_; // by the instruction that they begin at
    std::size_t count_ = 0;
};

} // namespace holdfast::cli
