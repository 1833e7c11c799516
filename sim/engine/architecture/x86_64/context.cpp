// SPDX-License-Identifier: MIT OR Apache-2.0
// What a called function must leave as it was is on the stack that is left: six registers and the return address.
#include "engine/context.hpp"

#include <cstdint>

__asm__(".text\n"
        ".globl hf_sim_switch_context\n"
        ".type hf_sim_switch_context, @function\n"
        "hf_sim_switch_context:\n"
        "    push %rbx\n"
        "    push %rbp\n"
        "    push %r12\n"
        "    push %r13\n"
        "    push %r14\n"
        "    push %r15\n"
        "    mov %rsp, (%rdi)\n"
        "    mov %rsi, %rsp\n"
        "    pop %r15\n"
        "    pop %r14\n"
        "    pop %r13\n"
        "    pop %r12\n"
        "    pop %rbp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size hf_sim_switch_context, . - hf_sim_switch_context\n");

namespace holdfast::sim {

void *new_context(char *stack_end, void (*begin)()) {
    constexpr int saved = 6;
    auto *top = reinterpret_cast<std::uint64_t *>(stack_end);
    *--top = 0; // a function begins with its stack aligned but for the return address
    *--top = reinterpret_cast<std::uint64_t>(begin);
    for (int i = 0; i < saved; i++)
        *--top = 0;
    return top;
}

} // namespace holdfast::sim
