// SPDX-License-Identifier: MIT OR Apache-2.0
#include "observe/noting_memory.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/shared_memory.h"
#include "base/system_call.h"
#include "observe/creation_sites.h"

struct hf_noting hf_noting __attribute__((visibility("hidden")));
_Static_assert(sizeof(hf_noting) == 4096, "nothing else is wiped");
_Static_assert(sizeof(struct hf_statistics_header) <= HF_STATISTICS_HEADER_BYTES, "it has room");

static void forget_in_child(void) {
    hf_store_relaxed(&hf_noting.memory, NULL); // for kernels that do not wipe
    memset(hf_noting.level, 0, sizeof(hf_noting.level));
    hf_noting.keeps_maps = false;
}

static size_t bytes_of(uint32_t level) {
    return hf_statistics_level_at(level + 1) - hf_statistics_level_at(level);
}

static bool names_are_there(char *level, uint32_t number) {
    for (size_t at = 0; at < hf_statistics_entries_at(number); at += HF_PAGE_BYTES) {
        if (!hf_memory_is_there(level + at))
            return false;
    }
    return true;
}

// Maps the header and the first level, which the header lies before.
static char *map_beginning(int fd) {
    const size_t bytes = hf_statistics_level_at(1);
    char *memory = (char *)hf_sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = hf_mmap_error(memory);
    if (!error && hf_memory_is_there(memory) && names_are_there(memory + hf_statistics_level_at(0), 0) &&
        hf_statistics_header_in(memory)->version == HF_STATISTICS_VERSION) {
        hf_sys_madvise(memory, bytes, MADV_DONTDUMP);
        return memory;
    }
    if (!error)
        hf_sys_munmap(memory, bytes);
    errno = error ? error : EPROTO;
    return NULL;
}

bool hf_noting_begin(int fd) {
    static bool watches_forks;
    char *memory = map_beginning(fd);
    if (!memory)
        return false;
    if (!hf_thread_counters_share(fd, HF_STATISTICS_THREADS_OFFSET, &hf_statistics_header_in(memory)->counters)) {
        hf_sys_munmap(memory, hf_statistics_level_at(1));
        return false;
    }
    hf_sys_madvise(&hf_noting, sizeof(hf_noting), MADV_WIPEONFORK);
    hf_creation_sites_begin();
    if (!watches_forks)
        watches_forks = pthread_atfork(NULL, NULL, forget_in_child) == 0;
    hf_noting.level[0] = memory + hf_statistics_level_at(0);
    hf_store_relaxed(&hf_statistics_header_in(memory)->levels, 1);
    hf_store_relaxed(&hf_noting.memory, memory);
    return true;
}

void hf_note_refusal(void) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (memory)
        hf_store_relaxed(&hf_statistics_header_in(memory)->refused, 1);
}

// NULL: the kernel refuses, or a limit is reached.
static char *map_level_behind(char *before, uint32_t number) {
    char *level = hf_map_what_follows(before + bytes_of(number - 1), bytes_of(number));
    if (!level || names_are_there(level, number))
        return level;
    hf_sys_munmap(level, bytes_of(number));
    return NULL;
}

// Threads that come here together map it each for itself; the first one's stays.
static char *map_level(char *memory, uint32_t number) {
    char *before = hf_load_acquire(&hf_noting.level[number - 1]);
    char *level = map_level_behind(before, number);
    if (!level) {
        hf_note_refusal();
        hf_store_relaxed(&hf_noting.keeps_maps, true);
    } else if (hf_cas_release(&hf_noting.level[number], NULL, level)) { // pairs with the acquire in hf_statistics_level
        hf_store_relaxed(&hf_statistics_header_in(memory)->levels, number + 1);
    } else {
        hf_sys_munmap(level, bytes_of(number));
    }
    return hf_load_acquire(&hf_noting.level[number]);
}

char *hf_statistics_level(uint32_t number) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    char *level = hf_load_acquire(&hf_noting.level[number]);
    if (level || number == 0 || !memory || hf_load_relaxed(&hf_noting.keeps_maps))
        return level;
    return map_level(memory, number);
}

void hf_statistics_stay_mapped(void) {
    hf_store_relaxed(&hf_noting.keeps_maps, true);
    hf_thread_counters_stay_mapped();
}

void hf_note_monitor(enum hf_monitor_met met) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (memory)
        hf_store_relaxed(&hf_statistics_header_in(memory)->monitor, (uint32_t)met);
}

void hf_note_binding_apart(void) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (memory)
        hf_store_relaxed(&hf_statistics_header_in(memory)->bound_apart, 1);
}
