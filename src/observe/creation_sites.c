// SPDX-License-Identifier: MIT OR Apache-2.0
#include "observe/creation_sites.h"

#include <stdlib.h>

#include "base/address_hash.h"
#include "base/atomic.h"
#include "base/system_call.h"

enum { PLACES_BITS = 16, PLACES = 1 << PLACES_BITS };

struct place {
    uint64_t lock; // 0: nobody's, or about to change hands
    uint64_t site;
};

static struct place *table;

void hf_creation_sites_begin(void) {
    if (table || !secure_getenv(HF_CREATION_SITES_VARIABLE))
        return;
    void *memory = hf_sys_mmap(NULL, PLACES * sizeof(*table), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!hf_mmap_error(memory))
        table = memory;
}

static struct place *place_of(uint64_t lock) {
    return &table[hf_address_hash(lock, PLACES_BITS)];
}

// Two threads that make locks of one place at a time may leave the site of one with the other: a wrong name in some
// statistics, and no more.
void hf_creation_sites_note(const void *lock, const void *site) {
    if (!table)
        return;
    struct place *place = place_of((uintptr_t)lock);
    hf_store_release(&place->lock, 0); // pairs with the acquire of hf_creation_site_of
    hf_store_relaxed(&place->site, (uintptr_t)site);
    hf_store_release(&place->lock, (uintptr_t)lock); // likewise: who sees the lock sees its site
}

uint64_t hf_creation_site_of(uint64_t lock) {
    if (!table)
        return 0;
    const struct place *place = place_of(lock);
    if (hf_load_acquire(&place->lock) != lock)
        return 0;
    return hf_load_relaxed(&place->site);
}
