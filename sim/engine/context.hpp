// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread of execution within the host's one thread: a stack, and where it was left.
#pragma once

namespace holdfast::sim {

// Goes on at `to`, and leaves where it was in *left. Returns when somebody goes on at that.
extern "C" void hf_sim_switch_context(void **left, void *to);

// A context that calls `begin`, which never returns, on the stack that ends at `stack_end`.
void *new_context(char *stack_end, void (*begin)());

} // namespace holdfast::sim
