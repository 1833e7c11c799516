// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/x86_instruction.hpp"

#include <utility>

namespace holdfast {
namespace {

using access = x86_instruction::access;
using flow = x86_instruction::flow;

constexpr unsigned rax = 0, rdx = 2, rcx = 1, rsp = 4, rbp = 5;

constexpr register_set bit(unsigned number) {
    return 1U << number;
}

class decoder {
public:
    decoder(std::span<const std::uint8_t> code, std::size_t at) : code_(code), begin_(at), at_(at) {}

    x86_instruction decode() {
        read_prefixes();
        std::uint8_t opcode = byte();
        bool known = opcode == 0x0F ? two_bytes(byte()) : one_byte(opcode);
        if (!known || ended_)
            return {};
        found_.length = static_cast<unsigned>(at_ - begin_);
        if (found_.then == flow::unknown)
            found_.then = flow::next;
        return found_;
    }

private:
    // --- bytes

    std::uint8_t byte() {
        if (at_ >= code_.size()) {
            ended_ = true;
            return 0;
        }
        return code_[at_++];
    }
    std::int64_t number(unsigned bytes) {
        std::uint64_t value = 0;
        for (unsigned i = 0; i < bytes; i++)
            value |= static_cast<std::uint64_t>(byte()) << 8 * i;
        unsigned unused = 64 - 8 * bytes;
        return static_cast<std::int64_t>(value << unused) >> unused;
    }
    std::int64_t immediate(bool is_byte) { return number(is_byte ? 1 : narrow_ ? 2 : 4); }

    void read_prefixes() {
        for (; at_ < code_.size(); at_++) {
            switch (code_[at_]) {
            case 0x66: narrow_ = true; continue;
            case 0xF0: locked_ = true; continue;
            case 0xF3: repeats_ = true; continue;
            case 0x2E:
            case 0x3E: continue;
            case 0x64:
            case 0x65: in_segment_ = true; continue;
            default: break;
            }
            break;
        }
        if (at_ < code_.size() && (code_[at_] & 0xF0) == 0x40)
            rex_ = byte();
    }

    // --- operands

    struct operands {
        unsigned field = 0; // as it stands: a group's operation
        unsigned own = 0;   // the register operand
        unsigned other = 0; // the other one, where it is a register, too
        bool in_memory = false;
    };

    // ah, ch, dh, bh are the registers that they are parts of.
    unsigned register_named(unsigned number, bool is_byte) const {
        return is_byte && rex_ == 0 && number >= 4 && number < 8 ? number - 4 : number;
    }

    operands read_operands(bool own_is_byte, bool other_is_byte) {
        std::uint8_t modes = byte();
        operands read;
        read.field = modes >> 3 & 7;
        read.own = register_named(read.field | (rex_ & 4) << 1, own_is_byte);
        unsigned low = modes & 7, mode = modes >> 6;
        if (mode == 3) {
            read.other = register_named(low | (rex_ & 1) << 3, other_is_byte);
            return read;
        }
        read.in_memory = true;
        read_address(low, mode);
        return read;
    }

    void read_address(unsigned low, unsigned mode) {
        unsigned base = low | (rex_ & 1) << 3;
        bool has_base = true, has_index = false;
        if (low == 4) {
            std::uint8_t scaled = byte();
            base = (scaled & 7) | (rex_ & 1) << 3;
            unsigned index = (scaled >> 3 & 7) | (rex_ & 2) << 2;
            has_index = index != rsp;
            has_base = (scaled & 7) != 5 || mode != 0;
            if (has_index)
                found_.address |= bit(index);
        } else if (low == 5 && mode == 0) {
            has_base = false; // beside the next instruction
        }
        std::int64_t distance = mode == 1 ? number(1) : mode == 2 || !has_base ? number(4) : 0;
        if (!has_base)
            return;
        found_.address |= bit(base);
        if (!has_index && !in_segment_ && (base == rsp || base == rbp))
            found_.place = stack_slot{static_cast<std::uint8_t>(base), static_cast<std::int32_t>(distance)};
    }

    // --- what instructions do

    void reads(const operands &at) {
        if (at.in_memory)
            found_.memory = access::load;
        else
            found_.inputs |= bit(at.other);
    }
    bool changes(const operands &at, register_set by) {
        found_.inputs |= by;
        if (!at.in_memory) {
            found_.inputs |= bit(at.other);
            found_.outputs |= bit(at.other);
            return true;
        }
        found_.memory = locked_ || found_.place ? access::change : access::store;
        found_.stored = by;
        return true;
    }
    bool moves_to(const operands &at, register_set from) {
        if (at.in_memory) {
            found_.memory = access::store;
            found_.stored = from;
            return true;
        }
        found_.inputs |= from;
        found_.outputs |= bit(at.other);
        return true;
    }
    bool jumps(flow how, std::int64_t distance) {
        found_.then = how;
        found_.distance = distance;
        return true;
    }

    // add, or, adc, sbb, and, sub, xor, cmp by number.
    static bool only_compares(unsigned operation) { return operation == 7; }
    static bool takes_carry(unsigned operation) { return operation == 2 || operation == 3; }
    static bool is_zero_of_itself(unsigned operation) { return operation == 5 || operation == 6; }

    bool computes(unsigned operation, const operands &at, bool own_is_target, register_set own) {
        register_set carry = takes_carry(operation) ? flags_register : 0;
        found_.outputs |= flags_register;
        if (own != 0 && !at.in_memory && at.own == at.other && is_zero_of_itself(operation)) {
            found_.outputs |= own;
            return true;
        }
        found_.inputs |= carry;
        if (only_compares(operation)) {
            reads(at);
            found_.inputs |= own;
            return true;
        }
        if (!own_is_target)
            return changes(at, own);
        reads(at);
        found_.inputs |= own;
        found_.outputs |= own;
        return true;
    }

    bool computes_by_opcode(std::uint8_t opcode) {
        unsigned operation = opcode >> 3, form = opcode & 7;
        bool is_byte = !(form & 1);
        if (form >= 4) { // al or eax, and a constant
            immediate(is_byte);
            found_.outputs |= flags_register;
            found_.inputs |= bit(rax) | (takes_carry(operation) ? flags_register : 0);
            if (!only_compares(operation))
                found_.outputs |= bit(rax);
            return true;
        }
        operands at = read_operands(is_byte, is_byte);
        return computes(operation, at, form & 2, bit(at.own));
    }

    bool computes_with_constant(std::uint8_t opcode) {
        bool is_byte = opcode == 0x80;
        operands at = read_operands(is_byte, is_byte);
        immediate(is_byte || opcode == 0x83);
        // A fence, as compilers make it: lock or $0, somewhere on the stack.
        if (locked_ && at.in_memory && (at.field == 1 || at.field == 4)) {
            found_.memory = access::exchange;
            found_.outputs |= flags_register;
            return true;
        }
        return computes(at.field, at, false, 0);
    }

    bool shifts(std::uint8_t opcode) {
        bool is_byte = !(opcode & 1);
        operands at = read_operands(is_byte, is_byte);
        if (opcode < 0xD0)
            number(1);
        found_.outputs |= flags_register;
        return changes(at, opcode >= 0xD2 ? bit(rcx) : 0);
    }

    // test, not, neg, and multiplications and divisions of rax and rdx.
    bool one_operand(bool is_byte) {
        operands at = read_operands(is_byte, is_byte);
        if (at.field <= 1) {
            immediate(is_byte);
            reads(at);
            found_.outputs |= flags_register;
            return true;
        }
        if (at.field >= 3)
            found_.outputs |= flags_register;
        if (at.field <= 3)
            return changes(at, 0);
        reads(at);
        found_.inputs |= bit(rax) | bit(rdx);
        found_.outputs |= bit(rax) | bit(rdx);
        return true;
    }

    bool exchanges(bool is_byte) {
        operands at = read_operands(is_byte, is_byte);
        found_.outputs |= bit(at.own);
        if (at.in_memory) {
            found_.memory = access::exchange;
            found_.stored = bit(at.own);
            return true;
        }
        found_.inputs |= bit(at.own) | bit(at.other);
        found_.outputs |= bit(at.other);
        return true;
    }

    bool one_byte(std::uint8_t opcode) {
        bool is_byte = !(opcode & 1);
        if (opcode < 0x40)
            return (opcode & 7) < 6 && computes_by_opcode(opcode);
        if ((opcode & 0xF0) == 0x70)
            return jumps(flow::branch, number(1));
        if ((opcode & 0xF8) == 0xB8 || (opcode & 0xF8) == 0xB0) {
            bool to_byte = opcode < 0xB8;
            number(to_byte ? 1 : rex_ & 8 ? 8 : narrow_ ? 2 : 4);
            found_.outputs |= bit(register_named((opcode & 7) | (rex_ & 1) << 3, to_byte));
            return true;
        }
        switch (opcode) {
        case 0x63: return loads_extended(false);
        case 0x69:
        case 0x6B: {
            operands at = read_operands(false, false);
            immediate(opcode == 0x6B);
            reads(at);
            found_.outputs |= bit(at.own) | flags_register;
            return true;
        }
        case 0x80:
        case 0x81:
        case 0x83: return computes_with_constant(opcode);
        case 0x84:
        case 0x85: {
            operands at = read_operands(is_byte, is_byte);
            reads(at);
            found_.inputs |= bit(at.own);
            found_.outputs |= flags_register;
            return true;
        }
        case 0x86:
        case 0x87: return exchanges(is_byte);
        case 0x88:
        case 0x89: {
            operands at = read_operands(is_byte, is_byte);
            return moves_to(at, bit(at.own));
        }
        case 0x8A:
        case 0x8B: return loads_extended(is_byte);
        case 0x8D: {
            operands at = read_operands(false, false);
            found_.inputs |= std::exchange(found_.address, 0);
            found_.place.reset();
            found_.outputs |= bit(at.own);
            return at.in_memory;
        }
        case 0x90: found_.pauses = repeats_; return !(rex_ & 1);
        case 0x98: // cltq and its kind
            found_.inputs |= bit(rax);
            found_.outputs |= bit(rax);
            return true;
        case 0x99:
            found_.inputs |= bit(rax);
            found_.outputs |= bit(rdx);
            return true;
        case 0xA8:
        case 0xA9:
            immediate(is_byte);
            found_.inputs |= bit(rax);
            found_.outputs |= flags_register;
            return true;
        case 0xC0:
        case 0xC1:
        case 0xD0:
        case 0xD1:
        case 0xD2:
        case 0xD3: return shifts(opcode);
        case 0xC6:
        case 0xC7: {
            operands at = read_operands(is_byte, is_byte);
            immediate(is_byte);
            return at.field == 0 && moves_to(at, 0);
        }
        case 0xE9: return jumps(flow::jump, number(4));
        case 0xEB: return jumps(flow::jump, number(1));
        case 0xF6:
        case 0xF7: return one_operand(is_byte);
        case 0xFE:
        case 0xFF: {
            operands at = read_operands(is_byte, is_byte);
            found_.outputs |= flags_register;
            return at.field <= 1 && changes(at, 0); // others call, jump and push
        }
        default: return false;
        }
    }

    bool loads_extended(bool from_byte) {
        operands at = read_operands(from_byte, from_byte);
        reads(at);
        found_.outputs |= bit(at.own);
        return true;
    }

    bool compares_and_swaps(bool is_byte) {
        operands at = read_operands(is_byte, is_byte);
        found_.inputs |= bit(rax);
        found_.outputs |= bit(rax) | flags_register;
        if (!at.in_memory)
            return false;
        found_.memory = access::exchange;
        found_.stored = bit(at.own);
        return true;
    }

    bool two_bytes(std::uint8_t opcode) {
        bool is_byte = !(opcode & 1);
        if ((opcode & 0xF0) == 0x80)
            return jumps(flow::branch, number(4));
        if ((opcode & 0xF0) == 0x90 || (opcode & 0xF0) == 0x40) {
            bool sets = opcode >= 0x90;
            operands at = read_operands(sets, sets);
            if (sets) {
                found_.inputs |= flags_register;
                return moves_to(at, flags_register);
            }
            reads(at);
            found_.inputs |= bit(at.own) | flags_register;
            found_.outputs |= bit(at.own);
            return true;
        }
        switch (opcode) {
        case 0x1E:
        case 0x1F: { // long no-operations; endbr64
            read_operands(false, false);
            found_.address = 0;
            found_.place.reset();
            return true;
        }
        case 0x31: // rdtsc
            found_.outputs |= bit(rax) | bit(rdx);
            found_.memory = access::load; // something that changes by itself
            return true;
        case 0xA3: {
            operands at = read_operands(false, false);
            reads(at);
            found_.inputs |= bit(at.own);
            found_.outputs |= flags_register;
            return true;
        }
        case 0xAE: { // fences
            std::uint8_t which = byte();
            return which >= 0xE8;
        }
        case 0xAF: {
            operands at = read_operands(false, false);
            reads(at);
            found_.inputs |= bit(at.own);
            found_.outputs |= bit(at.own) | flags_register;
            return true;
        }
        case 0xAB: // bts
        case 0xBA: {
            operands at = read_operands(false, false);
            if (opcode == 0xBA)
                number(1);
            bool tests = opcode == 0xBA && at.field == 4, sets = opcode == 0xAB || at.field == 5;
            found_.outputs |= flags_register;
            if (tests) {
                reads(at);
                return true;
            }
            if (!sets || !at.in_memory || !locked_)
                return false;
            found_.memory = access::exchange;
            found_.stored = opcode == 0xAB ? bit(at.own) : 0;
            return true;
        }
        case 0xB0:
        case 0xB1: return compares_and_swaps(is_byte);
        case 0xB6:
        case 0xBE: {
            operands at = read_operands(false, true);
            reads(at);
            found_.outputs |= bit(at.own);
            return true;
        }
        case 0xB7:
        case 0xBF: return loads_extended(false);
        case 0xC0:
        case 0xC1: { // xadd
            operands at = read_operands(is_byte, is_byte);
            found_.outputs |= bit(at.own) | flags_register;
            return at.in_memory && changes(at, bit(at.own));
        }
        default: return false;
        }
    }

    std::span<const std::uint8_t> code_;
    std::size_t begin_, at_;
    bool ended_ = false;
    bool narrow_ = false, locked_ = false, repeats_ = false, in_segment_ = false;
    unsigned rex_ = 0;
    x86_instruction found_;
};

} // namespace

x86_instruction decode_x86(std::span<const std::uint8_t> code, std::size_t at) {
    return decoder(code, at).decode();
}

} // namespace holdfast
