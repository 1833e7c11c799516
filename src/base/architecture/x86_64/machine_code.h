// SPDX-License-Identifier: MIT OR Apache-2.0
// What tells code of this architecture in a file.
#ifndef HF_ARCHITECTURE_MACHINE_CODE_H
#define HF_ARCHITECTURE_MACHINE_CODE_H

#include <elf.h>

#define HF_ELF_MACHINE EM_X86_64
// Instructions that spinning loops have: PAUSE.
#define HF_PAUSE_INSTRUCTIONS                                                                                          \
    { "\xf3\x90" }

// Assembly that goes on at a symbol of the same library.
#define HF_JUMP_TO(symbol) "jmp " symbol

#endif
