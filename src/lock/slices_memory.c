// SPDX-License-Identifier: MIT OR Apache-2.0
#include "lock/slices_memory.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "park/word_lock.h"

enum {
    HF_CHUNK_BYTES = 64 * 1024,
    HF_ROW_BITS = 8,
    HF_MARK_BYTES = 4096,
};

// The slices of locks, in rows by the address of the lock: a lock that is made where one was that nobody has destroyed
// takes over what that one had. Taken when a lock or a pair of class and lock is new, so one lock is enough.
static struct {
    uint32_t word;
    struct hf_share *spare_shares;
    struct hf_slices *spare_slices;
    struct hf_slices *last_made;
    char *chunk;
    size_t chunk_left;
    struct hf_slices *rows[1 << HF_ROW_BITS];
} memory;

// A page of its own, which the kernel zeroes in a forked child: so it is seen there from the first instruction on, also
// in handlers that the program has registered before ours (pthread_atfork).
static struct {
    bool is_known;
    char rest_of_page[HF_MARK_BYTES - sizeof(bool)];
} mark __attribute__((aligned(HF_MARK_BYTES)));
static bool zeroed_by_fork;

static void memory_lock(sigset_t *saved) {
    sigset_t all;
    sigfillset(&all);
    // A signal handler that locks, run while this thread is in here, would wait for itself.
    pthread_sigmask(SIG_SETMASK, &all, saved);
    if (!hf_word_trylock(&memory.word, HF_WORD_HELD))
        hf_word_lock_blocking(&memory.word, NULL);
}

static void memory_unlock(const sigset_t *saved) {
    hf_word_unlock(&memory.word);
    pthread_sigmask(SIG_SETMASK, saved, NULL);
}

// Zeroed, aligned to a cache line; never given back.
static void *carve(size_t bytes) {
    if (memory.chunk_left < bytes) {
        void *chunk = mmap(NULL, HF_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (chunk == MAP_FAILED)
            return NULL;
        memory.chunk = chunk;
        memory.chunk_left = HF_CHUNK_BYTES;
    }
    void *carved = memory.chunk;
    memory.chunk += bytes;
    memory.chunk_left -= bytes;
    return carved;
}

struct hf_share *hf_share_take(void) {
    sigset_t saved;
    memory_lock(&saved);
    struct hf_share *share = memory.spare_shares;
    if (share)
        memory.spare_shares = share->next;
    else
        share = carve(sizeof(*share));
    memory_unlock(&saved);
    return share;
}

void hf_share_give(struct hf_share *share) {
    sigset_t saved;
    memory_lock(&saved);
    hf_store_relaxed(&share->own_class, 0); // U4: somebody late may compare it
    share->next = memory.spare_shares;
    memory.spare_shares = share;
    memory_unlock(&saved);
}

static struct hf_slices **row_of(const void *lock) {
    // The product's upper bits depend on all of the address (Knuth, The Art of Computer Programming 6.4).
    uint64_t mixed = (uint64_t)(uintptr_t)lock * 0x9e3779b97f4a7c15u;
    return &memory.rows[mixed >> (64 - HF_ROW_BITS)];
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
    slices->first = slices->last = slices->keeper = NULL;
    hf_store_relaxed(&slices->waiters, 0);
    slices->spinners = NULL;
    slices->banned_until = slices->virtual_now = 0;
    slices->work_conserving = false;
}

static struct hf_slices *find(const void *lock) {
    struct hf_slices *slices = *row_of(lock);
    while (slices && slices->lock != lock)
        slices = slices->in_row;
    return slices;
}

static struct hf_slices *make(const void *lock) {
    struct hf_slices *slices = memory.spare_slices;
    if (slices) {
        memory.spare_slices = slices->in_row;
    } else {
        slices = carve(sizeof(*slices));
        if (!slices)
            return NULL;
        slices->made_before = memory.last_made;
        memory.last_made = slices;
    }
    slices->lock = lock;
    slices->in_row = *row_of(lock);
    *row_of(lock) = slices;
    return slices;
}

struct hf_slices *hf_slices_of(const void *lock, struct hf_slices **place) {
    hf_slices_start_over_if_forked();
    sigset_t saved;
    memory_lock(&saved);
    struct hf_slices *slices = hf_load_relaxed(place);
    if (!slices) {
        slices = find(lock);
        if (slices)
            clear(slices); // of a lock that is not there any more
        else
            slices = make(lock);
        hf_store_release(place, slices); // pairs with the acquire of whoever finds it there
    }
    memory_unlock(&saved);
    return slices;
}

void hf_slices_give_back(struct hf_slices *slices) {
    sigset_t saved;
    memory_lock(&saved);
    struct hf_slices **link = row_of(slices->lock);
    while (*link && *link != slices)
        link = &(*link)->in_row;
    if (*link) {
        *link = slices->in_row;
        clear(slices);
        slices->lock = NULL;
        slices->in_row = memory.spare_slices;
        memory.spare_slices = slices;
    }
    memory_unlock(&saved);
}

// Alone in the process. The shares are left where they are: the list may have been in the middle of a change.
static __attribute__((noinline)) void start_over_in_child(void) {
    if (zeroed_by_fork && hf_exchange_acquire(&mark.is_known, true))
        return;
    memory.word = HF_WORD_FREE;
    memory.spare_shares = NULL;
    for (struct hf_slices *slices = memory.last_made; slices; slices = slices->made_before) {
        slices->guard = HF_WORD_FREE;
        slices->shares = NULL;
        clear(slices);
    }
}

void hf_slices_start_over_if_forked(void) {
    if (HF_UNLIKELY(zeroed_by_fork && !hf_load_relaxed(&mark.is_known)))
        start_over_in_child();
}

static void start_over_by_handler(void) {
    if (!zeroed_by_fork || !mark.is_known)
        start_over_in_child();
}

__attribute__((constructor)) static void watch_forks(void) {
    mark.is_known = true;
    zeroed_by_fork = sysconf(_SC_PAGESIZE) <= HF_MARK_BYTES && madvise(&mark, sizeof(mark), MADV_WIPEONFORK) == 0;
    pthread_atfork(NULL, NULL, start_over_by_handler);
}
