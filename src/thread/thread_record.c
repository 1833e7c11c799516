// SPDX-License-Identifier: MIT OR Apache-2.0
#include "thread/thread_record.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/shared_memory.h"
#include "base/system_call.h"
#include "park/fork_guard.h"
#include "park/masked_lock.h"
#include "park/virtual_wait.h"

__thread struct hf_thread_record *hf_self_record __attribute__((tls_model("initial-exec"), visibility("hidden")));

// All that the slabs are managed with. Taken once in a thread's life at each end, so one lock is enough.
static struct {
    uint32_t word;
    struct hf_thread_record *free;
    struct hf_thread_record *slab; // the newest slab, handed out from its start
    uint32_t slab_used;
    uint32_t slabs;         // of this process: the newest and those before it
    uint64_t taken;         // records since these slabs were last swept
    long process;           // whose threads the records are for
    bool taken_by_stranger; // some, by one that has our memory (vfork), or was forked behind pthread_atfork's back
    uint64_t classes;       // numbers of classes of their own that threads have been given
    uint32_t threads;       // that have ever had a record, in this process and those that it was forked from
    struct hf_counters_shared *shared; // NULL: no counters are
    char *shared_end;                  // where those of the last such slab end, which need not be the newest
    bool keeps_maps;                   // no more are shared
} pool = {.slab_used = HF_SLAB_RECORDS};

// By a key we learn that a thread exits. It is one that no program misses: not the first (0 is what a variable says
// that nobody has set), and none for which glibc would have to allocate memory in a thread's first lock. And it is
// given up to a program that wants all keys there are (preload/keys.c). Without it records are left behind, as by
// threads that lock after their last destructor.
//
//     NONE --> BEING_MADE --> MADE --> GIVEN_UP
//                   +--------------------^   there is none to be had
enum { EXIT_KEY_NONE, EXIT_KEY_BEING_MADE, EXIT_KEY_MADE, EXIT_KEY_GIVEN_UP };
static struct {
    uint32_t state;
    pthread_key_t key;
} exit_key;

uintptr_t hf_process_tag;
uint32_t hf_threads_with_records; // under the pool's lock

// A number of 22 bits, as the kernel's are: 6 in an address's alignment, 16 above it.
static void tag_process(long process) {
    enum { HF_LOW_BITS = 6, HF_UPPER_SHIFT = 48 };
    _Static_assert(1 << HF_LOW_BITS == HF_CACHE_LINE_BYTES && sizeof(uintptr_t) == 8, "addresses leave these bits");
    uintptr_t number = process > 0 && process < 1 << 22 ? (uintptr_t)process : 0;
    uintptr_t low = number & (HF_CACHE_LINE_BYTES - 1);
    hf_store_relaxed(&hf_process_tag, number >> HF_LOW_BITS << HF_UPPER_SHIFT | low);
}

static void start_over(void);
static struct hf_fork_guard guard = HF_FORK_GUARD(start_over);

_Static_assert(sizeof(struct hf_thread_record) == HF_CACHE_LINE_BYTES, "one cache line");
_Static_assert(sizeof(struct hf_thread_counters) == HF_CACHE_LINE_BYTES &&
                   sizeof(struct hf_thread_private) == HF_CACHE_LINE_BYTES &&
                   sizeof(struct hf_noted_sums) == HF_CACHE_LINE_BYTES &&
                   sizeof(struct hf_noted_times) == HF_CACHE_LINE_BYTES &&
                   sizeof(struct hf_observation) == HF_CACHE_LINE_BYTES &&
                   sizeof(struct hf_reads_held) == HF_CACHE_LINE_BYTES,
               "found from the record at a fixed distance");
_Static_assert(HF_SLAB_COUNTERS_BYTES % HF_GRANULE_BYTES == 0 && HF_SLAB_COUNTERS_OFFSET % HF_GRANULE_BYTES == 0,
               "counters are mapped by themselves");

static void (*slices_watcher)(struct hf_thread_record *self, bool exits);

void hf_thread_watch_slices(void (*function)(struct hf_thread_record *self, bool exits)) {
    if (hf_load_relaxed(&slices_watcher) != function)
        hf_store_relaxed(&slices_watcher, function);
}

void hf_thread_leave_slices(struct hf_thread_record *self, bool exits) {
    void (*watcher)(struct hf_thread_record *, bool) = hf_load_relaxed(&slices_watcher);
    watcher(self, exits); // the thread that has begun a slice has set it
}

// For threads that came when there was no memory left. They share it, so its words mean nothing; its state keeps it out
// of every queue (queue.I3 needs a record a thread), and a thread counted as critical by mistake costs blocking, not
// safety.
static struct {
    struct hf_thread_record record[HF_SLAB_RECORDS];
    struct hf_thread_counters counters[HF_SLAB_RECORDS];
    struct hf_thread_private private_part[1];
} overflow;

_Static_assert(offsetof(__typeof__(overflow), counters) == HF_SLAB_COUNTERS_OFFSET &&
                   offsetof(__typeof__(overflow), private_part) == HF_SLAB_PRIVATE_OFFSET,
               "laid out as a slab is");

static char *counters_of(struct hf_thread_record *slab) {
    return (char *)slab + HF_SLAB_COUNTERS_OFFSET;
}

static bool has_shared_counters(struct hf_thread_record *slab) {
    return pool.shared && pool.shared_end == counters_of(slab) + HF_SLAB_COUNTERS_BYTES;
}

static void note_shared_counters_of(struct hf_thread_record *slab) {
    pool.shared_end = counters_of(slab) + HF_SLAB_COUNTERS_BYTES;
    hf_store_relaxed(&pool.shared->slabs, pool.shared->slabs + 1);
}

static void note_refusal(void) {
    hf_store_relaxed(&pool.shared->refused, pool.shared->refused + 1);
}

// Maps the next part of the shared memory where the slab has its counters. Should that fail they stay private: the slab
// works, and only its counts are not reported.
static void share_counters_of(struct hf_thread_record *slab) {
    if (!pool.shared)
        return;
    bool more = pool.shared->slabs < HF_SHARED_SLABS && !pool.keeps_maps;
    char *next = more ? hf_map_what_follows(pool.shared_end, HF_SLAB_COUNTERS_BYTES) : NULL;
    if (next && hf_sys_mremap_fixed(next, HF_SLAB_COUNTERS_BYTES, counters_of(slab))) {
        note_shared_counters_of(slab);
        return;
    }
    if (next)
        hf_sys_munmap(next, HF_SLAB_COUNTERS_BYTES);
    note_refusal();
}

static struct hf_thread_record **slab_before(struct hf_thread_record *slab) {
    return (struct hf_thread_record **)((char *)slab + HF_SLAB_PREVIOUS_OFFSET);
}

static bool map_slab(void) {
    void *slab = hf_map_memory(HF_SLAB_BYTES);
    if (!slab)
        return false;
    share_counters_of(slab);
    *slab_before(slab) = pool.slab;
    pool.slab = slab;
    pool.slab_used = 0;
    pool.slabs++;
    return true;
}

// Under the pool's lock. The record is the caller's, or that of a thread that is gone.
static void put_back(struct hf_thread_record *record) {
    struct hf_thread_private *own = hf_private(record);
    own->slice_begun = NULL;
    if (own->holds_owner)
        hf_store_release(own->holds_owner, 0); // notes.N4: pairs with the acquire of the thread that takes the row next
    own->holds_owner = NULL;
    hf_reads_of(record)->listed = hf_reads_of(record)->unlisted = 0;
    hf_store_relaxed(&record->in_slices, 0);
    hf_store_relaxed(&record->asleep, 0);
    hf_store_relaxed(&record->critical.critical_depth, 0);
    hf_store_relaxed(&record->critical.queue_state, HF_QUEUE_IDLE);
    hf_store_relaxed(&record->share_class, 0);
    record->observed = 0;
    hf_store_relaxed(&hf_counters(record)->waits_since, 0);
    record->turn = (struct hf_turn){0};
    own->free_next = pool.free;
    pool.free = record;
    hf_store_relaxed(&hf_threads_with_records, hf_load_relaxed(&hf_threads_with_records) - 1);
}

// Is this record, which was handed out, that of a thread which locked after the last of its destructors, and is gone?
// One whose number another of our threads has by now waits for the next time. With a slice that was begun it stays what
// it is: the slice would have to be ended first.
static bool is_left_behind(struct hf_thread_record *record) {
    bool is_gone = record->tid < HF_TIDS_OF_OURS && hf_sys_tgkill(pool.process, record->tid, 0) == -ESRCH;
    return is_gone && !hf_private(record)->slice_begun;
}

// Slabs may be swept from this many on.
enum { HF_SLABS_UNSWEPT = 4 };

// Requires that all records of the slabs are handed out. Takes back those that were left behind, unless that has been
// tried lately: for each record that is taken the system is asked after two threads at most. So there are no more slabs
// than HF_SLABS_UNSWEPT, or than hold about twice as many records as threads are alive.
static void sweep_if_due(void) {
    if (pool.slabs < HF_SLABS_UNSWEPT || pool.taken < (uint64_t)pool.slabs * HF_SLAB_RECORDS / 2 ||
        pool.taken_by_stranger || hf_sys_getpid() != pool.process)
        return;
    pool.taken = 0;
    for (struct hf_thread_record *slab = pool.slab; slab; slab = *slab_before(slab)) {
        for (int i = 0; i < HF_SLAB_RECORDS; i++) {
            if (is_left_behind(&slab[i]))
                put_back(&slab[i]);
        }
    }
}

static struct hf_thread_record *take_free(void) {
    struct hf_thread_record *record = pool.free;
    if (!record)
        return NULL;
    pool.free = hf_private(record)->free_next;
    hf_private(record)->pace = (struct hf_pace){.acquisitions = (uint32_t)hf_counters(record)->acquisitions};
    return record;
}

// Is there memory for the counters of the slab's next record? Where there is none to be shared they are private from
// here to the end of the page.
static bool has_counters_for_next(void) {
    enum { COUNTERS_A_PAGE = HF_PAGE_BYTES / sizeof(struct hf_thread_counters) };
    struct hf_thread_counters *next = hf_counters(&pool.slab[pool.slab_used]);
    if (pool.slab_used % COUNTERS_A_PAGE != 0 || !has_shared_counters(pool.slab) || hf_memory_is_there(next))
        return true;
    note_refusal();
    return hf_map_memory_at(next, HF_PAGE_BYTES);
}

static struct hf_thread_record *take_next_of_slab(void) {
    return has_counters_for_next() ? &pool.slab[pool.slab_used++] : NULL;
}

static struct hf_thread_record *take_from_slab(void) {
    if (pool.slab_used < HF_SLAB_RECORDS)
        return take_next_of_slab();
    sweep_if_due();
    struct hf_thread_record *swept = take_free();
    if (swept)
        return swept;
    return map_slab() ? take_next_of_slab() : NULL;
}

// Threads of other processes that share the memory have other numbers, and look gone to us. Worse, a thread whose first
// lock is in a vfork's child goes on with a record that has the child's number. From then on nothing is swept. Numbers
// of libc's own are those of the thread that waits for the child.
static void note_whose_it_is(void) {
    if (hf_tids_are_libcs())
        return;
    long process = hf_sys_getpid();
    if (pool.process == 0)
        pool.process = process;
    pool.taken_by_stranger = pool.taken_by_stranger || process != pool.process;
}

static struct hf_thread_record *share_overflow(void) {
    hf_store_relaxed(&overflow.record[0].critical.queue_state, HF_QUEUE_WAITING);
    return &overflow.record[0];
}

static struct hf_thread_record *take(void) {
    note_whose_it_is();
    struct hf_thread_record *record = take_free();
    if (!record)
        record = take_from_slab();
    if (!record)
        return share_overflow();
    pool.taken++;
    record->tid = hf_tid_asked();
    hf_store_relaxed(&record->share_class, ++pool.classes << 1);
    // A record that is used again goes on counting: so threads that do not live long are seen, too.
    hf_look_up_after(record, HF_FIRST_LOOK);
    return record;
}

// A forked child starts with slabs of its own: queues copied from the parent may still name records of threads that are
// gone here (so those are not handed out again), and shared counters are the parent's to write.
static void forget_slabs(void) {
    pool.free = NULL;
    pool.slab = NULL;
    pool.slab_used = HF_SLAB_RECORDS;
    pool.slabs = 0;
    pool.taken = 0;
}

// Whatever another thread of the parent was doing here. Other threads of the child wait (fork.F1).
static void start_over(void) {
    pool.word = HF_WORD_FREE;
    forget_slabs();
    pool.shared = NULL;
    hf_store_relaxed(&hf_threads_with_records, 1);            // the one that has forked (have_record_before_fork)
    pool.process = hf_tids_are_libcs() ? 0 : hf_sys_getpid(); // see begin_in_child
    pool.taken_by_stranger = false;
}

static void lock_pool(sigset_t *saved) {
    hf_masked_lock_in_order(&pool.word, &guard, saved);
}

static void release(void *record_pointer) {
    struct hf_thread_record *record = record_pointer;
    if (record != hf_self_record || record == &overflow.record[0])
        return;
    if (hf_private(record)->slice_begun)
        hf_thread_leave_slices(record, true);
    sigset_t saved;
    lock_pool(&saved); // no signal handler notes anything from here on
    hf_self_record = NULL;
    put_back(record);
    hf_masked_unlock(&pool.word, &saved);
}

// Values of keys below that lie in glibc's descriptor of the thread.
enum { HF_KEYS_INSIDE_THREADS = 32 };

// The highest key of those inside threads. Those below are given back.
static uint32_t find_exit_key(void) {
    pthread_key_t keys[HF_KEYS_INSIDE_THREADS + 1];
    int made = 0, inside = 0;
    while (inside == made && made <= HF_KEYS_INSIDE_THREADS && pthread_key_create(&keys[made], release) == 0)
        inside += keys[made++] < HF_KEYS_INSIDE_THREADS;
    for (int i = 0; i < made; i++) {
        if (i != inside - 1)
            pthread_key_delete(keys[i]);
    }
    if (inside == 0)
        return EXIT_KEY_GIVEN_UP;
    exit_key.key = keys[inside - 1];
    return EXIT_KEY_MADE;
}

// Without the pool's lock. A thread that comes while another one makes it does without.
static void make_exit_key(void) {
    uint32_t none = EXIT_KEY_NONE;
    if (hf_load_relaxed(&exit_key.state) == none && hf_cas_acquire(&exit_key.state, none, EXIT_KEY_BEING_MADE))
        hf_store_release(&exit_key.state, find_exit_key());
}

// The program may have been given the key just then: it has no value in this thread yet, for the thread is here.
static void ask_for_notice_of_exit(struct hf_thread_record *self) {
    if (hf_load_acquire(&exit_key.state) != EXIT_KEY_MADE)
        return;
    pthread_setspecific(exit_key.key, self);
    if (hf_load_acquire(&exit_key.state) != EXIT_KEY_MADE)
        pthread_setspecific(exit_key.key, NULL);
}

bool hf_thread_give_up_exit_key(void) {
    return hf_cas_acquire(&exit_key.state, EXIT_KEY_MADE, EXIT_KEY_GIVEN_UP) && pthread_key_delete(exit_key.key) == 0;
}

// Gives a thread that has a record another one, after the slabs that there were have been forgotten.
static void move_to_new_slab(void) {
    struct hf_thread_record *before = hf_self_record;
    if (!before)
        return;
    struct hf_thread_record *self = take();
    if (self->tid) {
        self->critical.critical_depth = before->critical.critical_depth;
        if (hf_reads_of(before))
            *hf_reads_of(self) = *hf_reads_of(before);
        if (before->share_class & HF_CLASS_IS_MADE)
            self->share_class = before->share_class;
    }
    hf_program_order();
    hf_self_record = self;
    ask_for_notice_of_exit(self);
}

// Handlers that were registered before ours may have started threads in the child.
static void begin_in_child(void) {
    sigset_t saved;
    lock_pool(&saved);
    if (pool.process == 0)
        pool.process = hf_tid_asked(); // of the thread that has forked: the child's main thread
    tag_process(pool.process);
    move_to_new_slab();
    hf_masked_unlock(&pool.word, &saved);
}

// In the child, handlers that were registered before ours run before begin_in_child. If they lock, and the kernel
// zeroes no marks, they must not need the pool, which some other thread may have held: so the forking thread gets its
// record now.
static void have_record_before_fork(void) {
    hf_self();
}

__attribute__((constructor)) static void watch_forks(void) {
    pool.process = hf_sys_getpid();
    tag_process(pool.process);
    hf_fork_guard_watch(&guard, NULL, 0);
    pthread_atfork(have_record_before_fork, NULL, begin_in_child);
}

struct hf_thread_record *hf_thread_record_acquire(void) {
    int saved_errno = errno;
    sigset_t saved;
    make_exit_key();
    lock_pool(&saved);
    struct hf_thread_record *self = hf_self_record; // a signal handler that ran just before may have acquired it
    if (!self) {
        self = take();
        if (self->tid)
            hf_store_relaxed(&hf_threads_with_records, hf_load_relaxed(&hf_threads_with_records) + 1);
        pool.threads++;
        hf_program_order();
        hf_self_record = self; // before anything below can lock and come here again
    }
    hf_masked_unlock(&pool.word, &saved);
    ask_for_notice_of_exit(self);
    hf_tell_scheduler_of_record(hf_thread_record_tls_offset());
    errno = saved_errno;
    return self;
}

void hf_thread_set_class(struct hf_thread_record *self, uint32_t number) {
    if (!self->tid)
        return;
    if (number) {
        hf_store_relaxed(&self->share_class, (uint64_t)number << 1 | HF_CLASS_IS_MADE);
        return;
    }
    sigset_t saved;
    lock_pool(&saved);
    hf_store_relaxed(&self->share_class, ++pool.classes << 1);
    hf_masked_unlock(&pool.word, &saved);
}

void hf_thread_records_stay_left(void) {
    sigset_t saved;
    lock_pool(&saved);
    pool.taken_by_stranger = true;
    hf_masked_unlock(&pool.word, &saved);
}

bool hf_thread_was_always_alone(void) {
    return hf_load_relaxed(&pool.threads) <= 1;
}

int64_t hf_thread_record_tls_offset(void) {
    return (int64_t)((char *)&hf_self_record - hf_thread_pointer());
}

void hf_thread_counters_stay_mapped(void) {
    sigset_t saved;
    lock_pool(&saved);
    pool.keeps_maps = true;
    hf_masked_unlock(&pool.word, &saved);
}

// Under the pool's lock: slabs with counters in the memory behind the descriptor, the first one made now.
static int begin_sharing(int fd, size_t offset, struct hf_counters_shared *told) {
    pool.shared = NULL;
    forget_slabs();
    if (!map_slab())
        return ENOMEM;
    char *counters = counters_of(pool.slab);
    void *mapped = hf_sys_mmap(counters, HF_SLAB_COUNTERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                               (off_t)offset);
    int error = hf_mmap_error(mapped);
    if (error)
        return error;
    hf_sys_madvise(counters, HF_SLAB_COUNTERS_BYTES, MADV_DONTDUMP);
    pool.shared = told;
    note_shared_counters_of(pool.slab);
    return 0;
}

bool hf_thread_counters_share(int fd, size_t offset, struct hf_counters_shared *told) {
    sigset_t saved; // a constructor that ran before ours may have started threads
    lock_pool(&saved);
    int error = begin_sharing(fd, offset, told);
    move_to_new_slab();
    hf_masked_unlock(&pool.word, &saved);
    if (error)
        errno = error;
    return error == 0;
}
