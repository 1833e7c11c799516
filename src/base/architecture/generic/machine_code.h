// SPDX-License-Identifier: MIT OR Apache-2.0
// What tells code of this architecture in a file: nothing that is known.
#ifndef HF_ARCHITECTURE_MACHINE_CODE_H
#define HF_ARCHITECTURE_MACHINE_CODE_H

#include <elf.h>

#define HF_ELF_MACHINE EM_NONE
#define HF_PAUSE_INSTRUCTIONS                                                                                          \
    {}

// Assembly that goes on at a symbol of the same library. Empty: unknown.
#define HF_JUMP_TO(symbol) ""

#endif
