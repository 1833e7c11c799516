// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/scl/rwscl_table.h"

#include <stddef.h>
#include <string.h>

#include "base/address_hash.h"
#include "base/chunk.h"
#include "lock/scl/rwscl_state.h"
#include "park/masked_lock.h"

enum { HF_ROWS_BITS = 14 };

struct hf_rwscl_entry hf_rwscl_no_entry;

// Taken when a lock is new or destroyed, so one lock is enough.
static struct {
    uint32_t word;
    struct hf_rwscl_entry *spare;
    struct hf_rwscl_entry *last_made;
    struct hf_chunk chunk;
    struct hf_rwscl_entry *rows[1 << HF_ROWS_BITS]; // by the object's address
} table;

static void start_over(void);
struct hf_fork_guard hf_rwscl_fork_guard = HF_FORK_GUARD(start_over);

static size_t lock_bytes(void) {
    return offsetof(hf_rwscl_t, gates) + hf_numa_nodes() * sizeof(struct hf_rwscl_gate);
}

static struct hf_rwscl_entry **row_of(const void *object) {
    return &table.rows[hf_address_hash((uintptr_t)object, HF_ROWS_BITS)];
}

static void add_to_row(struct hf_rwscl_entry *entry, const void *object) {
    struct hf_rwscl_entry **row = row_of(object);
    entry->in_row = *row;
    hf_store_relaxed(&entry->object, object); // read without the table's lock, by users of another object
    *row = entry;
}

static void take_out_of_row(struct hf_rwscl_entry *entry) {
    struct hf_rwscl_entry **link = row_of(entry->object);
    while (*link && *link != entry)
        link = &(*link)->in_row;
    if (*link)
        *link = entry->in_row;
    hf_store_relaxed(&entry->object, NULL);
}

static struct hf_rwscl_entry *find(const void *object) {
    struct hf_rwscl_entry *entry = *row_of(object);
    while (entry && entry->object != object)
        entry = entry->in_row;
    return entry;
}

// Nobody is inside, waits, or is between giving the lock to another and the last touch. A thread that destroys it,
// or makes another at its address, comes after all users but those that are about to leave: so what is left stays so.
static bool is_left(const hf_rwscl_t *lock) {
    if (hf_load_relaxed(&lock->word) != HF_WORD_FREE || hf_load_relaxed(&lock->waiting_readers) != 0 ||
        hf_load_relaxed(&lock->waiting_writers) != 0)
        return false;
    uint32_t state = hf_load_relaxed(&lock->state);
    if (state & HF_RWSCL_FRONT)
        return false;
    if (hf_rwscl_is_writers(state))
        return true;
    return hf_rwscl_readers_inside(lock) == 0;
}

static struct hf_rwscl_entry *spare_or_new(void) {
    struct hf_rwscl_entry *entry = table.spare;
    if (entry) {
        table.spare = entry->in_row;
        return entry;
    }
    entry = hf_chunk_carve(&table.chunk, offsetof(struct hf_rwscl_entry, lock) + lock_bytes());
    if (entry) {
        entry->made_before = table.last_made;
        hf_store_release(&table.last_made, entry); // a child that is forked in this moment follows it
    }
    return entry;
}

// Under the table's lock.
static struct hf_rwscl_entry *entry_for(const void *object) {
    struct hf_rwscl_entry *entry = find(object);
    if (entry && !is_left(&entry->lock)) {
        take_out_of_row(entry); // and leaves it alone for good
        entry = NULL;
    }
    if (!entry) {
        entry = spare_or_new();
        if (entry)
            add_to_row(entry, object);
    }
    return entry;
}

static void set_options(hf_rwscl_t *lock, const struct hf_rwscl_options *options) {
    if (options->readers)
        hf_rwscl_set_ratio(lock, options->readers, options->writers);
    if (options->slice_us_plus_1)
        hf_rwscl_set_slice(lock, options->slice_us_plus_1 - 1);
}

// The writers' slice has ended, but the state does not say so yet: the gates are opened first.
static bool is_being_opened(const hf_rwscl_t *lock) {
    return hf_rwscl_is_writers(lock->state) && !(lock->gates[0].readers & HF_GATE_CLOSED);
}

static bool is_waited_for(const hf_rwscl_t *lock) {
    return is_being_opened(lock) || lock->waiting_readers != 0 || lock->waiting_writers != 0 ||
           (lock->state & (HF_RWSCL_FRONT | HF_RWSCL_READERS_WAIT)) ||
           (!(lock->state & HF_RWSCL_WRITERS) && lock->word != HF_WORD_FREE);
}

// In a forked child. Waiters are not there, and neither is a front writer: what it had begun is undone. A
// holder is inside still, as in other locks.
static void forget_who_waits(hf_rwscl_t *lock) {
    lock->waiting_readers = lock->waiting_writers = 0;
    lock->spinners = NULL;
    if (hf_rwscl_is_writers(lock->state) && !is_being_opened(lock)) {
        lock->state &= ~(uint32_t)(HF_RWSCL_READERS_WAIT | HF_RWSCL_TIMEKEEPER);
        return;
    }
    int32_t drained = hf_drain_count(lock->draining), all = hf_rwscl_readers_inside(lock), inside = all;
    if (lock->state & HF_RWSCL_FRONT && lock->state & HF_RWSCL_WRITERS) {
        // A drain. A reader that leaves by a closed gate subtracts itself there and from `draining`. Before the front
        // writer has added up the gates these tell who is inside, and then `draining` does.
        int32_t at_gates = all - drained;
        inside = drained > 0 ? drained : at_gates > 0 ? at_gates : 0;
    }
    for (uint32_t node = hf_numa_nodes(); node-- > 0;)
        lock->gates[node].readers = node == 0 ? (uint32_t)inside * HF_GATE_READER : 0;
    lock->draining = 0;
    lock->state = (lock->state & ~(HF_RWSCL_ROUND - 1u)) + HF_RWSCL_ROUND;
    lock->word = HF_WORD_FREE; // its owner waited
}

// The list of all entries alone is never in the middle of a change.
static void put_in_rows_again(void) {
    table.spare = NULL;
    table.chunk.left = 0;
    memset(table.rows, 0, sizeof(table.rows));
    for (struct hf_rwscl_entry *entry = table.last_made; entry; entry = entry->made_before) {
        if (entry->object) // else it is spare, or to be left alone: which of both is not known
            add_to_row(entry, entry->object);
    }
    hf_store_release(&table.word, (uint32_t)HF_WORD_FREE); // last: a child that is forked in the middle begins anew
}

// Other threads of the child wait (fork.F1, park/fork_guard.h). Writes no more than it has to: what a child writes it
// gets a copy of.
static void start_over(void) {
    if (table.word != HF_WORD_FREE)
        put_in_rows_again();
    for (struct hf_rwscl_entry *entry = table.last_made; entry; entry = entry->made_before) {
        if (entry->object && is_waited_for(&entry->lock))
            forget_who_waits(&entry->lock);
    }
}

struct hf_rwscl_entry *hf_rwscl_entry_made(const void *object, struct hf_rwscl_entry **place,
                                           const struct hf_rwscl_options *options) {
    sigset_t saved;
    hf_masked_lock_in_order(&table.word, &hf_rwscl_fork_guard, &saved);
    struct hf_rwscl_entry *entry = hf_load_relaxed(place);
    if (!entry || (entry != &hf_rwscl_no_entry && entry->object != object)) {
        entry = entry_for(object);
        if (entry) {
            memset(&entry->lock, 0, lock_bytes());
            hf_store_relaxed(&entry->lock.object, object);
            set_options(&entry->lock, options);
        }
        hf_store_release(place, entry ? entry : &hf_rwscl_no_entry); // pairs with the acquire in hf_rwscl_of
    }
    hf_masked_unlock(&table.word, &saved);
    return entry == &hf_rwscl_no_entry ? NULL : entry;
}

void hf_rwscl_give_back(const void *object, struct hf_rwscl_entry **place) {
    sigset_t saved;
    hf_masked_lock_in_order(&table.word, &hf_rwscl_fork_guard, &saved);
    // Not by what lies in `place`, which may be anything: objects that nobody has initialised are destroyed, too.
    struct hf_rwscl_entry *entry = find(object);
    // One that a thread is still about to leave stays where it is, for the next lock at that address.
    if (entry && entry == hf_load_relaxed(place) && is_left(&entry->lock)) {
        take_out_of_row(entry);
        entry->in_row = table.spare;
        table.spare = entry;
    }
    hf_store_relaxed(place, NULL);
    hf_masked_unlock(&table.word, &saved);
}

void hf_rwscl_table_watch_forks(void) {
    hf_fork_guard_watch(&hf_rwscl_fork_guard, NULL, 0);
}
