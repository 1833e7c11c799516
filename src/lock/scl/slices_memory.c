// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/scl/slices_memory.h"

#include <string.h>

#include "base/address_hash.h"
#include "base/chunk.h"
#include "base/system_call.h"
#include "park/masked_lock.h"

enum { HF_FIRST_ROW_BITS = 8 };

static struct hf_slices *first_rows[1 << HF_FIRST_ROW_BITS];

// The slices of locks, in rows by the address of the lock: a lock that is made where one was that nobody has destroyed
// takes over what that one had. There are as many rows as half of the slices, so that a program with a million locks
// finds one as quickly. Taken when a lock or a pair of class and lock is new, so one lock is enough.
static struct {
    uint32_t word;
    struct hf_share *spare_shares;
    struct hf_slices *spare_slices;
    struct hf_slices *last_made;
    struct hf_chunk chunk;
    struct hf_slices **rows;
    unsigned row_bits;
    size_t in_rows; // slices
} memory = {.rows = first_rows, .row_bits = HF_FIRST_ROW_BITS};

static void start_over(void);
struct hf_fork_guard hf_slices_fork_guard = HF_FORK_GUARD(start_over);

struct hf_share *hf_share_take(void) {
    sigset_t saved;
    hf_masked_lock(&memory.word, &saved);
    struct hf_share *share = memory.spare_shares;
    if (share)
        memory.spare_shares = share->next;
    else
        share = hf_chunk_carve(&memory.chunk, sizeof(*share));
    hf_masked_unlock(&memory.word, &saved);
    return share;
}

void hf_share_give(struct hf_share *share) {
    sigset_t saved;
    hf_masked_lock(&memory.word, &saved);
    hf_store_relaxed(&share->own_class, 0); // uscl.U4: somebody late may compare it
    share->next = memory.spare_shares;
    memory.spare_shares = share;
    hf_masked_unlock(&memory.word, &saved);
}

static struct hf_slices **row_of(const uint32_t *lock) {
    return &memory.rows[hf_address_hash((uintptr_t)lock, memory.row_bits)];
}

static void link_into_row(struct hf_slices *slices) {
    slices->in_row = *row_of(slices->lock);
    *row_of(slices->lock) = slices;
}

// Twice as many rows; as many as there are if there is no memory.
static void double_rows(void) {
    struct hf_slices **before = memory.rows;
    size_t count = (size_t)1 << memory.row_bits,
           bytes = count * sizeof(*before); // NOLINT(bugprone-sizeof-expression): pointers
    void *rows = hf_map_memory(2 * bytes);
    if (!rows)
        return;
    memory.rows = rows;
    memory.row_bits++;
    for (size_t row = 0; row < count; row++) {
        for (struct hf_slices *slices = before[row], *next; slices; slices = next) {
            next = slices->in_row;
            link_into_row(slices);
        }
    }
    if (before != first_rows)
        hf_sys_munmap(before, bytes);
}

static void add_to_rows(struct hf_slices *slices) {
    if (memory.in_rows++ >> (memory.row_bits + 1) != 0)
        double_rows();
    link_into_row(slices);
}

// Under the memory's lock. Shares go to the spare ones; nobody waits.
static void clear(struct hf_slices *slices) {
    while (slices->shares) {
        struct hf_share *share = slices->shares;
        slices->shares = share->next;
        hf_store_relaxed(&share->own_class, 0);
        share->next = memory.spare_shares;
        memory.spare_shares = share;
    }
    hf_store_relaxed(&slices->owner, NULL);
    hf_store_relaxed(&slices->slice_end, 0);
    hf_store_relaxed(&slices->holder, NULL);
    hf_store_relaxed(&slices->untimed_holder, NULL);
    hf_store_relaxed(&slices->untimed, 0);
    slices->first = slices->last = slices->timekeeper = NULL;
    hf_store_relaxed(&slices->waiters, 0);
    slices->spinners = NULL;
    slices->due_at = slices->virtual_now = slices->taken_at = 0;
    slices->releases = 0;
    slices->work_conserving = 0;
    slices->inactive_ms = 0;
}

static struct hf_slices *find(const uint32_t *lock) {
    struct hf_slices *slices = *row_of(lock);
    while (slices && slices->lock != lock)
        slices = slices->in_row;
    return slices;
}

static struct hf_slices *make(const uint32_t *lock) {
    struct hf_slices *slices = memory.spare_slices;
    if (slices) {
        memory.spare_slices = slices->in_row;
    } else {
        slices = hf_chunk_carve(&memory.chunk, sizeof(*slices));
        if (!slices)
            return NULL;
        slices->made_before = memory.last_made;
        hf_store_release(&memory.last_made, slices); // a child that is forked in this moment follows it
    }
    slices->lock = lock;
    add_to_rows(slices);
    return slices;
}

// What the lock at that address uses. Not what a lock used that was moved here in memory: whose address those have may
// be anybody's, or nobody's, by now. (A program that moves it does not use it, so nobody waits there.)
static struct hf_slices *in_use(const uint32_t *lock, struct hf_slices **place) {
    struct hf_slices *slices = hf_load_relaxed(place);
    return slices && slices->lock == lock ? slices : NULL;
}

// Under the guard. False: it has become another lock's before that was ours.
static bool take_over(struct hf_slices *slices, const uint32_t *lock, struct hf_slices **place) {
    sigset_t saved;
    hf_masked_lock(&memory.word, &saved);
    bool is_left = slices->lock == lock;
    // Another thread that met here may have been first: then they are in use.
    if (is_left && !in_use(lock, place)) {
        if (!slices->first) // threads that wait for a lock whose memory went, and has come again, go on waiting here
            clear(slices);
        hf_store_release(place, slices); // pairs with the acquire of the thread that finds it there
    }
    hf_masked_unlock(&memory.word, &saved);
    return is_left;
}

// The guard is taken before the memory's lock, as sum_up does (slices.c).
struct hf_slices *hf_slices_of(const uint32_t *lock, struct hf_slices **place, struct hf_thread_record *self) {
    for (;;) {
        sigset_t saved;
        hf_masked_lock_in_order(&memory.word, &hf_slices_fork_guard, &saved);
        struct hf_slices *slices = in_use(lock, place), *left = slices ? NULL : find(lock);
        if (!slices && !left) {
            slices = make(lock);
            hf_store_release(place, slices); // pairs as above
        }
        hf_masked_unlock(&memory.word, &saved);
        if (!left)
            return slices;
        hf_slices_lock(left, self, &saved);
        bool done = take_over(left, lock, place);
        hf_slices_unlock(left, self, &saved);
        if (done)
            return left;
    }
}

static void unlink_from_row(struct hf_slices *slices) {
    struct hf_slices **link = row_of(slices->lock);
    while (*link && *link != slices)
        link = &(*link)->in_row;
    if (*link) {
        *link = slices->in_row;
        memory.in_rows--;
    }
}

static void become_spare(struct hf_slices *slices) {
    slices->lock = NULL;
    slices->in_row = memory.spare_slices;
    memory.spare_slices = slices;
}

void hf_slices_give_back(struct hf_slices *slices, const uint32_t *lock, struct hf_thread_record *self) {
    sigset_t saved, all;
    hf_slices_lock(slices, self, &saved); // a thread that exits may be looking whether its slice is to be ended
    hf_masked_lock(&memory.word, &all);
    if (slices->lock == lock) {
        unlink_from_row(slices);
        clear(slices);
        become_spare(slices);
    }
    hf_masked_unlock(&memory.word, &all);
    hf_slices_unlock(slices, self, &saved);
}

// Other threads of the child wait (fork.F1, park/fork_guard.h). Every list may have been in the middle of a change but
// that of all slices: so the others are made anew from it. The shares and the chunk's rest are left where they are.
static void start_over(void) {
    memory.word = HF_WORD_FREE;
    memory.spare_shares = NULL;
    memory.spare_slices = NULL;
    memory.chunk.left = 0;
    memset(first_rows, 0, sizeof(first_rows));
    memory.rows = first_rows;
    memory.row_bits = HF_FIRST_ROW_BITS;
    memory.in_rows = 0;
    for (struct hf_slices *slices = memory.last_made; slices; slices = slices->made_before) {
        slices->guard = HF_WORD_FREE;
        slices->shares = NULL;
        clear(slices);
        if (slices->lock)
            add_to_rows(slices);
        else
            become_spare(slices);
    }
}

void hf_slices_lock(struct hf_slices *slices, struct hf_thread_record *self, sigset_t *saved) {
    hf_slices_enter(self);
    hf_critical_enter(self);
    hf_masked_lock_in_order(&slices->guard, &hf_slices_fork_guard, saved);
}

void hf_slices_unlock(struct hf_slices *slices, struct hf_thread_record *self, const sigset_t *saved) {
    hf_masked_unlock(&slices->guard, saved);
    hf_critical_leave(self);
    hf_slices_exit(self);
}

__attribute__((constructor)) static void watch_forks(void) {
    hf_fork_guard_watch(&hf_slices_fork_guard, NULL, 0);
}
