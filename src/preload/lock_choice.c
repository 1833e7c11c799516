// SPDX-License-Identifier: MIT OR Apache-2.0
#include "preload/lock_choice.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "holdfast/holdfast.h"

#include "base/numa.h"
#include "base/pause.h"
#include "lock/flexguard/flexguard_lock.h"
#include "lock/scl/rwscl_table.h"
#include "lock/scl/thread_class.h"
#include "lock/scl/uscl_lock.h"
#include "observe/observation.h"
#include "park/deadline.h"
#include "park/slice_request.h"
#include "park/timed_sleep.h"
#include "park/word_lock.h"
#include "preload/glibc.h"
#include "preload/glibc_layout.h"
#include "preload/lock_rules.h"
#include "preload/policy_decision.h"
#include "preload/rwlock_options.h"
#include "thread/left_wait.h"

struct hf_lock_choice hf_lock_choices[1 + HF_RULES_MAX] = {
    [0 ... HF_RULES_MAX] = {.discipline = HF_DISCIPLINE_UNDECIDED}};

// Polls of a word that is about to be free: its owner opened the gate just before.
enum { HF_POLLS_BEHIND_GATE = 128 };

// For locks whose waiters can't give up, a timed wait is a chain of tries with timed sleeps between them.
enum { HF_SLEEP_BETWEEN_TRIES_NS = 50 * 1000 };

static bool pass_gate_before(struct hf_mutex *mutex, const struct hf_deadline *deadline) {
    const struct hf_lock_kind *gate = hf_choice_of(mutex)->gate;
    if (!deadline) {
        gate->lock(mutex->gate);
        return true;
    }
    if (gate->clocklock)
        return gate->clocklock(mutex->gate, deadline->clock, &deadline->at) == 0;
    while (!gate->trylock(mutex->gate)) {
        if (hf_deadline_has_passed(deadline))
            return false;
        hf_timed_sleep(HF_SLEEP_BETWEEN_TRIES_NS);
    }
    return true;
}

static int take_word(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    bool gated = hf_discipline_of(mutex) == HF_DISCIPLINE_GATED; // not in a child
    for (int polls = 0; gated && polls < HF_POLLS_BEHIND_GATE; polls++) {
        if (hf_load_relaxed(&mutex->word) == HF_WORD_FREE && hf_word_trylock(&mutex->word, HF_WORD_HELD))
            return 0;
        hf_timed_pause();
    }
    if (hf_word_trylock(&mutex->word, HF_WORD_HELD))
        return 0;
    return hf_word_lock_or_leave(&mutex->word, self, self->critical.critical_depth, deadline, NULL);
}

struct gate_passed {
    struct hf_left_wait left;
    struct hf_mutex *mutex;
};

static void close_gate_behind(struct hf_left_wait *left) {
    struct hf_mutex *mutex = ((struct gate_passed *)left)->mutex;
    hf_choice_of(mutex)->gate->unlock(mutex->gate);
}

static void unwound(struct gate_passed *passed) {
    hf_left_wait_unwound(&passed->left);
}

// Behind the gate, which is open for the next one if this leaves. (A thread that leaves its wait for a ticket's or an
// MCS lock's gate is waited for ever after: these two have no way to leave, docs/interposer.md.)
static int take_word_behind_gate(struct hf_mutex *mutex, struct hf_thread_record *self,
                                 const struct hf_deadline *deadline) {
    __attribute__((cleanup(unwound))) struct gate_passed passed = {.mutex = mutex};
    hf_left_wait_begin(&passed.left, self, self->critical.critical_depth, close_gate_behind);
    int error = take_word(mutex, self, deadline);
    hf_left_wait_end(&passed.left);
    return error;
}

static int acquire_gated(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline,
                         struct hf_wait *wait, bool *waited) {
    const struct hf_lock_kind *gate = hf_choice_of(mutex)->gate;
    if (!gate->trylock(mutex->gate)) {
        *waited = true;
        *wait = hf_wait_begin(self, &mutex->word);
        hf_count(self, contended);
        if (!pass_gate_before(mutex, deadline))
            return ETIMEDOUT;
    }
    int error = hf_word_trylock(&mutex->word, HF_WORD_HELD) ? 0 : take_word_behind_gate(mutex, self, deadline);
    if (error)
        gate->unlock(mutex->gate);
    else
        mutex->owner_has_gate = true;
    return error;
}

static int acquire_blocking(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline,
                            struct hf_wait *wait, bool *waited) {
    if (hf_word_trylock(&mutex->word, HF_WORD_HELD))
        return 0;
    *waited = true;
    *wait = hf_wait_begin(self, &mutex->word);
    hf_count(self, contended);
    return hf_word_lock_or_leave(&mutex->word, self, self->critical.critical_depth, deadline, wait);
}

static void count_free(struct hf_mutex *mutex, struct hf_thread_record *self) {
    if (HF_UNLIKELY(hf_count_acquisition(self)))
        hf_note_free(&mutex->word, self, HF_STATISTICS_MUTEX);
}

static struct hf_uscl_parts uscl_in(struct hf_mutex *mutex) {
    return (struct hf_uscl_parts){
        .word = &mutex->word, .slices = &mutex->slices, .options = &hf_choice_of(mutex)->uscl_options};
}

static bool try_acquire_extended(struct hf_mutex *mutex, struct hf_thread_record *self) {
    hf_slice_request();
    bool acquired = hf_flexguard_try_acquire(&mutex->word, self);
    if (!acquired)
        hf_extended_ends(self);
    return acquired;
}

static int acquire_extended(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    if (try_acquire_extended(mutex, self))
        return 0;
    int error =
        hf_flexguard_wait(&mutex->word, &mutex->queue_tail, hf_releases_shown(mutex), self, deadline, HF_WORD_HELD);
    hf_extended_waited(self);
    return error;
}

int hf_chosen_acquire(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_EXTENDED)
        return acquire_extended(mutex, self, deadline);
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_USCL)
        return hf_uscl_acquire(uscl_in(mutex), self, deadline);
    struct hf_wait wait = {0};
    bool waited = false;
    int error = hf_discipline_of(mutex) == HF_DISCIPLINE_GATED
                    ? acquire_gated(mutex, self, deadline, &wait, &waited)
                    : acquire_blocking(mutex, self, deadline, &wait, &waited);
    if (waited && !error)
        hf_count_waited_acquisition(self);
    else if (!error)
        count_free(mutex, self);
    if (waited)
        hf_note_wait(&mutex->word, self, HF_STATISTICS_MUTEX, &wait, !error);
    return error;
}

bool hf_chosen_try_acquire(struct hf_mutex *mutex, struct hf_thread_record *self) {
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_EXTENDED)
        return try_acquire_extended(mutex, self);
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_USCL)
        return hf_uscl_try_acquire(uscl_in(mutex), self);
    bool gated = hf_discipline_of(mutex) == HF_DISCIPLINE_GATED;
    const struct hf_lock_kind *gate = hf_choice_of(mutex)->gate;
    if (gated && !gate->trylock(mutex->gate))
        return false;
    bool acquired = hf_word_trylock(&mutex->word, HF_WORD_HELD);
    if (gated && !acquired)
        gate->unlock(mutex->gate);
    if (gated && acquired)
        mutex->owner_has_gate = true;
    if (acquired)
        count_free(mutex, self);
    return acquired;
}

static void open_gate(struct hf_mutex *mutex) {
    if (!mutex->owner_has_gate)
        return;
    mutex->owner_has_gate = false;
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_GATED)
        hf_choice_of(mutex)->gate->unlock(mutex->gate);
}

void hf_chosen_stand_aside(struct hf_mutex *mutex, struct hf_thread_record *self) {
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_USCL)
        hf_uscl_stand_aside(uscl_in(mutex), self);
    else
        open_gate(mutex);
}

void hf_chosen_forget(struct hf_mutex *mutex) {
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_USCL)
        hf_uscl_give_back(uscl_in(mutex), hf_self());
}

void hf_chosen_after_release(const uint32_t *word, struct hf_thread_record *self, bool wakes) {
    struct hf_hold_end end = hf_hold_ends(word, self, wakes);
    if (HF_UNLIKELY(wakes))
        hf_word_wake(word);
    hf_note_release(word, self, end);
}

void hf_chosen_release(struct hf_mutex *mutex, struct hf_thread_record *self) {
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_EXTENDED) {
        hf_flexguard_release(&mutex->word, &mutex->releases, &mutex->fenced, self);
        hf_extended_ends(self);
        return;
    }
    if (hf_discipline_of(mutex) == HF_DISCIPLINE_USCL) {
        hf_uscl_release(uscl_in(mutex), self);
        return;
    }
    // The gate first: once the word is free the mutex may be gone (word.I4).
    open_gate(mutex);
    hf_chosen_after_release(&mutex->word, self, hf_word_release(&mutex->word));
}

// A gate's queue, copied into a forked child, names threads that are not there: nobody would open it. The word names
// nobody.
static void do_without_gates_in_child(void) {
    for (int i = 0; i <= HF_RULES_MAX && !hf_thread_was_always_alone(); i++) {
        if (hf_lock_choices[i].discipline == HF_DISCIPLINE_GATED)
            hf_lock_choices[i].discipline = HF_DISCIPLINE_BLOCKING;
    }
}

// A lock with no branch of its own in choice_for is a gate, and must fit where a mutex has room for one.
#define HF_LOCK(name, waiting, summary)                                                                                \
    _Static_assert(_Generic((hf_##name##_t *)NULL,                                                                     \
                   hf_flexguard_t *: true,                                                                             \
                   hf_blocking_t *: true,                                                                              \
                   hf_uscl_t *: true,                                                                                  \
                   default: sizeof(hf_##name##_t) <= HF_GATE_BYTES),                                                   \
                   "larger than a gate: needs a discipline (lock_choice.h)");
#include "lock/lock_list.def"
#undef HF_LOCK

static struct hf_lock_choice choice_for(const struct hf_policy_value *value) {
    struct hf_lock_choice choice = {.discipline = HF_DISCIPLINE_FLEXGUARD};
    if (strcmp(value->lock, HF_PASSED_TO_GLIBC) == 0 || !hf_object_fits(HF_OBJECT_MUTEX)) {
        choice.discipline = HF_DISCIPLINE_GLIBCS;
    } else if (strcmp(value->lock, "flexguard") == 0) {
        choice.owes_permits = true;
        choice.latency = value->parameters.latency;
        if (value->parameters.slice_extension && hf_slices_can_be_extended())
            choice.discipline = HF_DISCIPLINE_EXTENDED;
    } else if (strcmp(value->lock, "blocking") == 0) {
        choice.discipline = HF_DISCIPLINE_BLOCKING;
    } else if (strcmp(value->lock, "uscl") == 0) {
        choice.discipline = HF_DISCIPLINE_USCL;
        if (value->parameters.class_by_name)
            hf_thread_kinds_are_classes(); // a thread is of one class, at whatever lock
        choice.uscl_options = value->parameters.slice_us_plus_1 |
                              (value->parameters.work_conserving ? HF_USCL_WORK_CONSERVING : 0u) |
                              value->parameters.inactive_ms << HF_USCL_INACTIVE_SHIFT;
    } else {
        choice.gate = hf_lock_kind_find(value->lock);
        choice.discipline = HF_DISCIPLINE_GATED;
    }
    return choice;
}

// One by one, since others may look at them: all store the same.
static void publish(struct hf_lock_choice *at, const struct hf_lock_choice *choice) {
    hf_store_relaxed(&at->owes_permits, choice->owes_permits);
    hf_store_relaxed(&at->latency, choice->latency);
    hf_store_relaxed(&at->uscl_options, choice->uscl_options);
    hf_store_relaxed(&at->gate, choice->gate);
    hf_store_release(&at->discipline, choice->discipline); // last: pairs with the acquire in hf_discipline_of
}

static void decide(const struct hf_policy_text *policy) {
    if (hf_load_acquire(&hf_lock_choices[0].discipline) != HF_DISCIPLINE_UNDECIDED)
        return;
    hf_lock_rules_find(policy);
    for (unsigned i = 0; i < HF_RULES_MAX; i++) {
        struct hf_lock_choice choice = {.discipline = HF_DISCIPLINE_FLEXGUARD}; // of no mutex
        if (i < policy->rules && policy->rule[i].kind == HF_OBJECT_MUTEX)
            choice = choice_for(&policy->rule[i].value);
        publish(&hf_lock_choices[i + 1], &choice);
    }
    struct hf_lock_choice choice = choice_for(&policy->value[HF_OBJECT_MUTEX]);
    hf_lock_rules_mark_variables();
    publish(&hf_lock_choices[0], &choice); // last: from here on mutexes are locked
}

void hf_disciplines_decide(void) {
    struct hf_policy_text policy;
    hf_policy_read(&policy);
    hf_policy_settle(&policy);
    decide(&policy);
}

static bool some_are_gated(void) {
    for (int i = 0; i <= HF_RULES_MAX; i++)
        if (hf_lock_choices[i].discipline == HF_DISCIPLINE_GATED)
            return true;
    return false;
}

__attribute__((constructor)) static void choose(void) {
    struct hf_policy_text policy;
    // Now, since looking symbols up later could wait for a dlopen whose constructors wait for us.
    hf_glibc();
    hf_policy_read(&policy);
    hf_policy_settle(&policy);
    decide(&policy);
    if (some_are_gated())
        pthread_atfork(NULL, NULL, do_without_gates_in_child);
    if (hf_rwlocks_may_be_sliced()) {
        hf_rwscl_table_watch_forks();
        hf_numa_nodes(); // a sandbox that is built later may not let us read
    }
    hf_lock_rules_note(&policy);
}
