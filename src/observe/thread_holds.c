// SPDX-License-Identifier: MIT OR Apache-2.0
// States and invariants: thread_holds.h.
#include "observe/thread_holds.h"

#include "observe/noting_memory.h"

enum { HF_ROW_PROBES = 16 };

static void clear(struct hf_thread_holds *row) {
    for (int i = 0; i < HF_STATISTICS_HOLDS; i++)
        hf_store_relaxed(&row->holds[i].lock, 0);
    hf_store_relaxed(&row->counted, 0);
}

static struct hf_thread_holds *take_row_in(char *level, uint32_t number, uint32_t tid) {
    struct hf_thread_holds *rows = hf_statistics_rows(level, number);
    uintptr_t page_there = 0;
    for (uint32_t probe = 0; probe < HF_ROW_PROBES; probe++) {
        struct hf_thread_holds *row = &rows[(tid + probe) % hf_statistics_places(number)];
        if ((uintptr_t)row / HF_PAGE_BYTES != page_there && !hf_memory_is_there(row)) // N6
            return NULL;
        page_there = (uintptr_t)row / HF_PAGE_BYTES;
        // Acquire: pairs with the release of the thread that had the row and exits (thread_record.c).
        if (hf_load_relaxed(&row->tid) != HF_ROW_FREE || !hf_cas_acquire(&row->tid, HF_ROW_FREE, HF_ROW_BEING_CLEARED))
            continue;
        clear(row);
        hf_store_release(&row->tid, tid); // pairs with the acquire of the reader (notes.N4)
        return row;
    }
    return NULL;
}

static struct hf_thread_holds *take_row(uint32_t tid) {
    for (uint32_t number = 0; number < HF_STATISTICS_LEVELS; number++) {
        char *level = hf_statistics_level(number);
        struct hf_thread_holds *row = level ? take_row_in(level, number, tid) : NULL;
        if (row || !level)
            return row;
    }
    return NULL;
}

// The row remembered is the thread's own: a forked child has another record, which remembers none.
static struct hf_thread_holds *row_of(struct hf_thread_record *self) {
    uint32_t **own = &hf_private(self)->holds_owner;
    if (!*own) {
        struct hf_thread_holds *row = take_row(self->tid);
        *own = row ? &row->tid : NULL;
    }
    return (struct hf_thread_holds *)(void *)*own; // its first field
}

// Releases pair with the acquires of the reader, which looks at the address, the ticks, and the address again
// (notes.N5).
static int place_of(struct hf_thread_holds *row, uint64_t lock) {
    int least = 0;
    for (int i = 0; i < HF_STATISTICS_HOLDS; i++) {
        uint64_t there = hf_load_relaxed(&row->holds[i].lock);
        if (there == lock)
            return i;
        if (there == 0)
            hf_store_relaxed(&row->holds[i].ticks, 0);
        if (hf_load_relaxed(&row->holds[i].ticks) < hf_load_relaxed(&row->holds[least].ticks))
            least = i;
    }
    hf_store_relaxed(&row->holds[least].lock, 0);
    hf_store_release(&row->holds[least].ticks, 0);
    hf_store_relaxed(&row->counted, row->counted & ~(1u << least));
    hf_store_release(&row->holds[least].lock, lock);
    return least;
}

bool hf_thread_holds_add(struct hf_thread_record *self, uint64_t lock, uint64_t ticks, enum hf_hold_source source) {
    struct hf_thread_holds *row = self->tid ? row_of(self) : NULL;
    if (!row)
        return false;
    int place = place_of(row, lock);
    uint32_t bit = 1u << place;
    if (source == HF_HOLD_ESTIMATED && (row->counted & bit))
        return true;
    uint64_t before = hf_load_relaxed(&row->holds[place].ticks);
    if (source == HF_HOLD_COUNTED)
        hf_store_relaxed(&row->counted, row->counted | bit);
    hf_store_release(&row->holds[place].ticks, before + ticks);
    return true;
}
