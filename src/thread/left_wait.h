// SPDX-License-Identifier: MIT OR Apache-2.0
// Waits that do not return. A signal handler may leave one by siglongjmp (a classical time-out) or pthread_exit, a
// thread may be cancelled in one, asynchronously too. What the wait has begun is undone then: the waiter leaves lists
// and queues, it is not critical any more, and a wake that it may have had goes to another one.
//
//     begin() --> the wait, in a function that is called in between --> end()
//        |                            |
//        |                            +-- left by siglongjmp: the C library calls who has been pushed and whose frame
//        |                            |   goes, deepest first
//        |                            +-- left by unwinding: the same, or, by an exception, the frame's clean-up
//        +--------------------------------+--> undo()
//
// The C library's list of clean-up functions is per thread and knows them by the addresses of their frames: so a
// handler that runs on a stack of its own (sigaltstack) and leaves by siglongjmp undoes nothing if that stack lies
// above the thread's, here as in the C library's own waits. Costs two calls a wait, and nothing where nobody waits.
//
// left_wait.L0  A frame is made with an initializer, which says that nothing has begun: its clean-up runs also for a
//     thread that leaves before begin(), in a call between the two. In the call that pushes, and in the one that pops,
//     the list is as before or as after; the entry itself says which.
// left_wait.L1  What undo() reads was stored before what it undoes, or after: each store that it depends on is the
//     thread's own, in program order. Where a state is changed in the same instant as it is noted lie a few
//     instructions in which a handler that leaves finds neither; they cost what POSIX says they may cost, since it
//     allows no such jump at all. (Waits for a condition have no such instructions: condition.C7.)
#ifndef HF_THREAD_LEFT_WAIT_H
#define HF_THREAD_LEFT_WAIT_H

#include <pthread.h>

#include "park/deadline.h"
#include "thread/thread_record.h"

#ifdef __cplusplus
extern "C" {
#endif

// On the waiter's stack, the first member of what undo() needs. Zero at first (left_wait.L0).
struct hf_left_wait {
    struct _pthread_cleanup_buffer pushed;
    void (*undo)(struct hf_left_wait *left); // NULL: the wait has not begun, or is over
    struct hf_thread_record *self;
    uint32_t depth;     // critical_depth after the wait was left
    uint16_t slices;    // in_slices
    bool was_unqueued;  // it was in no queue of spinning waiters
    bool is_repeated;   // undo() may itself be left, and is called again then
    bool may_be_listed; // by the C library; not where `pushed` follows itself
};

// glibc's; pthread.h does not declare them any more.
// NOLINTBEGIN(clang-diagnostic-reserved-identifier)
extern void _pthread_cleanup_push(struct _pthread_cleanup_buffer *buffer, void (*function)(void *), void *argument);
extern void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *buffer, int runs_it);
// NOLINTEND(clang-diagnostic-reserved-identifier)

// What the C library calls.
void hf_wait_is_left(void *pointer) __attribute__((cold, visibility("hidden")));

// `depth`: what the caller's is without the wait.
static inline void hf_left_wait_begin(struct hf_left_wait *left, struct hf_thread_record *self, uint32_t depth,
                                      void (*undo)(struct hf_left_wait *left)) {
    left->self = self;
    left->depth = depth;
    left->slices = self->in_slices;
    left->was_unqueued = hf_load_relaxed(&self->critical.queue_state) == HF_QUEUE_IDLE;
    left->is_repeated = false;
    left->undo = undo;
    left->pushed.__prev = &left->pushed; // the C library's first look at it ends that
    hf_program_order();
    left->may_be_listed = true;
    _pthread_cleanup_push(&left->pushed, hf_wait_is_left, left);
}

static inline void hf_left_wait_end(struct hf_left_wait *left) {
    left->undo = NULL;
    hf_program_order();
    _pthread_cleanup_pop(&left->pushed, 0);
    left->may_be_listed = false;
}

// For __attribute__((cleanup)) of each frame that has one: exceptions do not go by the C library's list.
static inline void hf_left_wait_unwound(struct hf_left_wait *left) {
    if (HF_LIKELY(!left->may_be_listed))
        return;
    if (left->pushed.__prev != &left->pushed)
        _pthread_cleanup_pop(&left->pushed, 0); // once more than once is as once
    hf_wait_is_left(left);
}

struct hf_wait;

// hf_word_lock_blocking; a thread that leaves it hands on a wake that it may have had (word.I2, park/word_lock.h).
// `depth`: what the caller's is without the lock. `noted`: the wait that its sleeps belong to, or NULL.
int hf_word_lock_or_leave(uint32_t *word, struct hf_thread_record *self, uint32_t depth,
                          const struct hf_deadline *deadline, struct hf_wait *noted)
    __attribute__((cold, visibility("hidden")));

// hf_owned_lock_blocking, with the caller's number; likewise (owned.O2, park/owned_lock.h).
void hf_owned_lock_or_leave(uint32_t *word, struct hf_thread_record *self, uint32_t depth)
    __attribute__((cold, visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
