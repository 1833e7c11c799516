// SPDX-License-Identifier: MIT OR Apache-2.0
// What a called function must leave as it was is on the stack that is left: twelve general registers, the lower halves
// of eight vector registers.
#include "engine/context.hpp"

#include <cstdint>

__asm__(".text\n"
        ".globl hf_sim_switch_context\n"
        ".type hf_sim_switch_context, %function\n"
        "hf_sim_switch_context:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size hf_sim_switch_context, . - hf_sim_switch_context\n");

namespace holdfast::sim {

void *new_context(char *stack_end, void (*begin)()) {
    constexpr int saved = 20, link_register = 11;
    auto *top = reinterpret_cast<std::uint64_t *>(stack_end) - saved;
    for (int i = 0; i < saved; i++)
        top[i] = 0;
    top[link_register] = reinterpret_cast<std::uint64_t>(begin);
    return top;
}

} // namespace holdfast::sim
