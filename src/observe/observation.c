// SPDX-License-Identifier: MIT OR Apache-2.0
#include "observe/observation.h"

#include "base/shared_memory.h"
#include "observe/creation_sites.h"
#include "observe/rule_matches.h"
#include "observe/thread_holds.h"

// After so long, 1.4 s at 3 GHz, an observation gives place to another.
static uint64_t observed_for_long_ticks(void) {
    return 1ull << 32 >> hf_tick_coarseness();
}

static void forget_marks(void);

bool hf_statistics_begin(int fd) {
    forget_marks(); // a forked child's are its parent's
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

// A lock's hold by somebody else, seen by a thread that sleeps for it: when, in the low 48 bits, and which lock's, by
// some bits of its address. The release takes it away, or the sleeper when it awakes: no later release finds it.
enum { HF_HOLD_MARKS = 512, HF_MARK_TICKS_BITS = 48 };
static uint64_t hold_marks[HF_HOLD_MARKS];

static uint64_t *mark_of(uint64_t lock) {
    return &hold_marks[hf_address_hash(lock, 32) % HF_HOLD_MARKS];
}

static uint64_t mark_at(uint64_t lock, uint64_t ticks) {
    uint64_t name = hf_address_hash(lock, 32) / HF_HOLD_MARKS;
    return name << HF_MARK_TICKS_BITS | (ticks & ((1ull << HF_MARK_TICKS_BITS) - 1));
}

static void forget_marks(void) {
    for (int i = 0; i < HF_HOLD_MARKS; i++)
        hf_store_relaxed(&hold_marks[i], 0);
}

void hf_note_that_it_is_held(struct hf_wait *wait) {
    uint64_t lock = (uintptr_t)wait->lock, mark = mark_at(lock, wait->asleep_since);
    if (hf_load_relaxed(mark_of(lock)) == 0 && hf_cas_relaxed(mark_of(lock), 0, mark))
        wait->mark = mark; // one of before that was kept, and is there no more, a release has taken
}

static void take_own_mark_away(struct hf_wait *wait) {
    uint64_t *mark = mark_of((uintptr_t)wait->lock);
    if (hf_load_relaxed(mark) == wait->mark)
        hf_cas_relaxed(mark, wait->mark, 0);
    wait->mark = 0;
}

// Takes the lock's mark: for how long it has been held at least since a thread sleeps for it. 0: not known.
static uint64_t take_mark(uint64_t lock, uint64_t now) {
    uint64_t *place = mark_of(lock), mark = hf_load_relaxed(place);
    bool is_its = mark != 0 && (mark ^ mark_at(lock, now)) >> HF_MARK_TICKS_BITS == 0;
    if (!is_its || !hf_cas_relaxed(place, mark, 0))
        return 0;
    uint64_t ticks = (now - mark) & ((1ull << HF_MARK_TICKS_BITS) - 1);
    return ticks >> (HF_MARK_TICKS_BITS - 1) ? 0 : ticks; // the other's CPU may be a little ahead
}

// The fewest ticks between two looks, when there are many to choose from: 1.4 ms at 3 GHz. A look takes half a
// microsecond, and whoever waits gets the lock meanwhile, with its lines.
static uint64_t ticks_between_looks(void) {
    return 1ull << 22 >> hf_tick_coarseness();
}

// Says for how many the one at hand stands, and chooses how many are left out before the next one.
static uint32_t choose_next(struct hf_sampler *sampler, uint32_t most) {
    uint64_t now = hf_ticks(), passed = now - sampler->looked_ticks, look_ticks = ticks_between_looks();
    uint32_t stands_for = sampler->gap ? sampler->gap : 1;
    uint64_t mean = sampler->mean_gap ? sampler->mean_gap : 1;
    if (passed < look_ticks / 2)
        mean = mean * 2;
    else if (passed > look_ticks * 2)
        mean = mean * look_ticks / passed;
    if (mean < 1)
        mean = 1;
    if (mean > most)
        mean = most;
    sampler->looked_ticks = now;
    sampler->mean_gap = (uint16_t)mean;
    // 1 to 2 mean - 1, each as likely.
    uint64_t chance = hf_address_hash(now ^ (uintptr_t)sampler, 32) & 0xffffffff;
    sampler->gap = (uint16_t)(1 + (chance * (2 * mean - 1) >> 32));
    return stands_for;
}

static bool clock_is_forgone;

void hf_statistics_forgo_clock(void) {
    hf_store_relaxed(&clock_is_forgone, true);
}

static bool may_look_at_clock(void) {
    return !hf_load_relaxed(&clock_is_forgone);
}

struct hf_hold_end hf_hold_ends_slowly(const void *lock, bool wakes) {
    if (!may_look_at_clock())
        return (struct hf_hold_end){0};
    uint64_t now = hf_ticks();
    return (struct hf_hold_end){.at_ticks = now, .marked_ticks = wakes ? take_mark((uintptr_t)lock, now) : 0};
}

uint32_t hf_plan_next_look(struct hf_thread_record *self) {
    struct hf_thread_private *own = hf_private(self);
    uint32_t stands_for = 0;
    if (hf_statistics_are_on() && hf_until_noted(self) <= 0 && may_look_at_clock()) {
        stands_for = choose_next(&own->acquisitions, HF_NOTED_PERIOD);
        own->acquisitions.next = (uint32_t)hf_counters(self)->acquisitions + own->acquisitions.gap;
    }
    hf_look_up_after(self, HF_LOOKS_APART);
    return stands_for;
}

static void note_hold(char *memory, uint64_t lock, struct hf_thread_record *self, uint64_t ticks,
                      enum hf_hold_source source) {
    if (!hf_thread_holds_add(self, lock, ticks, source))
        add(&hf_statistics_header_in(memory)->not_noted, 1);
}

// The longest before the histogram: no reader finds a time longer than it.
static void add_times(struct hf_lock_statistics *entry, const struct hf_noted_sums *sums,
                      const struct hf_noted_times *times, uint32_t tid) {
    raise_to(&entry->longest_wait_ticks, sums->longest_wait_ticks, NULL, 0);
    raise_to(&entry->longest_hold_ticks, sums->longest_hold_ticks, &entry->longest_holder, tid);
    for (int i = 0; i < sums->waits; i++)
        add(&entry->wait_histogram[times->wait_bucket[i]], 1);
    for (int i = 0; i < sums->holds; i++)
        add(&entry->hold_histogram[times->hold_bucket[i]], 1);
}

// What the thread has kept to itself goes to the lock's entry.
static void hand_over(char *memory, struct hf_thread_record *self) {
    struct hf_thread_counters *counters = hf_counters(self);
    struct hf_noted_sums *sums = hf_noted_sums_of(self);
    uint64_t lock = counters->pending_lock;
    if (counters->pending == 0 && sums->waits == 0 && sums->holds == 0)
        return;
    struct hf_lock_statistics *entry = entry_of(memory, lock, (enum hf_statistics_kind)sums->kind);
    if (entry) {
        add(&entry->slept, counters->pending);
        add(&entry->sleeps, sums->sleeps);
        add(&entry->wait_ticks, sums->wait_ticks);
        add(&entry->asleep_ticks, sums->asleep_ticks);
        add(&entry->hold_ticks, sums->hold_ticks);
        add_times(entry, sums, hf_noted_times_of(self), self->tid);
        if (sums->hold_ticks)
            note_hold(memory, lock, self, sums->hold_ticks, HF_HOLD_ESTIMATED);
    }
    hf_store_relaxed(&counters->pending, 0);
    *sums = (struct hf_noted_sums){0};
}

// From now on the thread keeps to itself what it notes of this lock.
static struct hf_noted_sums *sums_for(char *memory, struct hf_thread_record *self, uint64_t lock,
                                      enum hf_statistics_kind kind) {
    struct hf_thread_counters *counters = hf_counters(self);
    struct hf_noted_sums *sums = hf_noted_sums_of(self);
    if (counters->pending_lock != lock) {
        hand_over(memory, self);
        entry_of(memory, lock, kind); // a reader looks for what is pending by the places
        hf_store_relaxed(&counters->pending_lock, lock);
    }
    sums->kind = kind;
    return sums;
}

// What is kept is as old as this at most when the next is noted: 2.8 ms at 3 GHz.
static uint64_t kept_ticks(void) {
    return 1ull << 23 >> hf_tick_coarseness();
}

static void hand_over_if_due(char *memory, struct hf_thread_record *self, uint64_t now) {
    struct hf_noted_sums *sums = hf_noted_sums_of(self);
    if (sums->waits >= HF_NOTED_TIMES || sums->holds >= HF_NOTED_TIMES || now - sums->since_ticks > kept_ticks())
        hand_over(memory, self);
}

// The caller has the lock: nothing is handed over before it gives that back, unless it has done so unseen all the time.
static void keep_wait(char *memory, struct hf_thread_record *self, const struct hf_wait *wait, uint64_t wait_ticks,
                      enum hf_statistics_kind kind) {
    if (hf_noted_sums_of(self)->waits >= HF_NOTED_TIMES)
        hand_over(memory, self);
    struct hf_noted_sums *sums = sums_for(memory, self, (uintptr_t)wait->lock, kind);
    if (sums->since_ticks == 0)
        sums->since_ticks = wait->began_ticks;
    sums->wait_ticks += wait_ticks;
    sums->asleep_ticks += wait->asleep_ticks < wait_ticks ? wait->asleep_ticks : wait_ticks;
    sums->sleeps += wait->sleeps;
    if (wait_ticks > sums->longest_wait_ticks)
        sums->longest_wait_ticks = wait_ticks;
    if (sums->waits < HF_NOTED_TIMES) // a signal handler may come in between
        hf_noted_times_of(self)->wait_bucket[sums->waits++] = (uint8_t)hf_histogram_bucket(wait_ticks);
    hf_store_relaxed(&hf_counters(self)->pending, hf_counters(self)->pending + 1);
}

static void keep_hold(char *memory, struct hf_thread_record *self, uint64_t lock, uint64_t ticks, uint64_t now) {
    struct hf_noted_sums *sums = sums_for(memory, self, lock, HF_STATISTICS_MUTEX);
    if (sums->since_ticks == 0)
        sums->since_ticks = now - ticks;
    sums->hold_ticks += ticks;
    if (ticks > sums->longest_hold_ticks)
        sums->longest_hold_ticks = ticks;
    if (sums->holds < HF_NOTED_TIMES)
        hf_noted_times_of(self)->hold_bucket[sums->holds++] = (uint8_t)hf_histogram_bucket(ticks);
    hand_over_if_due(memory, self, now);
}

static void add_wait(struct hf_lock_statistics *entry, const struct hf_observation *seen) {
    uint64_t stands_for = seen->stands_for;
    raise_to(&entry->longest_wait_ticks, seen->wait_ticks, NULL, 0);
    add(&entry->sleeps, seen->sleeps);
    add(&entry->wait_ticks, seen->wait_ticks * stands_for);
    add(&entry->asleep_ticks, seen->asleep_ticks);
    add(&entry->spin_spread, hf_estimate_spread(seen->wait_ticks, seen->stands_for));
    add(&entry->wait_histogram[hf_histogram_bucket(seen->wait_ticks)], stands_for);
}

// Of those that slept, the thread keeps that (keep_wait).
static void add_way(struct hf_lock_statistics *entry, const struct hf_observation *seen) {
    if (seen->way == HF_ACQUIRED_FREE)
        add(&entry->uncontended, seen->stands_for);
    if (seen->way != HF_ACQUIRED_SPINNING)
        return;
    add(&entry->spun, seen->stands_for);
    add_wait(entry, seen);
}

static void note_without_hold(char *memory, const struct hf_observation *seen) {
    if (!memory || seen->way == HF_ACQUIRED_ASLEEP)
        return;
    struct hf_lock_statistics *entry = entry_of(memory, seen->lock, (enum hf_statistics_kind)seen->kind);
    if (entry)
        add_way(entry, seen);
}

static void add_hold(char *memory, struct hf_thread_record *self, const struct hf_observation *seen, uint64_t ticks) {
    struct hf_lock_statistics *entry = entry_of(memory, seen->lock, (enum hf_statistics_kind)seen->kind);
    if (!entry)
        return;
    raise_to(&entry->longest_hold_ticks, ticks, &entry->longest_holder, self->tid);
    add(&entry->hold_ticks, ticks * seen->stands_for);
    add(&entry->hold_spread, hf_estimate_spread(ticks, seen->stands_for));
    add(&entry->hold_histogram[hf_histogram_bucket(ticks)], seen->stands_for);
    note_hold(memory, seen->lock, self, ticks * seen->stands_for, HF_HOLD_ESTIMATED);
}

// Which of the thread's observations is one of the lock. HF_OBSERVED_MAX: none.
static unsigned number_of(struct hf_thread_record *self, uint64_t lock) {
    unsigned i = 0;
    while (i < HF_OBSERVED_MAX && !((self->observed >> i & 1) && hf_observation_at(self, i)->lock == lock))
        i++;
    return i;
}

static void note_hold_that_ends(char *memory, uint64_t lock, struct hf_thread_record *self,
                                const struct hf_observation *seen, struct hf_hold_end end) {
    if (!seen) {
        if (end.marked_ticks)
            keep_hold(memory, self, lock, end.marked_ticks, end.at_ticks);
        return;
    }
    uint64_t held_ticks = end.at_ticks > seen->since_ticks ? end.at_ticks - seen->since_ticks : 0;
    note_without_hold(memory, seen);
    if (end.marked_ticks || seen->way == HF_ACQUIRED_ASLEEP)
        keep_hold(memory, self, lock, held_ticks, end.at_ticks);
    else
        add_hold(memory, self, seen, held_ticks);
}

// Out of line: a release at which a thread looks at its turn alone needs none of it.
static __attribute__((noinline)) void note_end_of_hold(const void *lock, struct hf_thread_record *self,
                                                       struct hf_hold_end end) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    unsigned number = number_of(self, (uintptr_t)lock);
    const struct hf_observation *seen = number < HF_OBSERVED_MAX ? hf_observation_at(self, number) : NULL;
    if (seen)
        self->observed &= ~(1ull << number);
    if (memory && may_look_at_clock())
        note_hold_that_ends(memory, (uintptr_t)lock, self, seen, end);
}

bool hf_note_release_slowly(const void *lock, struct hf_thread_record *self, struct hf_hold_end end) {
    if (!self->tid)
        return false;
    if (end.at_ticks || hf_has_timed_holds(self))
        note_end_of_hold(lock, self, end);
    bool looks = self->observed & HF_TURN_LOOK && hf_private(self)->turn_lock == lock;
    if (looks)
        self->observed &= ~HF_TURN_LOOK;
    return looks;
}

void hf_note_held(const void *lock, struct hf_thread_record *self, uint64_t ticks) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (memory)
        note_hold(memory, (uintptr_t)lock, self, ticks, HF_HOLD_COUNTED);
}

// Where the thread may keep an observation of the lock. HF_OBSERVED_MAX: all places are others', which may be held yet.
static unsigned place_for(struct hf_thread_record *self, uint64_t lock) {
    unsigned place = number_of(self, lock);
    for (unsigned i = 0; i < HF_OBSERVED_MAX && place == HF_OBSERVED_MAX; i++) {
        if (!(self->observed >> i & 1) ||
            ticks_since(hf_observation_at(self, i)->since_ticks) > observed_for_long_ticks())
            place = i;
    }
    return place;
}

// The caller has the lock, since `has_since` or, if that is 0, now.
static void observe(struct hf_thread_record *self, const struct hf_observation *seen, uint64_t has_since) {
    bool has_hold = seen->kind == HF_STATISTICS_MUTEX && self->tid;
    unsigned place = has_hold ? place_for(self, seen->lock) : HF_OBSERVED_MAX;
    char *memory = hf_load_relaxed(&hf_noting.memory);
    uint64_t now = hf_ticks();
    if (place == HF_OBSERVED_MAX) {
        note_without_hold(memory, seen);
        if (memory && seen->way == HF_ACQUIRED_ASLEEP)
            hand_over_if_due(memory, self, now);
        return;
    }
    if (self->observed >> place & 1)
        note_without_hold(memory, hf_observation_at(self, place));
    *hf_observation_at(self, place) = *seen;
    hf_observation_at(self, place)->since_ticks = has_since ? has_since : now;
    self->observed |= 1ull << place;
}

void hf_note_free(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind) {
    uint32_t stands_for = hf_plan_next_look(self);
    if (kind == HF_STATISTICS_MUTEX && self->tid) {
        hf_private(self)->turn_lock = lock;
        self->observed |= HF_TURN_LOOK;
    }
    if (stands_for != 0)
        observe(self,
                &(struct hf_observation){
                    .lock = (uintptr_t)lock, .stands_for = stands_for, .way = HF_ACQUIRED_FREE, .kind = kind},
                0);
}

void hf_note_sleep(struct hf_wait *wait) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    struct hf_thread_record *self = wait->self;
    wait->asleep_since = hf_ticks();
    if (!memory)
        return;
    sums_for(memory, self, (uintptr_t)wait->lock, HF_STATISTICS_UNKNOWN);
    uint32_t since = (uint32_t)(wait->began_ticks >> hf_waits_since_shift());
    hf_store_release(&hf_counters(self)->waits_since, since ? since : 1); // after the lock's address
}

void hf_note_end_of_sleep(struct hf_wait *wait) {
    wait->asleep_ticks += ticks_since(wait->asleep_since);
    if (wait->mark && !wait->keeps_mark)
        take_own_mark_away(wait);
}

// Spins are many. Whether the one at hand, which is over, is one that is looked at, and then for how many it stands.
static uint32_t spin_stands_for(struct hf_thread_record *self) {
    struct hf_thread_private *own = hf_private(self);
    if (own->spins.next > 1) {
        own->spins.next--;
        return 0;
    }
    uint32_t stands_for = choose_next(&own->spins, HF_SPINS_NOTED_PERIOD);
    own->spins.next = own->spins.gap;
    return stands_for;
}

static void note_giving_up(char *memory, const struct hf_wait *wait, enum hf_statistics_kind kind) {
    struct hf_lock_statistics *entry = entry_of(memory, (uintptr_t)wait->lock, kind);
    if (!entry)
        return;
    add(&entry->gave_up, 1);
    add_wait(entry, &(struct hf_observation){.wait_ticks = ticks_since(wait->began_ticks),
                                             .asleep_ticks = wait->asleep_ticks,
                                             .sleeps = wait->sleeps,
                                             .stands_for = 1});
}

void hf_note_wait_slowly(const void *lock, struct hf_thread_record *self, enum hf_statistics_kind kind,
                         struct hf_wait *wait, bool acquired) {
    char *memory = hf_load_relaxed(&hf_noting.memory);
    if (wait->mark)
        take_own_mark_away(wait);
    if (!memory || !self->tid)
        return;
    if (!acquired) {
        note_giving_up(memory, wait, kind);
        return;
    }
    struct hf_observation seen = {.lock = (uintptr_t)lock, .kind = kind};
    if (wait->sleeps) {
        seen.way = HF_ACQUIRED_ASLEEP;
        seen.stands_for = 1;
        keep_wait(memory, self, wait, ticks_since(wait->began_ticks), kind);
    } else {
        seen.way = HF_ACQUIRED_SPINNING;
        seen.stands_for = spin_stands_for(self);
        if (!seen.stands_for)
            return;
        seen.wait_ticks = ticks_since(wait->began_ticks);
    }
    observe(self, &seen, wait->has_since);
}

// The entry of a lock that is made where another one was says from now on where this one was made.
void hf_note_creation(const void *lock, const void *site) {
    hf_creation_sites_note(lock, site);
    char *memory = hf_load_relaxed(&hf_noting.memory);
    struct hf_lock_statistics *entry = memory ? known_entry_of((uintptr_t)lock) : NULL;
    if (entry)
        hf_store_relaxed(&entry->creation_site, hf_creation_site_of((uintptr_t)lock));
}
