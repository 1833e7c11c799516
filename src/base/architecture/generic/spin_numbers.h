// SPDX-License-Identifier: MIT OR Apache-2.0
// glibc's numbers in a pthread_spinlock_t, in its C code for all architectures but x86.
#ifndef HF_ARCHITECTURE_SPIN_NUMBERS_H
#define HF_ARCHITECTURE_SPIN_NUMBERS_H

enum { HF_SPIN_FREE = 0, HF_SPIN_HELD = 1 };

#endif
