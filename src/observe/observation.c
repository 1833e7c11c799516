// SPDX-License-Identifier: MIT OR Apache-2.0
#include "observe/observation.h"

#include "base/shared_memory.h"
#include "observe/creation_sites.h"
#include "observe/rule_matches.h"
#include "observe/thread_holds.h"

// After so many ticks (a second or two on x86, longer where the counter is slow) an observation gives place to another.
static const uint64_t observed_for_long_ticks = 1ull << 32;

bool hf_statistics_begin(int fd) {
    if (!hf_noting_begin(fd))
        return false;
    hf_rule_matches_begin();
    return true;
}

static void add(uint64_t *count, uint64_t more) {
    if (more)
        hf_fetch_add_relaxed(count, more);
}

static void raise_to(uint64_t *longest, uint64_t ticks, uint32_t *whose, uint32_t tid) {
    uint64_t seen = hf_load_relaxed(longest);
    while (ticks > seen) {
        if (hf_cas_relaxed_or_load(longest, &seen, ticks)) {
            if (whose)
                hf_store_relaxed(whose, tid);
            return;
        }
    }
}

// In the table of a level: the lock's place, or the free one that would be its; NULL when all are others'.
static uint64_t *place_of(char *level, uint32_t number, uint64_t lock) {
    uint64_t *names = hf_statistics_names(level);
    uint32_t place = hf_statistics_first_place(lock, number);
    for (int probes = 0; probes < HF_STATISTICS_PROBES; probes++, place = (place + 1) % hf_statistics_places(number)) {
        uint64_t name = hf_load_relaxed(&names[place]);
        if (name == lock || name == 0)
            return &names[place];
    }
    return NULL;
}

static struct hf_lock_statistics *entry_at(char *level, uint32_t number, const uint64_t *place) {
    return &hf_statistics_entries(level, number)[place - hf_statistics_names(level)];
}

// The lock's entry, if it has one.
static struct hf_lock_statistics *known_entry_of(uint64_t lock) {
    for (uint32_t number = 0; number < HF_STATISTICS_LEVELS; number++) {
        char *level = hf_load_acquire(&hf_noting.level[number]); // pairs with the release in map_level
        uint64_t *place = level ? place_of(level, number, lock) : NULL;
        if (place)
            return hf_load_relaxed(place) == lock ? entry_at(level, number, place) : NULL;
    }
    return NULL;
}

// Its ends may lie in two pages.
static bool entry_is_there(struct hf_lock_statistics *entry) {
    return hf_memory_is_there(entry) && hf_memory_is_there(&entry->hold_histogram[HF_HISTOGRAM_BUCKETS - 1]);
}

enum place_found { PLACE_IS_ITS, PLACES_ARE_OTHERS, PLACE_IS_REFUSED };

// Finds the lock's place in a level, or takes one.
static enum place_found take_place(char *level, uint32_t number, uint64_t lock, struct hf_lock_statistics **entry) {
    for (uint64_t *place; (place = place_of(level, number, lock));) {
        *entry = entry_at(level, number, place);
        if (hf_load_relaxed(place) == lock)
            return PLACE_IS_ITS;
        if (!entry_is_there(*entry)) // notes.N6
            return PLACE_IS_REFUSED;
        // The second thread at a free place finds the first one's lock there, which may be the same (notes.N1).
        if (hf_cas_relaxed(place, 0, lock)) {
            hf_store_relaxed(&(*entry)->creation_site, hf_creation_site_of(lock));
            return PLACE_IS_ITS;
        }
    }
    return PLACES_ARE_OTHERS;
}

// The lock's entry, from now on if it had none; NULL when there is no place (notes.N3).
static struct hf_lock_statistics *entry_of(char *memory, uint64_t lock, enum hf_statistics_kind kind) {
    struct hf_lock_statistics *entry = NULL;
    enum place_found found = PLACES_ARE_OTHERS;
    for (uint32_t number = 0; number < HF_STATISTICS_LEVELS && found == PLACES_ARE_OTHERS; number++) {
        char *level = hf_statistics_level(number);
        found = level ? take_place(level, number, lock, &entry) : PLACE_IS_REFUSED;
    }
    if (found != PLACE_IS_ITS) {
        if (found == PLACE_IS_REFUSED)
            hf_note_refusal();
        add(&hf_statistics_header_in(memory)->not_noted, 1);
        return NULL;
    }
    if (kind != HF_STATISTICS_UNKNOWN && hf_load_relaxed(&entry->kind) != kind)
        hf_store_relaxed(&entry->kind, kind);
    return entry;
}

// Ticks of two CPUs may differ a little.
static uint64_t ticks_since(uint64_t then) {
    uint64_t now = hf_ticks();
    return now > then ? now - then : 0;
}

static void add_wait(struct hf_lock_statistics *entry, const struct hf_observation *seen) {
    uint64_t stands_for = seen->stands_for;
    add(&entry->sleeps, seen->sleeps * stands_for);
    add(&entry->wait_ticks, seen->wait_ticks * stands_for);
    add(&entry->asleep_ticks, seen->asleep_ticks * stands_for);
    add(&entry->wait_histogram[hf_histogram_bucket(seen->wait_ticks)], stands_for);
    raise_to(&entry->longest_wait_ticks, seen->wait_ticks, NULL, 0);
}

static void add_way(struct hf_lock_statistics *entry, const struct hf_observation *seen) {
    if (seen->way == HF_ACQUIRED_FREE) {
        add(&entry->uncontended, seen->stands_for);
        return;
    }
    if (seen->way == HF_ACQUIRED_SPINNING) // those that slept are counted by count_slept
        add(&entry->spun, seen->stands_for);
    add_wait(entry, seen);
}

static bool clock_is_forgone;

void hf_statistics_forgo_clock(void) {
    hf_store_relaxed(&clock_is_forgone, true);
}

static void note_without_hold(const void *lock, const struct hf_observation *seen) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    struct hf_lock_statistics *entry =
        memory ? entry_of(memory, (uintptr_t)lock, (enum hf_statistics_kind)seen->kind) : NULL;
    if (entry)
        add_way(entry, seen);
}

static void note_hold(char *memory, uint64_t lock, struct hf_thread_record *self, uint64_t ticks,
                      enum hf_hold_source source) {
    if (!hf_thread_holds_add(self, lock, ticks, source))
        add(&hf_statistics_header_in(memory)->not_noted, 1);
}

static void note_release(struct hf_thread_record *self) {
    const void *lock = self->observed;
    const struct hf_observation *seen = hf_observation_of(self);
    uint64_t held_ticks = ticks_since(seen->since_ticks);
    char *memory = hf_load_relaxed(&hf_noting.memory);
    struct hf_lock_statistics *entry =
        memory ? entry_of(memory, (uintptr_t)lock, (enum hf_statistics_kind)seen->kind) : NULL;
    if (!entry)
        return;
    add_way(entry, seen);
    add(&entry->hold_ticks, held_ticks * seen->stands_for);
    add(&entry->hold_histogram[hf_histogram_bucket(held_ticks)], seen->stands_for);
    raise_to(&entry->longest_hold_ticks, held_ticks, &entry->longest_holder, self->tid);
    note_hold(memory, (uintptr_t)lock, self, held_ticks * seen->stands_for, HF_HOLD_ESTIMATED);
}

void hf_note_release(struct hf_thread_record *self) {
    if (hf_observation_of(self)->stands_for != 0 && !hf_load_relaxed(&clock_is_forgone))
        note_release(self);
    hf_store_relaxed(&self->observed, NULL);
}

void hf_note_held(const void *lock, struct hf_thread_record *self, uint64_t ticks) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (memory)
        note_hold(memory, (uintptr_t)lock, self, ticks, HF_HOLD_COUNTED);
}

static bool may_observe_another(const struct hf_thread_record *self, const void *lock) {
    return !self->observed || self->observed == lock ||
           ticks_since(hf_observation_of((struct hf_thread_record *)self)->since_ticks) > observed_for_long_ticks;
}

// The caller has the lock.
static void observe(const void *lock, struct hf_thread_record *self, const struct hf_observation *seen) {
    if (seen->kind != HF_STATISTICS_MUTEX || !may_observe_another(self, lock)) {
        note_without_hold(lock, seen);
        return;
    }
    if (self->observed && hf_observation_of(self)->stands_for != 0)
        note_without_hold(self->observed, hf_observation_of(self));
    *hf_observation_of(self) = *seen;
    hf_observation_of(self)->since_ticks = hf_ticks();
    hf_store_relaxed(&self->observed, lock); // last: the monitor may look at any time
}

// Observed for nothing but the end of its turn (lock/wait/turn.h).
static void look_up_at_release(const void *lock, struct hf_thread_record *self) {
    hf_observation_of(self)->stands_for = 0;
    hf_store_relaxed(&self->observed, lock);
}

void hf_note_free(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind) {
    if (!hf_next_is_to_be_noted(self) || hf_load_relaxed(&clock_is_forgone)) {
        if (kind == HF_STATISTICS_MUTEX && (!self->observed || hf_observation_of(self)->stands_for == 0))
            look_up_at_release(lock, self);
        return;
    }
    observe(lock, self, &(struct hf_observation){.stands_for = HF_NOTED_PERIOD, .way = HF_ACQUIRED_FREE, .kind = kind});
}

// How many acquisitions after sleep a thread keeps to itself, as long as they are of one lock.
enum { HF_PENDING_MAX = 64 };

static void count_slept(char *memory, uint64_t lock, struct hf_thread_counters *counters,
                        enum hf_statistics_kind kind) {
    uint64_t pending = counters->pending + 1;
    if (counters->pending_lock == lock && pending < HF_PENDING_MAX) {
        hf_store_relaxed(&counters->pending, pending);
        return;
    }
    uint64_t before = counters->pending_lock;
    hf_store_relaxed(&counters->pending, before == lock ? 0 : 1);
    hf_store_relaxed(&counters->pending_lock, lock);
    // The new lock has a place from its first time on: a reader looks for what is pending by the places.
    struct hf_lock_statistics *entry = entry_of(memory, lock, kind);
    if (before != lock)
        entry = --pending ? entry_of(memory, before, HF_STATISTICS_UNKNOWN) : NULL;
    if (entry)
        add(&entry->slept, pending);
}

static void note_giving_up(char *memory, uint64_t lock, enum hf_statistics_kind kind) {
    struct hf_lock_statistics *entry = entry_of(memory, lock, kind);
    if (entry)
        add(&entry->gave_up, 1);
}

void hf_note_wait_slowly(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind,
                         const struct hf_wait *wait, bool acquired) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (!memory || !self->tid) // a record that threads share observes nothing
        return;
    if (!acquired) {
        note_giving_up(memory, (uintptr_t)lock, kind);
        return;
    }
    if (wait->sleeps)
        count_slept(memory, (uintptr_t)lock, hf_counters(self), kind);
    if (!wait->began_ticks)
        return;
    struct hf_observation seen = {.wait_ticks = ticks_since(wait->began_ticks),
                                  .asleep_ticks = wait->asleep_ticks,
                                  .sleeps = wait->sleeps,
                                  .stands_for = HF_CONTENDED_PERIOD,
                                  .way = wait->sleeps ? HF_ACQUIRED_ASLEEP : HF_ACQUIRED_SPINNING,
                                  .kind = kind};
    observe(lock, self, &seen);
}

// The entry of a lock that is made where another one was says from now on where this one was made.
void hf_note_creation(const void *lock, const void *site) {
    hf_creation_sites_note(lock, site);
    char *memory = hf_load_relaxed(&hf_noting.memory);
    struct hf_lock_statistics *entry = memory ? known_entry_of((uintptr_t)lock) : NULL;
    if (entry)
        hf_store_relaxed(&entry->creation_site, hf_creation_site_of((uintptr_t)lock));
}
