// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/stack_walks.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace holdfast::cli {
namespace {

constexpr std::uint64_t near_bytes = 65536; // what a frame may add to an address of the stack

std::optional<std::uint64_t> word_at(const hf_stack &stack, std::uint64_t distance) {
    std::uint64_t bytes = std::min<std::uint64_t>(stack.bytes, sizeof(stack.content)), value = 0;
    if (distance > bytes || bytes - distance < sizeof(value))
        return std::nullopt;
    std::memcpy(&value, stack.content + distance, sizeof(value));
    return value;
}

bool is_near(std::uint64_t value, std::uint64_t from) {
    return value - from + near_bytes < sizeof(hf_stack::content) + 2 * near_bytes;
}

} // namespace

stack_walks::word stack_walks::meant_by(std::uint64_t place, std::uint64_t value, std::uint64_t from) const {
    if (is_near(value, from))
        return {.place = place, .is = meaning::stack, .value = value - from};
    if (is_code_(value))
        return {.place = place, .is = meaning::code, .value = value};
    return {.place = place, .is = meaning::data};
}

bool stack_walks::is_same(const word &before, std::uint64_t value, std::uint64_t from) const {
    switch (before.is) {
    case meaning::stack: return value - from == before.value;
    case meaning::code: return value == before.value;
    case meaning::data: return !is_near(value, from) && !is_code_(value);
    }
    return false;
}

bool stack_walks::would_be(const walk &before, const hf_stack &stack) const {
    if (stack.known != before.registers_known || stack.bytes < before.bytes_at_least ||
        stack.bytes > before.bytes_at_most)
        return false;
    auto is_same_word = [&](const word &each) {
        std::optional<std::uint64_t> value = word_at(stack, each.place);
        return value && is_same(each, *value, stack.from);
    };
    auto is_same_register = [&](const word &each) { return is_same(each, stack.registers[each.place], stack.from); };
    return std::ranges::all_of(before.words, is_same_word) && std::ranges::all_of(before.registers, is_same_register);
}

const stack_walks::addresses *stack_walks::known(const hf_stack &stack) const {
    auto from_there = walks_.find(stack.instruction);
    if (from_there == walks_.end())
        return nullptr;
    auto found = std::ranges::find_if(from_there->second, [&](const walk &before) { return would_be(before, stack); });
    return found == from_there->second.end() ? nullptr : &found->found;
}

void stack_walks::keep(const hf_stack &stack, addresses read, const addresses &found) {
    if (count_ >= kept_max) { // programs that wait in so many places are few
        walks_.clear();
        count_ = 0;
    }
    walk made{.registers_known = stack.known, .registers = {}, .words = {}, .found = found};
    for (std::uint64_t i = 0; i < HF_STACK_REGISTERS; i++) {
        if (stack.known >> i & 1)
            made.registers.push_back(meant_by(i, stack.registers[i], stack.from));
    }
    std::ranges::sort(read);
    auto repeated = std::ranges::unique(read);
    read.erase(repeated.begin(), repeated.end());
    for (std::uint64_t address : read) {
        std::optional<std::uint64_t> value = word_at(stack, address - stack.from);
        if (value) {
            made.words.push_back(meant_by(address - stack.from, *value, stack.from));
        } else {
            made.bytes_at_most = stack.bytes; // a longer copy may have it
        }
    }
    if (!made.words.empty())
        made.bytes_at_least = static_cast<std::uint32_t>(made.words.back().place + sizeof(std::uint64_t));
    walks_[stack.instruction].push_back(std::move(made));
    count_++;
}

} // namespace holdfast::cli
