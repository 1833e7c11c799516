// SPDX-License-Identifier: MIT OR Apache-2.0
// Zydis tells the operands, the hidden ones among them, and whether each is read or written; here they become sets of
// registers, and what happens to memory gets its kind.
#include "monitor/x86_instruction.hpp"

#include <Zydis/Zydis.h>
#include <array>

namespace holdfast {
namespace {

using access = x86_instruction::access;
using flow = x86_instruction::flow;

constexpr register_set no_register = 0, foreign_register = 1U << 31;

// The register that `part` is of.
register_set set_of(ZydisRegister part) {
    switch (ZydisRegisterGetClass(part)) {
    case ZYDIS_REGCLASS_INVALID: // there is none
    case ZYDIS_REGCLASS_IP: return no_register;
    case ZYDIS_REGCLASS_FLAGS: return flags_register;
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return 1U << ZydisRegisterGetId(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, part));
    default: return foreign_register;
    }
}

struct decoded {
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;

    bool is(ZydisMnemonic name) const { return instruction.mnemonic == name; }
    bool is_locked() const { return instruction.attributes & ZYDIS_ATTRIB_HAS_LOCK; }
    std::span<const ZydisDecodedOperand> shown() const { return {operands.data(), instruction.operand_count_visible}; }
    std::span<const ZydisDecodedOperand> all() const { return {operands.data(), instruction.operand_count}; }

    register_set register_at(std::size_t number) const {
        return number < shown().size() && operands.at(number).type == ZYDIS_OPERAND_TYPE_REGISTER
                   ? set_of(operands.at(number).reg.value)
                   : no_register;
    }
};

// The kinds that compute from general registers and memory alone, or do nothing.
bool is_understood(const ZydisDecodedInstruction &instruction) {
    switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_BINARY:
    case ZYDIS_CATEGORY_BITBYTE:
    case ZYDIS_CATEGORY_BMI1:
    case ZYDIS_CATEGORY_BMI2:
    case ZYDIS_CATEGORY_CMOV:
    case ZYDIS_CATEGORY_CONVERT:
    case ZYDIS_CATEGORY_DATAXFER:
    case ZYDIS_CATEGORY_FLAGOP:
    case ZYDIS_CATEGORY_LOGICAL:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_ROTATE:
    case ZYDIS_CATEGORY_SEMAPHORE:
    case ZYDIS_CATEGORY_SETCC:
    case ZYDIS_CATEGORY_SHIFT:
    case ZYDIS_CATEGORY_WIDENOP: return true;
    default: break;
    }
    switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_SFENCE: return true;
    default: return false;
    }
}

// Xor and sub of a register and itself.
bool is_zero(const decoded &code) {
    return (code.is(ZYDIS_MNEMONIC_XOR) || code.is(ZYDIS_MNEMONIC_SUB)) && code.register_at(0) != no_register &&
           code.register_at(0) == code.register_at(1);
}

bool writes_what_it_is_given(const decoded &code) {
    switch (code.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_BTS:
    case ZYDIS_MNEMONIC_CMPXCHG:
    case ZYDIS_MNEMONIC_CMPXCHG16B:
    case ZYDIS_MNEMONIC_XCHG: return true;
    // A fence, as compilers make it: lock or $0, somewhere on the stack. Once done, doing it again changes nothing.
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR: return code.operands[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
    default: return false;
    }
}

class effects {
public:
    // Of nothing that is understood: none.
    static x86_instruction of(const decoded &code) {
        effects all(code);
        if (!all.follow() || ((all.found_.inputs | all.found_.outputs | all.found_.address) & foreign_register))
            return {};
        all.found_.length = code.instruction.length;
        return all.found_;
    }

private:
    explicit effects(const decoded &code) : code_(code) {}

    bool follow() {
        switch (code_.instruction.meta.category) {
        case ZYDIS_CATEGORY_COND_BR: return goes_to(flow::branch);
        case ZYDIS_CATEGORY_UNCOND_BR: return goes_to(flow::jump);
        default: found_.then = flow::next;
        }
        found_.pauses = code_.is(ZYDIS_MNEMONIC_PAUSE);
        if (code_.instruction.meta.category == ZYDIS_CATEGORY_WIDENOP)
            return true;
        if (code_.is(ZYDIS_MNEMONIC_RDTSC)) {
            found_.outputs = set_of(ZYDIS_REGISTER_RAX) | set_of(ZYDIS_REGISTER_RDX);
            found_.memory = access::load; // something that changes by itself
            return true;
        }
        return is_understood(code_.instruction) && computes();
    }

    bool goes_to(flow how) {
        const ZydisDecodedOperand &target = code_.operands[0];
        if (target.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !target.imm.is_relative)
            return false;
        found_.then = how;
        found_.distance = target.imm.value.s;
        return computes();
    }

    bool computes() {
        for (const ZydisDecodedOperand &operand : code_.all()) {
            if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER)
                uses(set_of(operand.reg.value), operand.actions);
            else if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && !finds(operand))
                return false;
        }
        if (is_zero(code_))
            found_.inputs = no_register;
        return true;
    }

    // A value that is kept under a condition depends on what it was.
    void uses(register_set which, ZydisOperandActions how) {
        if (how & ~ZYDIS_OPERAND_ACTION_WRITE)
            found_.inputs |= which;
        if (how & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            found_.outputs |= which;
    }

    bool finds(const ZydisDecodedOperand &operand) {
        const auto &mem = operand.mem;
        register_set base = set_of(mem.base), registers = base | set_of(mem.index);
        if (mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
            found_.inputs |= registers;
            return true;
        }
        if (mem.type != ZYDIS_MEMOP_TYPE_MEM || found_.memory != access::none ||
            operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
            return false;
        found_.address = registers;
        bool in_segment = mem.segment == ZYDIS_REGISTER_FS || mem.segment == ZYDIS_REGISTER_GS;
        bool on_the_stack = base == set_of(ZYDIS_REGISTER_RSP) || base == set_of(ZYDIS_REGISTER_RBP);
        if (on_the_stack && registers == base && mem.index == ZYDIS_REGISTER_NONE && !in_segment)
            found_.place = stack_slot{static_cast<std::uint8_t>(ZydisRegisterGetId(mem.base)),
                                      static_cast<std::int32_t>(mem.disp.value)};
        found_.memory = kind_of(operand.actions);
        if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
            found_.stored = stored();
        return true;
    }

    access kind_of(ZydisOperandActions how) const {
        bool reads = how & ZYDIS_OPERAND_ACTION_MASK_READ, writes = how & ZYDIS_OPERAND_ACTION_MASK_WRITE;
        if (!writes)
            return access::load;
        if (!reads)
            return access::store;
        if (!code_.is_locked() && !code_.is(ZYDIS_MNEMONIC_XCHG)) // which locks unasked
            return found_.place ? access::change : access::store;
        return writes_what_it_is_given(code_) ? access::exchange : access::change;
    }

    register_set stored() const {
        if (code_.instruction.meta.category == ZYDIS_CATEGORY_SETCC)
            return flags_register;
        if (code_.is(ZYDIS_MNEMONIC_CMPXCHG16B))
            return set_of(ZYDIS_REGISTER_RBX) | set_of(ZYDIS_REGISTER_RCX);
        return code_.register_at(code_.register_at(0) != no_register ? 0 : 1);
    }

    const decoded &code_;
    x86_instruction found_;
};

} // namespace

x86_instruction decode_x86(std::span<const std::uint8_t> code, std::size_t at) {
    ZydisDecoder decoder;
    decoded found{};
    if (at >= code.size() ||
        ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code.data() + at, code.size() - at, &found.instruction,
                                           found.operands.data())))
        return {};
    return effects::of(found);
}

} // namespace holdfast
