/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * k-SCL: a sleeping mutex that shares its time by scheduling weight. Patel et al., "Avoiding
 * Scheduler Subversion using Scheduler-Cooperative Locks", EuroSys '20, section 4.4.
 *
 * The rules are those of struct mutex: one owner, which alone unlocks; no recursion; process
 * context only; a lock must not be freed while it is held or waited for. Besides, a lock remembers
 * who has used it: kscl_destroy() gives that memory back.
 *
 * How it works, and its invariants: kscl.c.
 */
#ifndef _LINUX_KSCL_H
#define _LINUX_KSCL_H

#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct task_struct;
struct kscl_share;
struct kscl_waiter;

struct kscl {
	raw_spinlock_t guard;	      /* of all that follows */
	struct task_struct *owner;    /* NULL: the lock is free */
	struct kscl_share *in_use;    /* the owner's share; NULL: it has none */
	u64 began;		      /* ns: the owner's section; the owner's alone */
	u64 virtual_now;	      /* the largest virtual time at which a waiter got it */
	u64 weight;		      /* of all shares */
	struct rb_root shares;	      /* by thread; the other trees by virtual time: */
	struct rb_root_cached idle;   /* of threads that do not want the lock now */
	struct rb_root_cached banned; /* of waiters in debt */
	struct rb_root_cached ready;  /* of the other waiters */
	struct list_head seen;	      /* the idle ones; the last one used it last */
	struct kscl_waiter *spinner;  /* the waiter that polls */
	unsigned int threads;	      /* shares */
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	struct lockdep_map dep_map;
#endif
};

#ifdef CONFIG_DEBUG_LOCK_ALLOC
#define __KSCL_DEP_MAP(lock)                      \
	.dep_map = {                              \
		.name = #lock,                    \
		.wait_type_inner = LD_WAIT_SLEEP, \
	},
#else
#define __KSCL_DEP_MAP(lock)
#endif

/* clang-format off */
#define __KSCL_INITIALIZER(lock)                                 \
	{                                                        \
		.guard = __RAW_SPIN_LOCK_UNLOCKED((lock).guard), \
		.shares = RB_ROOT,                               \
		.idle = RB_ROOT_CACHED,                          \
		.banned = RB_ROOT_CACHED,                        \
		.ready = RB_ROOT_CACHED,                         \
		.seen = LIST_HEAD_INIT((lock).seen),             \
		__KSCL_DEP_MAP(lock)                             \
	}
/* clang-format on */

#define DEFINE_KSCL(name) struct kscl name = __KSCL_INITIALIZER(name)

void __kscl_init(struct kscl *lock, const char *name, struct lock_class_key *key);

/* Makes a free lock, of a lockdep class of its own for each place in the source. */
#define kscl_init(lock)                             \
	do {                                        \
		static struct lock_class_key __key; \
		__kscl_init((lock), #lock, &__key); \
	} while (0)

void kscl_destroy(struct kscl *lock);

void kscl_lock(struct kscl *lock);
int __must_check kscl_lock_interruptible(struct kscl *lock);
int __must_check kscl_lock_killable(struct kscl *lock);
bool __must_check kscl_trylock(struct kscl *lock);
void kscl_unlock(struct kscl *lock);

bool kscl_is_locked(const struct kscl *lock);
bool kscl_is_contended(struct kscl *lock);
unsigned int kscl_threads(struct kscl *lock);

#endif
