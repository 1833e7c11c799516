// SPDX-License-Identifier: MIT OR Apache-2.0
// glibc's numbers in a pthread_spinlock_t: its assembly for x86 counts down.
#ifndef HF_ARCHITECTURE_SPIN_NUMBERS_H
#define HF_ARCHITECTURE_SPIN_NUMBERS_H

enum { HF_SPIN_FREE = 1, HF_SPIN_HELD = 0 };

#endif
