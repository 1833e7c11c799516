// SPDX-License-Identifier: MIT OR Apache-2.0
// Where locks were initialised: noted when somebody asked for it, for locks that have no name because they are made
// while the program runs.
//
// A table of the process's own, whose place for a lock is the one that its address says: a lock that comes to another's
// place takes it. So what is not found was made long ago, among many.
#ifndef HF_OBSERVE_CREATION_SITES_H
#define HF_OBSERVE_CREATION_SITES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// When this is set to anything when the process starts, sites are noted from then on.
#define HF_CREATION_SITES_VARIABLE "HOLDFAST_CREATION_SITES"

// Begins to note if the variable is set. Requires that no other thread of the process runs.
void hf_creation_sites_begin(void) __attribute__((visibility("hidden")));

// The lock is initialised, by a call that returns to `site`. Nothing happens when sites are not noted.
void hf_creation_sites_note(const void *lock, const void *site) __attribute__((visibility("hidden")));

// 0: not known.
uint64_t hf_creation_site_of(uint64_t lock) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
