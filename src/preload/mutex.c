// SPDX-License-Identifier: MIT OR Apache-2.0
// pthread_mutex_*: POSIX's types and errors on top of a lock that lives inside the mutex (mutex_layout.h).
#include <errno.h>

#include "lock/flexguard/flexguard_lock.h"
#include "park/deadline.h"
#include "park/masked_lock.h"
#include "park/slice_request.h"
#include "preload/glibc.h"
#include "preload/lock_choice.h"
#include "preload/mutex.h"
#include "preload/mutex_layout.h"
#include "preload/symbol_version.h"

// What a call finds out before it touches the word.
enum verdict {
    VERDICT_ACQUIRE, // go for the word
    VERDICT_DONE,    // one more level of a recursive mutex
    VERDICT_FULL,    // and there can be no more levels: EAGAIN
    VERDICT_OWN,     // an errorcheck mutex that the caller holds
};

static __attribute__((noinline)) enum verdict judge(struct hf_mutex *mutex, struct hf_thread_record *self) {
    enum hf_mutex_type type = hf_mutex_type_of(mutex);
    if (type == HF_MUTEX_RECURSIVE && hf_mutex_is_owned_by(mutex, self)) {
        if (mutex->count + 1 == 0)
            return VERDICT_FULL;
        mutex->count++;
        return VERDICT_DONE;
    }
    return type == HF_MUTEX_ERRORCHECK && hf_mutex_is_owned_by(mutex, self) ? VERDICT_OWN : VERDICT_ACQUIRE;
}

static inline void become_owner(struct hf_mutex *mutex, uint32_t tid) {
    HF_CHECK("word.I1", mutex->owner == 0);
    hf_store_relaxed(&mutex->owner, tid);
    mutex->nusers++;
}

static inline int become_first_owner_of_typed(struct hf_mutex *mutex, struct hf_thread_record *self) {
    become_owner(mutex, hf_tid(self));
    mutex->count = hf_mutex_type_of(mutex) == HF_MUTEX_RECURSIVE;
    return 0;
}

static __attribute__((noinline)) int wait_for(struct hf_mutex *mutex, struct hf_thread_record *self,
                                              const struct hf_deadline *deadline) {
    if (hf_mutex_type_of(mutex) == HF_MUTEX_ADAPTIVE)
        return hf_flexguard_wait_adaptive(&mutex->word, &mutex->queue_tail, hf_releases_shown(mutex), self, deadline);
    return hf_flexguard_wait(&mutex->word, &mutex->queue_tail, hf_releases_shown(mutex), self, deadline, HF_WORD_HELD);
}

static inline int acquire(struct hf_mutex *mutex, struct hf_thread_record *self, const struct hf_deadline *deadline) {
    if (HF_LIKELY(hf_choice_of(mutex)->discipline == HF_DISCIPLINE_FLEXGUARD))
        return hf_flexguard_try_acquire(&mutex->word, self) ? 0 : wait_for(mutex, self, deadline);
    return hf_chosen_acquire(mutex, self, deadline);
}

static inline bool try_acquire(struct hf_mutex *mutex, struct hf_thread_record *self) {
    if (HF_LIKELY(hf_choice_of(mutex)->discipline == HF_DISCIPLINE_FLEXGUARD))
        return hf_flexguard_try_acquire(&mutex->word, self);
    return hf_chosen_try_acquire(mutex, self);
}

static inline void stop_being_owner(struct hf_mutex *mutex) {
    hf_store_relaxed(&mutex->owner, 0);
    mutex->nusers--;
}

static __attribute__((noinline, cold)) int note_free(struct hf_mutex *mutex, struct hf_thread_record *self) {
    hf_note_free(&mutex->word, self, HF_STATISTICS_MUTEX);
    return 0;
}

static __attribute__((noinline)) int pay_and_note(uint32_t *word, struct hf_thread_record *self,
                                                  enum hf_word_owes owes) {
    hf_flexguard_pay_and_note(word, self, owes);
    return 0;
}

// Permits are given after the lock, and before the thread may yield: turn.Y1 (lock/wait/turn.h). It is not critical
// meanwhile: to the monitor, a woken thread that runs in its place would preempt a holder.
static void release_and_give(struct hf_mutex *mutex, struct hf_thread_record *self, hf_permits_owed permits) {
    enum hf_discipline discipline = hf_choice_of(mutex)->discipline; // the mutex may be gone once it is free
    if (discipline != HF_DISCIPLINE_FLEXGUARD && discipline != HF_DISCIPLINE_EXTENDED) {
        hf_chosen_release(mutex, self);
        hf_permits_give_all(permits);
        return;
    }
    enum hf_word_owes owes = hf_flexguard_give_own(&mutex->word, &mutex->releases, &mutex->fenced, self);
    struct hf_hold_end end = hf_flexguard_settle(&mutex->word, self, &owes);
    hf_flexguard_pay(&mutex->word, owes);
    hf_permits_give_all(permits);
    if (discipline == HF_DISCIPLINE_EXTENDED)
        hf_extended_ends(self);
    if (hf_note_release(&mutex->word, self, end))
        hf_turn_look(self);
}

static inline void release(struct hf_mutex *mutex, struct hf_thread_record *self) {
    hf_permits_owed permits = hf_mutex_take_permits_owed(mutex);
    stop_being_owner(mutex);
    if (HF_UNLIKELY(permits))
        release_and_give(mutex, self, permits);
    else if (HF_LIKELY(hf_choice_of(mutex)->discipline == HF_DISCIPLINE_FLEXGUARD))
        hf_flexguard_release(&mutex->word, &mutex->releases, &mutex->fenced, self);
    else
        hf_chosen_release(mutex, self);
}

// Type, attributes, rule and discipline: 0 is a normal mutex under FlexGuard. That one, the adaptive and the recursive
// one have paths of their own, as long as nobody waits. They call nothing but as their last act, hence need no frame.
static inline uint32_t look(const struct hf_mutex *mutex) {
    return ((uint32_t)mutex->kind & ~(uint32_t)HF_KIND_ELISION_BITS) | (uint32_t)hf_lock_choices[0].discipline;
}

static inline bool has_no_owner_to_ask(uint32_t seen) {
    return seen == HF_MUTEX_NORMAL || seen == HF_MUTEX_ADAPTIVE;
}

// The same two under EXTENDED, which have paths of their own as well.
static inline bool is_extended(uint32_t seen) {
    return has_no_owner_to_ask(seen ^ HF_DISCIPLINE_EXTENDED);
}

// Any type and discipline, with or without a deadline.
static __attribute__((noinline)) int lock_slowly(struct hf_mutex *mutex, const struct hf_deadline *deadline) {
    struct hf_thread_record *self = hf_self();
    switch (judge(mutex, self)) {
    case VERDICT_DONE: return 0;
    case VERDICT_FULL: return EAGAIN;
    case VERDICT_OWN: return EDEADLK;
    case VERDICT_ACQUIRE: break;
    }
    if (!deadline || hf_deadline_is_valid(deadline)) {
        if (acquire(mutex, self, deadline))
            return ETIMEDOUT;
    } else if (!try_acquire(mutex, self)) {
        // An impossible deadline matters only to a thread that would have to wait; as in glibc, the seconds first.
        return deadline->at.tv_sec < 0 ? ETIMEDOUT : EINVAL;
    }
    return become_first_owner_of_typed(mutex, self);
}

// The rest, out of line: its frame.
static __attribute__((noinline)) int lock_any(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    return hf_mutex_is_interposed(mutex) ? lock_slowly(mutex, NULL) : hf_glibc()->mutex_lock(posix);
}

static __attribute__((noinline)) int wait_for_normal(struct hf_mutex *mutex, struct hf_thread_record *self) {
    wait_for(mutex, self, NULL);
    become_owner(mutex, hf_tid(self));
    return 0;
}

static inline int count_as_owner(struct hf_mutex *mutex, struct hf_thread_record *self, uint32_t tid) {
    become_owner(mutex, tid);
    return HF_UNLIKELY(hf_count_acquisition(self)) ? note_free(mutex, self) : 0;
}

static __attribute__((noinline)) int wait_for_extended(struct hf_mutex *mutex, struct hf_thread_record *self) {
    hf_extended_ends(self);
    wait_for_normal(mutex, self);
    hf_extended_waited(self);
    return 0;
}

static __attribute__((noinline)) int lock_extended(struct hf_mutex *mutex, struct hf_thread_record *self, uint32_t tid);

static __attribute__((noinline, cold)) int lock_first_extended(struct hf_mutex *mutex, struct hf_thread_record *self,
                                                               uint32_t tid) {
    hf_slice_requests_begin(&hf_own_slice_requests);
    return lock_extended(mutex, self, tid);
}

// It and unlock_extended call nothing but as their last act, either, hence need no frame.
static int lock_extended(struct hf_mutex *mutex, struct hf_thread_record *self, uint32_t tid) {
    if (HF_UNLIKELY(!hf_slice_request_again()))
        return lock_first_extended(mutex, self, tid);
    if (HF_UNLIKELY(!hf_flexguard_try_own_word(&mutex->word, self)))
        return wait_for_extended(mutex, self);
    return count_as_owner(mutex, self, tid);
}

static __attribute__((noinline, cold)) int give_slice_back(void) {
    hf_extended_give_back();
    return 0;
}

static __attribute__((noinline)) int pay_and_end_extended(uint32_t *word, struct hf_thread_record *self,
                                                          enum hf_word_owes owes) {
    hf_flexguard_pay_and_note(word, self, owes);
    hf_extended_ends(self);
    return 0;
}

static __attribute__((noinline)) int unlock_extended(struct hf_mutex *mutex, struct hf_thread_record *self) {
    stop_being_owner(mutex);
    enum hf_word_owes owes = hf_flexguard_give_own(&mutex->word, &mutex->releases, &mutex->fenced, self);
    if (HF_UNLIKELY(owes || hf_observes(self)))
        return pay_and_end_extended(&mutex->word, self, owes);
    return HF_UNLIKELY(hf_extended_ends_granted(self)) ? give_slice_back() : 0;
}

int hf_mutex_lock(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    struct hf_thread_record *self = hf_self_record;
    uint32_t seen = look(mutex), tid;
    if (HF_UNLIKELY(!self || !(tid = self->tid)))
        return lock_any(posix);
    if (HF_UNLIKELY(!has_no_owner_to_ask(seen))) {
        if (is_extended(seen))
            return lock_extended(mutex, self, tid);
        if (seen != HF_MUTEX_RECURSIVE || hf_load_relaxed(&mutex->owner) == tid ||
            !hf_flexguard_try_own_word(&mutex->word, self))
            return lock_any(posix);
        mutex->count = 1;
        return count_as_owner(mutex, self, tid);
    }
    if (HF_UNLIKELY(!hf_flexguard_try_own_word(&mutex->word, self)))
        return wait_for_normal(mutex, self);
    return count_as_owner(mutex, self, tid);
}

void hf_mutex_lock_as_sleeper(struct hf_mutex *mutex, bool *counted) {
    struct hf_thread_record *self = hf_self();
    hf_flexguard_acquire_as_sleeper(&mutex->word, &mutex->queue_tail, hf_releases_shown(mutex), self);
    if (HF_UNLIKELY(hf_choice_of(mutex)->discipline == HF_DISCIPLINE_EXTENDED))
        hf_slice_request();
    hf_store_relaxed(counted, false);
    hf_program_order(); // one that is thrown out here stays counted, which costs time; it must not go twice
    hf_sleeper_goes(&mutex->word);
    become_first_owner_of_typed(mutex, self);
}

static __attribute__((noinline)) int trylock_any(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!hf_mutex_is_interposed(mutex))
        return hf_glibc()->mutex_trylock(posix);
    struct hf_thread_record *self = hf_self();
    switch (judge(mutex, self)) {
    case VERDICT_DONE: return 0;
    case VERDICT_FULL: return EAGAIN;
    case VERDICT_OWN: return EBUSY;
    case VERDICT_ACQUIRE: break;
    }
    return try_acquire(mutex, self) ? become_first_owner_of_typed(mutex, self) : EBUSY;
}

// Allocators that count how often they have to wait call it before each lock.
int hf_mutex_trylock(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    struct hf_thread_record *self = hf_self_record;
    uint32_t seen = look(mutex), tid;
    if (HF_UNLIKELY(!self || !(tid = self->tid) || !has_no_owner_to_ask(seen)))
        return trylock_any(posix);
    if (!hf_flexguard_try_word(&mutex->word, self, HF_WORD_HELD))
        return EBUSY;
    return count_as_owner(mutex, self, tid);
}

int hf_mutex_timedlock(pthread_mutex_t *posix, const struct timespec *at) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!hf_mutex_is_interposed(mutex))
        return hf_glibc()->mutex_timedlock(posix, at);
    struct hf_deadline deadline = {.clock = CLOCK_REALTIME, .at = *at};
    return lock_slowly(mutex, &deadline);
}

static int interposed_clocklock(pthread_mutex_t *posix, clockid_t clock, const struct timespec *at) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!hf_mutex_is_interposed(mutex))
        return hf_glibc()->mutex_clocklock(posix, clock, at);
    // Unlike a bad time, a bad clock is refused at once.
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return EINVAL;
    struct hf_deadline deadline = {.clock = clock, .at = *at};
    return lock_slowly(mutex, &deadline);
}

static __attribute__((noinline)) int unlock_any(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!hf_mutex_is_interposed(mutex))
        return hf_glibc()->mutex_unlock(posix);
    struct hf_thread_record *self = hf_self();
    if (hf_mutex_refuses(mutex, self))
        return EPERM;
    if (hf_mutex_type_of(mutex) == HF_MUTEX_RECURSIVE && --mutex->count != 0)
        return 0;
    release(mutex, self);
    return 0;
}

int hf_mutex_unlock(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    struct hf_thread_record *self = hf_self_record;
    uint32_t seen = look(mutex);
    if (HF_UNLIKELY(!self || mutex->permits_owed))
        return unlock_any(posix);
    if (HF_UNLIKELY(!has_no_owner_to_ask(seen))) {
        if (is_extended(seen))
            return unlock_extended(mutex, self);
        uint32_t tid = self->tid;
        if (seen != HF_MUTEX_RECURSIVE || !tid || hf_load_relaxed(&mutex->owner) != tid || mutex->count != 1)
            return unlock_any(posix);
        mutex->count = 0;
    }
    stop_being_owner(mutex);
    enum hf_word_owes owes = hf_flexguard_give_own(&mutex->word, &mutex->releases, &mutex->fenced, self);
    if (HF_UNLIKELY(owes))
        return pay_and_note(&mutex->word, self, owes);
    return HF_UNLIKELY(hf_observes(self)) ? pay_and_note(&mutex->word, self, HF_WORD_OWES_NOTHING) : 0;
}

struct hf_mutex_release hf_mutex_release_begin(pthread_mutex_t *posix) {
    const struct hf_mutex *mutex = hf_mutex_in(posix);
    return (struct hf_mutex_release){.count = mutex->count, .nusers = mutex->nusers, .state = HF_MUTEX_HELD};
}

// No depth of a recursive mutex has this bit, and no thread's number.
static uint32_t mark_of(const struct hf_thread_record *self) {
    return UINT32_C(1) << 31 | hf_tid(self);
}

static bool gives_word_alone(const struct hf_mutex *mutex) {
    uint32_t discipline = hf_choice_of(mutex)->discipline;
    return (discipline == HF_DISCIPLINE_FLEXGUARD || discipline == HF_DISCIPLINE_BLOCKING) &&
           !(hf_mutex_can_owe_permits(mutex) && mutex->permits_owed);
}

// The owner has to go before the word, and would not know in between, or just after, which of the two it has. So the
// mark goes with the word.
static void release_marked(struct hf_mutex *mutex, struct hf_thread_record *self, struct hf_mutex_release *release) {
    hf_store_relaxed(&mutex->count, mark_of(self));
    hf_program_order();
    hf_store_relaxed(&release->state, HF_MUTEX_MARKED);
    hf_program_order();
    stop_being_owner(mutex);
    bool looks = hf_word_looks_again(hf_flexguard_count_release(&mutex->releases), &mutex->fenced);
    struct hf_mutex was = {.word_and_count = hf_exchange_release(&mutex->word_and_count, 0)};
    HF_CHECK("word.I1", was.word != HF_WORD_FREE && was.count == mark_of(self));
    bool wakes = was.word == HF_WORD_HELD_WITH_SLEEPERS;
    if (hf_choice_of(mutex)->discipline == HF_DISCIPLINE_FLEXGUARD)
        hf_flexguard_after_release(&mutex->word, self,
                                   looks && !wakes ? HF_WORD_OWES_UNFENCE : hf_word_owes_wake(wakes));
    else
        hf_chosen_after_release(&mutex->word, self, wakes);
}

// A release of several steps, among them those that give others their permits: nobody may be thrown out in between.
static void release_while_masked(struct hf_mutex *mutex, struct hf_thread_record *self,
                                 struct hf_mutex_release *release_) {
    sigset_t saved;
    hf_block_all_signals(&saved);
    if (hf_choice_of(mutex)->discipline == HF_DISCIPLINE_USCL && hf_mutex_is_owned_by(mutex, self))
        hf_chosen_stand_aside(mutex, self);
    release(mutex, self);
    release_->state = HF_MUTEX_RELEASED;
    hf_unblock_signals(&saved);
}

int hf_mutex_unlock_to_wait(pthread_mutex_t *posix, struct hf_mutex_release *release) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!hf_mutex_is_interposed(mutex))
        return hf_glibc()->mutex_unlock(posix);
    struct hf_thread_record *self = hf_self();
    if (hf_mutex_refuses(mutex, self))
        return EPERM;
    if (hf_mutex_type_of(mutex) == HF_MUTEX_RECURSIVE) {
        mutex->count--;
        if (mutex->count != 0)
            return 0;
    }
    if (HF_LIKELY(gives_word_alone(mutex)))
        release_marked(mutex, self, release);
    else
        release_while_masked(mutex, self, release);
    return 0;
}

bool hf_mutex_is_kept(pthread_mutex_t *posix, struct hf_mutex_release *release) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    if (!hf_mutex_is_interposed(mutex))
        return true;
    if (release->state == HF_MUTEX_MARKED && hf_load_relaxed(&mutex->count) == mark_of(hf_self())) {
        hf_store_relaxed(&mutex->owner, hf_tid(hf_self()));
        mutex->nusers = release->nusers;
        hf_program_order(); // as it was, before that is said: it may be thrown out of this, too
        hf_store_relaxed(&release->state, HF_MUTEX_HELD);
        hf_program_order();
    }
    if (release->state == HF_MUTEX_HELD) {
        hf_store_relaxed(&mutex->count, release->count);
        return true;
    }
    hf_word_wake(&mutex->word);
    return false;
}

int hf_mutex_destroy(pthread_mutex_t *posix) {
    struct hf_mutex *mutex = hf_mutex_in(posix);
    bool was_ours = hf_mutex_is_interposed(mutex); // glibc destroys the kind
    int error = hf_glibc()->mutex_destroy(posix);
    if (!error && was_ours)
        hf_chosen_forget(mutex);
    return error;
}

HF_EXPORT(hf_mutex_destroy, pthread_mutex_destroy, HF_GLIBC_FIRST);
HF_EXPORT(hf_mutex_lock, pthread_mutex_lock, HF_GLIBC_FIRST);
HF_EXPORT(hf_mutex_unlock, pthread_mutex_unlock, HF_GLIBC_FIRST);
// Their other names (deepbind.c).
HF_EXPORT(hf_mutex_destroy, __pthread_mutex_destroy, HF_GLIBC_FIRST);
HF_EXPORT(hf_mutex_lock, __pthread_mutex_lock, HF_GLIBC_FIRST);
HF_EXPORT(hf_mutex_unlock, __pthread_mutex_unlock, HF_GLIBC_FIRST);
HF_EXPORT(hf_mutex_trylock, __pthread_mutex_trylock, HF_GLIBC_FIRST);
HF_EXPORT_TWICE(hf_mutex_trylock, pthread_mutex_trylock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(hf_mutex_timedlock, pthread_mutex_timedlock, HF_GLIBC_FIRST, "GLIBC_2.34");
HF_EXPORT_TWICE(interposed_clocklock, pthread_mutex_clocklock, "GLIBC_2.30", "GLIBC_2.34");
