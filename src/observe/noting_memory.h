// SPDX-License-Identifier: MIT OR Apache-2.0
// The memory that a process notes in what its locks do (statistics_memory.h has the layout): mapping it, a level at a
// time, and giving it up in a forked child. Who notes what: observation.h, thread_holds.h, rule_matches.h,
// counted_steps.h.
#ifndef HF_OBSERVE_NOTING_MEMORY_H
#define HF_OBSERVE_NOTING_MEMORY_H

#include <stdbool.h>

#include "observe/statistics_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

// In a page of its own, which the kernel zeroes in a forked child (notes.O2).
struct hf_noting {
    char *memory;                      // its beginning, as statistics_memory.h lays it out; NULL: nothing is noted
    char *level[HF_STATISTICS_LEVELS]; // those that are mapped
    bool keeps_maps;                   // no more are
    char rest_of_page[4096 - (1 + HF_STATISTICS_LEVELS) * sizeof(char *) - sizeof(bool)];
} __attribute__((aligned(4096)));
extern struct hf_noting hf_noting __attribute__((visibility("hidden")));

static inline struct hf_statistics_header *hf_statistics_header_in(char *memory) {
    return (struct hf_statistics_header *)memory;
}

static inline bool hf_statistics_are_on(void) {
    return hf_load_relaxed(&hf_noting.memory) != NULL;
}

// The level of the memory, mapped now if it was not. NULL: it can't be, and is not asked for again. Requires that there
// is memory.
char *hf_statistics_level(uint32_t number) __attribute__((cold, visibility("hidden")));

// The kernel has refused memory.
void hf_note_refusal(void) __attribute__((visibility("hidden")));

// From now on no more memory is mapped for statistics. What finds no place in what there is isn't noted.
void hf_statistics_stay_mapped(void) __attribute__((cold, visibility("hidden")));

// hf_statistics_begin (observation.h) without what was noted before there was memory.
bool hf_noting_begin(int fd) __attribute__((visibility("hidden")));

// Whether there is a monitor, for a reader of the statistics.
void hf_note_monitor(enum hf_monitor_met met) __attribute__((cold, visibility("hidden")));

// A library has been loaded whose calls go past us.
void hf_note_binding_apart(void) __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
