// SPDX-License-Identifier: MIT OR Apache-2.0
// What tells code of this architecture in a file.
#ifndef HF_ARCHITECTURE_MACHINE_CODE_H
#define HF_ARCHITECTURE_MACHINE_CODE_H

#include <elf.h>

#define HF_ELF_MACHINE EM_AARCH64
// Instructions that spinning loops have: YIELD and, which waits for longer, ISB.
#define HF_PAUSE_INSTRUCTIONS                                                                                          \
    { "\x3f\x20\x03\xd5", "\xdf\x3f\x03\xd5" }

// Assembly that goes on at a symbol of the same library.
#define HF_JUMP_TO(symbol) "b " symbol

#endif
