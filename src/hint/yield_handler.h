// SPDX-License-Identifier: (MIT OR Apache-2.0) OR (GPL-2.0-only OR BSD-2-Clause)
// How the kernel's side knows a program's signal handler that yields the CPU (preload/yield_handler.c): by eight bytes
// before its code. A process says nothing to anybody, a forked child has it as well, and the kernel forgets it at exec.
// The includer provides integer types.
#ifndef HF_HINT_YIELD_HANDLER_H
#define HF_HINT_YIELD_HANDLER_H

#define HF_YIELD_HANDLER_TAG 0x9D31C7F05A2BE846

// Set by 'holdfast run --detect-spinning'.
#define HF_DETECT_SPINNING_VARIABLE "HOLDFAST_DETECT_SPINNING"

// The signals that may be taken for it: not those that programs prefer, SIGRTMIN and its next ones.
enum { HF_YIELD_SIGNAL_FIRST = 45, HF_YIELD_SIGNAL_LAST = 64 };

#endif
