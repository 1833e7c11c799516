// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * k-SCL, after Patel et al., "Avoiding Scheduler Subversion using Scheduler-Cooperative Locks",
 * EuroSys '20, sections 4.1 and 4.4: a mutex in the kernel that shares *time*. Under a mutex a
 * thread whose sections are a thousand times longer has the lock for a thousand times longer,
 * whatever the scheduler thinks of it. Here each thread may use the lock for a part of the time
 * that is in proportion to its scheduling weight. A slice is one critical section (the paper's
 * slice of 0).
 *
 * A *share* says what one thread has used of one lock: its virtual time, in nanoseconds held times
 * 1024 over the thread's weight. Threads that have had what is due to them are at the same virtual
 * time. The next owner is the waiter that is least far. Time in which a thread does not want the
 * lock is not saved up: it comes back at the virtual time of those who did (start-time fair
 * queueing, Goyal et al., SIGCOMM '96).
 *
 * Opportunity, not only use, is to be shared (paper, section 3). So a waiter that has used more
 * than an idle thread - one that does not want the lock now, but has used it within the last
 * second - is *banned*, although the lock may be free, until its debt is paid:
 *
 *	paid_at = begin of its last section + held * (weight of all shares) / (its own weight)
 *
 * which is the paper's ban. A ban also ends with the idle threads: those that exit, or have not
 * used the lock for a second, are forgotten.
 *
 * A share of a thread is in one of these states. Each but OWNER is a tree by virtual time.
 *
 *	                   comes, in debt
 *	          .-------------------------> BANNED --.
 *	          |                             |      | nobody idle has used less,
 *	  trylock |        comes     debt paid  |      | or the debt is paid
 *	 .------ IDLE ---------------> READY <--'      |
 *	 |       ^  ^                   |              |
 *	 |       |  '-- a signal -------+--------------+
 *	 |       |                      | chosen       |
 *	 |       '---- unlock ------- OWNER <----------'
 *	 '----------------------------^
 *
 * The lock is handed over: a thread that chooses makes the chosen waiter owner, then wakes it.
 * There is no time at which the lock is free and somebody is on the way to it.
 *
 * Invariants, between any two critical sections of the guard:
 *
 * kscl.K1  Exclusion. owner changes from NULL under the guard, and to NULL by the owner alone.
 * kscl.K2  While the lock is free no waiter is READY, and the least far of those that are BANNED
 *          is banned: each operation that could make it otherwise (an unlock, somebody that comes
 *          or looks, a share that is forgotten) chooses before it gives the guard back.
 * kscl.K3  A BANNED waiter wakes by itself when its debt is paid, or when the idle thread that is
 *          least far may be forgotten, whichever is first, and looks. So no ban rests on somebody
 *          else, and nobody keeps the time for others.
 * kscl.K4  A waiter that is granted the lock is awake or woken. Only the spinner is not woken: a
 *          thread that gives that up does so under the guard, and looks once more before it
 *          sleeps.
 * kscl.K5  A share belongs to one thread, which alone makes it. It is on the list of those seen,
 *          and can be forgotten, exactly while it is IDLE. The guard's holder frees nothing.
 *
 * K1 to K4 are modelled in verify/lock/kscl.pml of Holdfast, where this comes from. Accounting
 * decides only who is chosen: an error in it costs fairness and nothing else. A thread for which
 * there is no memory gets the lock all the same, at the virtual time of now, and is not charged.
 */
#include "kscl.h"

#include <linux/bits.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

/* A thread that has not used the lock for that long takes no part (paper, 4.4). */
#define KSCL_INACTIVE_NS NSEC_PER_SEC

/* Longer sections count as this long, 18 minutes: no product overflows. */
#define KSCL_SECTION_NS_MAX BIT_ULL(40)

/* Of the nice value and, since 7.3, of the part that a thread has of its cgroup's weight. */
#ifndef KSCL_LOAD
#define KSCL_LOAD h_load
#endif

#define KSCL_WEIGHT_OF_NICE_0 1024
#define KSCL_RATE_SHIFT 20

static bool fail_alloc;
module_param(fail_alloc, bool, 0644);
MODULE_PARM_DESC(fail_alloc, "go on as if there were no memory for new shares (for tests)");

enum kscl_state { KSCL_APART, KSCL_IDLE, KSCL_BANNED, KSCL_READY, KSCL_OWNER };

struct kscl_share {
	struct rb_node by_thread;
	struct rb_node by_time;	    /* in its state's tree */
	struct list_head seen;	    /* while IDLE; then on a list of those to be freed */
	struct pid *pid;	    /* referenced; NULL: a waiter's own, which nobody finds again */
	struct kscl_waiter *waiter; /* while BANNED or READY */
	u64 used;		    /* virtual time */
	u64 paid_at;		    /* ns: its debt is paid then */
	u64 owed;		    /* ns: by an owner that came by trylock, in spite of a ban */
	u64 last_seen;		    /* ns: its last unlock, or when it left the queue */
	u32 weight;
	u32 rate; /* virtual time for each ns, in 1 / 2^KSCL_RATE_SHIFT */
	enum kscl_state state;
};

struct kscl_waiter {
	struct task_struct *task;
	bool granted; /* stored last of all: its stack frame may be gone after that */
};

/* What is to be done when the guard has been given back. */
struct kscl_after {
	struct task_struct *wake;   /* referenced */
	struct list_head forgotten; /* shares */
};

static bool kscl_is_before(const struct kscl_share *one, const struct kscl_share *other)
{
	return (s64)(one->used - other->used) < 0;
}

static bool kscl_node_is_before(struct rb_node *one, const struct rb_node *other)
{
	return kscl_is_before(rb_entry(one, struct kscl_share, by_time),
			      rb_entry(other, struct kscl_share, by_time));
}

static struct kscl_share *kscl_first(struct rb_root_cached *tree)
{
	struct rb_node *first = rb_first_cached(tree);

	return first ? rb_entry(first, struct kscl_share, by_time) : NULL;
}

static struct rb_root_cached *kscl_tree(struct kscl *lock, enum kscl_state state)
{
	switch (state) {
	case KSCL_IDLE:
		return &lock->idle;
	case KSCL_BANNED:
		return &lock->banned;
	case KSCL_READY:
		return &lock->ready;
	default:
		return NULL;
	}
}

static void kscl_move(struct kscl *lock, struct kscl_share *share, enum kscl_state to)
{
	struct rb_root_cached *from_tree = kscl_tree(lock, share->state);
	struct rb_root_cached *to_tree = kscl_tree(lock, to);

	if (from_tree)
		rb_erase_cached(&share->by_time, from_tree);
	if (share->state == KSCL_IDLE)
		list_del(&share->seen);
	share->state = to;
	if (to_tree)
		rb_add_cached(&share->by_time, to_tree, kscl_node_is_before);
	if (to == KSCL_IDLE)
		list_add_tail(&share->seen, &lock->seen);
}

/* Shares, and the threads that they belong to */

static int kscl_compare_thread(const void *pid, const struct rb_node *node)
{
	const struct pid *other = rb_entry(node, struct kscl_share, by_thread)->pid;

	return pid == other ? 0 : (unsigned long)pid < (unsigned long)other ? -1 : 1;
}

static bool kscl_thread_is_before(struct rb_node *node, const struct rb_node *other)
{
	return kscl_compare_thread(rb_entry(node, struct kscl_share, by_thread)->pid, other) < 0;
}

static struct kscl_share *kscl_find(const struct kscl *lock)
{
	struct rb_node *node = rb_find(task_pid(current), &lock->shares, kscl_compare_thread);

	return node ? rb_entry(node, struct kscl_share, by_thread) : NULL;
}

/* The weight by which the scheduler shares the CPU; others may change it meanwhile. */
static u32 kscl_weight_of_current(void)
{
	unsigned long weight = READ_ONCE(current->se.KSCL_LOAD.weight);

	if (!weight) /* it has never been in the fair class */
		weight = READ_ONCE(current->se.load.weight);
	if (IS_ENABLED(CONFIG_64BIT))
		weight >>= SCHED_FIXEDPOINT_SHIFT;
	return clamp_t(unsigned long, weight, 2, 1 << KSCL_RATE_SHIFT);
}

static void kscl_share_init(struct kscl_share *share)
{
	memset(share, 0, sizeof(*share));
	share->weight = kscl_weight_of_current();
	share->rate = (KSCL_WEIGHT_OF_NICE_0 << KSCL_RATE_SHIFT) / share->weight;
}

static struct kscl_share *kscl_share_alloc(void)
{
	struct kscl_share *share = NULL;

	/* A thread that takes a lock may be what memory is waiting for. */
	if (!READ_ONCE(fail_alloc))
		share = kmalloc(sizeof(*share), GFP_NOWAIT | __GFP_NOWARN);
	if (share) {
		kscl_share_init(share);
		share->pid = get_pid(task_pid(current));
	}
	return share;
}

/* Takes the guard. Returns the caller's share, made if there is none; NULL: there is no memory. */
static struct kscl_share *kscl_guard_with_share(struct kscl *lock)
{
	struct kscl_share *share;

	raw_spin_lock(&lock->guard);
	share = kscl_find(lock);
	if (share)
		return share;
	raw_spin_unlock(&lock->guard);

	share = kscl_share_alloc();
	raw_spin_lock(&lock->guard);
	if (share) {
		rb_add(&share->by_thread, &lock->shares, kscl_thread_is_before);
		lock->weight += share->weight;
		lock->threads++;
	}
	return share;
}

static void kscl_drop(struct kscl *lock, struct kscl_share *share, struct list_head *forgotten)
{
	kscl_move(lock, share, KSCL_APART);
	rb_erase(&share->by_thread, &lock->shares);
	lock->weight -= share->weight;
	lock->threads--;
	list_add(&share->seen, forgotten);
}

/* Forgets inactive classes, and an exited thread for whose sake others would be banned. */
static void kscl_forget(struct kscl *lock, u64 now, struct list_head *forgotten)
{
	struct kscl_share *share;

	while ((share = list_first_entry_or_null(&lock->seen, struct kscl_share, seen)) &&
	       now - share->last_seen >= KSCL_INACTIVE_NS)
		kscl_drop(lock, share, forgotten);
	while ((share = kscl_first(&lock->idle)) && !pid_has_task(share->pid, PIDTYPE_PID))
		kscl_drop(lock, share, forgotten);
}

static void kscl_free(struct list_head *forgotten)
{
	struct kscl_share *share, *next;

	list_for_each_entry_safe(share, next, forgotten, seen) {
		put_pid(share->pid);
		kfree(share);
	}
}

static void kscl_unguard(struct kscl *lock, struct kscl_after *after)
{
	raw_spin_unlock(&lock->guard);
	if (after->wake) {
		wake_up_process(after->wake);
		put_task_struct(after->wake);
	}
	kscl_free(&after->forgotten);
}

/* Who is next */

static bool kscl_is_banned(struct kscl *lock, const struct kscl_share *share, u64 now)
{
	const struct kscl_share *idle = kscl_first(&lock->idle);

	return idle && now < share->paid_at && kscl_is_before(idle, share) &&
	       (s64)(share->used - lock->virtual_now) > 0;
}

/* The waiter that is least far and not banned. One that is not first in its tree is farther. */
static struct kscl_share *kscl_next(struct kscl *lock, u64 now)
{
	struct kscl_share *ready = kscl_first(&lock->ready);
	struct kscl_share *banned = kscl_first(&lock->banned);

	if (!banned || kscl_is_banned(lock, banned, now))
		return ready;
	return ready && kscl_is_before(ready, banned) ? ready : banned;
}

static void kscl_own(struct kscl *lock, struct kscl_share *share, struct task_struct *task,
		     u64 owed)
{
	WRITE_ONCE(lock->owner, task);
	share->owed = owed;
	kscl_move(lock, share, KSCL_OWNER);
	lock->in_use = share->pid ? share : NULL;
}

/* kscl.K2: hands a free lock to the next waiter, if one may have it. */
static void kscl_choose(struct kscl *lock, u64 now, struct kscl_after *after)
{
	struct kscl_share *next = lock->owner ? NULL : kscl_next(lock, now);
	struct kscl_waiter *waiter;

	if (!next)
		return;
	waiter = next->waiter;
	if ((s64)(next->used - lock->virtual_now) > 0)
		lock->virtual_now = next->used;
	if (lock->spinner == waiter)
		lock->spinner = NULL;
	else if (waiter->task != current)
		after->wake = get_task_struct(waiter->task);
	kscl_own(lock, next, waiter->task, 0);
	/* Pairs with kscl_is_granted(). The waiter and its makeshift share may be gone then. */
	smp_store_release(&waiter->granted, true);
}

/* Waiting */

static bool kscl_is_granted(const struct kscl_waiter *self)
{
	return smp_load_acquire(&self->granted); /* pairs with kscl_choose() */
}

static void kscl_weigh(struct kscl *lock, struct kscl_share *share)
{
	u32 weight = kscl_weight_of_current();

	if (weight == share->weight)
		return;
	lock->weight += (s64)weight - share->weight;
	share->weight = weight;
	share->rate = (KSCL_WEIGHT_OF_NICE_0 << KSCL_RATE_SHIFT) / weight;
}

static void kscl_come_back(struct kscl *lock, struct kscl_share *share)
{
	kscl_move(lock, share, KSCL_APART);
	if (share->pid)
		kscl_weigh(lock, share);
	if ((s64)(lock->virtual_now - share->used) > 0)
		share->used = lock->virtual_now;
}

static void kscl_leave(struct kscl *lock, struct kscl_share *share, u64 now)
{
	share->last_seen = now;
	kscl_move(lock, share, share->pid ? KSCL_IDLE : KSCL_APART);
}

static bool kscl_owner_runs(const struct kscl *lock)
{
	struct task_struct *owner;
	bool runs;

	rcu_read_lock(); /* a task is freed after a grace period */
	owner = READ_ONCE(lock->owner);
	runs = owner && owner_on_cpu(owner);
	rcu_read_unlock();
	return runs;
}

/* Polling pays for the thread that is next, while the owner runs, and costs nobody else the CPU. */
static bool kscl_may_spin(struct kscl *lock, const struct kscl_share *share)
{
	return !lock->spinner && share->state == KSCL_READY && kscl_first(&lock->ready) == share &&
	       kscl_owner_runs(lock) && !need_resched();
}

static void kscl_spin(const struct kscl *lock, const struct kscl_waiter *self, unsigned int state)
{
	while (!kscl_is_granted(self) && kscl_owner_runs(lock) && !need_resched() &&
	       !signal_pending_state(state, current))
		cpu_relax();
}

/* kscl.K3: when a banned waiter is to look by itself. */
static u64 kscl_look_at(struct kscl *lock, const struct kscl_share *share)
{
	const struct kscl_share *idle = kscl_first(&lock->idle);

	if (share->state != KSCL_BANNED)
		return KTIME_MAX;
	if (!idle)
		return share->paid_at;
	return min(share->paid_at, idle->last_seen + KSCL_INACTIVE_NS);
}

static void kscl_sleep(const struct kscl_waiter *self, unsigned int state, u64 until)
{
	ktime_t expires = min_t(u64, until, KTIME_MAX);

	set_current_state(state);
	if (!kscl_is_granted(self)) {
		if (until < KTIME_MAX)
			schedule_hrtimeout(&expires, HRTIMER_MODE_ABS);
		else
			schedule();
	}
	__set_current_state(TASK_RUNNING);
}

/* Waits until the lock is the caller's. -EINTR: a signal came that state is sensitive to. */
static int kscl_acquire(struct kscl *lock, unsigned int state)
{
	struct kscl_waiter self = {.task = current};
	struct kscl_share makeshift, *share = kscl_guard_with_share(lock);
	u64 now = ktime_get_ns(), until;
	bool spins;

	if (!share) {
		share = &makeshift;
		kscl_share_init(share);
	}
	kscl_come_back(lock, share);
	share->waiter = &self;
	kscl_move(lock, share, now < share->paid_at ? KSCL_BANNED : KSCL_READY);

	for (;;) {
		struct kscl_after after = {.forgotten = LIST_HEAD_INIT(after.forgotten)};

		if (lock->spinner == &self)
			lock->spinner = NULL;
		if (share->state == KSCL_BANNED && now >= share->paid_at)
			kscl_move(lock, share, KSCL_READY);
		kscl_forget(lock, now, &after.forgotten);
		if (!self.granted)
			kscl_choose(lock, now, &after);
		if (self.granted) {
			kscl_unguard(lock, &after);
			break;
		}
		if (signal_pending_state(state, current)) {
			kscl_leave(lock, share, now);
			kscl_unguard(lock, &after);
			return -EINTR;
		}
		spins = kscl_may_spin(lock, share);
		if (spins)
			lock->spinner = &self;
		until = kscl_look_at(lock, share);
		kscl_unguard(lock, &after);

		if (spins)
			kscl_spin(lock, &self, state);
		else
			kscl_sleep(&self, state, until);
		if (kscl_is_granted(&self))
			break;
		raw_spin_lock(&lock->guard);
		now = ktime_get_ns();
	}
	lock->began = ktime_get_ns(); /* what it takes to be woken is not its use */
	return 0;
}

/* The caller has used the lock for that long. */
static void kscl_charge(const struct kscl *lock, struct kscl_share *share, u64 held)
{
	u64 parts = div_u64(lock->weight * KSCL_WEIGHT_OF_NICE_0, share->weight);

	held = min(held, KSCL_SECTION_NS_MAX);
	share->used += mul_u64_u32_shr(held, share->rate, KSCL_RATE_SHIFT);
	share->paid_at =
		lock->began + share->owed + mul_u64_u32_shr(held, min_t(u64, parts, U32_MAX), 10);
}

/* What others call */

/**
 * kscl_lock - acquire the lock, in a turn that depends on what the caller has used of it
 * @lock: not the caller's already
 *
 * Context: process context; sleeps. The caller comes before waiters that have used more time by
 * weight, and may sleep although the lock is free: until its debt to idle threads is paid.
 */
void kscl_lock(struct kscl *lock)
{
	might_sleep();
	mutex_acquire(&lock->dep_map, 0, 0, _RET_IP_);
	kscl_acquire(lock, TASK_UNINTERRUPTIBLE);
	lock_acquired(&lock->dep_map, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kscl_lock);

static int kscl_lock_unless_signalled(struct kscl *lock, unsigned int state, unsigned long ip)
{
	int error;

	might_sleep();
	mutex_acquire(&lock->dep_map, 0, 0, ip);
	error = kscl_acquire(lock, state);
	if (error)
		mutex_release(&lock->dep_map, ip);
	else
		lock_acquired(&lock->dep_map, ip);
	return error;
}

/**
 * kscl_lock_interruptible - kscl_lock(), ended by any signal
 * @lock: not the caller's already
 *
 * Return: 0, or -EINTR when a signal came before the lock did.
 */
int kscl_lock_interruptible(struct kscl *lock)
{
	return kscl_lock_unless_signalled(lock, TASK_INTERRUPTIBLE, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kscl_lock_interruptible);

/**
 * kscl_lock_killable - kscl_lock(), ended by a fatal signal
 * @lock: not the caller's already
 *
 * Return: 0, or -EINTR when a fatal signal came before the lock did.
 */
int kscl_lock_killable(struct kscl *lock)
{
	return kscl_lock_unless_signalled(lock, TASK_KILLABLE, _RET_IP_);
}
EXPORT_SYMBOL_GPL(kscl_lock_killable);

/**
 * kscl_trylock - acquire the lock if it is free
 * @lock: not the caller's already
 *
 * Does not sleep, and is not kept away by a ban: a thread that tries can't wait for its end. What
 * the caller uses counts all the same.
 *
 * Return: whether the lock is the caller's now.
 */
bool kscl_trylock(struct kscl *lock)
{
	struct kscl_share makeshift, *share;
	bool free;
	u64 now;

	if (READ_ONCE(lock->owner))
		return false;
	share = kscl_guard_with_share(lock);
	free = !lock->owner;
	if (free) {
		if (!share) {
			share = &makeshift;
			kscl_share_init(share);
		}
		kscl_come_back(lock, share);
		now = ktime_get_ns();
		kscl_own(lock, share, current,
			 kscl_is_banned(lock, share, now) ? share->paid_at - now : 0);
		lock->began = now;
	} else if (share && share->state == KSCL_APART) { /* made just now */
		kscl_come_back(lock, share);
		kscl_leave(lock, share, ktime_get_ns());
	}
	raw_spin_unlock(&lock->guard);
	if (free)
		mutex_acquire(&lock->dep_map, 0, 1, _RET_IP_);
	return free;
}
EXPORT_SYMBOL_GPL(kscl_trylock);

/**
 * kscl_unlock - give the lock back, to the waiter that is next if there is one
 * @lock: the caller's
 */
void kscl_unlock(struct kscl *lock)
{
	struct kscl_after after = {.forgotten = LIST_HEAD_INIT(after.forgotten)};
	struct kscl_share *share;
	u64 now;

	mutex_release(&lock->dep_map, _RET_IP_);
	if (WARN_ON_ONCE(READ_ONCE(lock->owner) != current))
		return;
	raw_spin_lock(&lock->guard);
	now = ktime_get_ns();
	share = lock->in_use;
	if (share) {
		kscl_charge(lock, share, now - lock->began);
		kscl_leave(lock, share, now);
	}
	lock->in_use = NULL;
	WRITE_ONCE(lock->owner, NULL);
	kscl_forget(lock, now, &after.forgotten);
	kscl_choose(lock, now, &after);
	kscl_unguard(lock, &after);
}
EXPORT_SYMBOL_GPL(kscl_unlock);

/**
 * kscl_is_locked - whether somebody has the lock
 * @lock: the lock
 *
 * Return: what was true a moment ago.
 */
bool kscl_is_locked(const struct kscl *lock)
{
	return READ_ONCE(lock->owner);
}
EXPORT_SYMBOL_GPL(kscl_is_locked);

/**
 * kscl_is_contended - whether somebody waits for the lock
 * @lock: the lock
 *
 * Return: what was true a moment ago.
 */
bool kscl_is_contended(struct kscl *lock)
{
	bool contended;

	raw_spin_lock(&lock->guard);
	contended = kscl_first(&lock->ready) || kscl_first(&lock->banned);
	raw_spin_unlock(&lock->guard);
	return contended;
}
EXPORT_SYMBOL_GPL(kscl_is_contended);

/**
 * kscl_threads - how many threads take part in the lock
 * @lock: the lock
 *
 * Return: how many have a share of it: a thread that waits, has it, or has used it and is not
 * forgotten yet.
 */
unsigned int kscl_threads(struct kscl *lock)
{
	unsigned int threads;

	raw_spin_lock(&lock->guard);
	threads = lock->threads;
	raw_spin_unlock(&lock->guard);
	return threads;
}
EXPORT_SYMBOL_GPL(kscl_threads);

void __kscl_init(struct kscl *lock, const char *name, struct lock_class_key *key)
{
	memset(lock, 0, sizeof(*lock));
	raw_spin_lock_init(&lock->guard);
	lock->shares = RB_ROOT;
	lock->idle = RB_ROOT_CACHED;
	lock->banned = RB_ROOT_CACHED;
	lock->ready = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&lock->seen);
#ifdef CONFIG_DEBUG_LOCK_ALLOC
	lockdep_init_map_wait(&lock->dep_map, name, key, 0, LD_WAIT_SLEEP);
#endif
}
EXPORT_SYMBOL_GPL(__kscl_init);

/**
 * kscl_destroy - give back what the lock remembers
 * @lock: free, and nobody waits for it or comes to it any more
 *
 * The lock is then as kscl_init() makes it. A thread that is still inside kscl_unlock() is waited
 * for.
 */
void kscl_destroy(struct kscl *lock)
{
	LIST_HEAD(forgotten);
	struct kscl_share *share;

	raw_spin_lock(&lock->guard);
	WARN_ON_ONCE(lock->owner || kscl_first(&lock->ready) || kscl_first(&lock->banned));
	while ((share = kscl_first(&lock->idle)))
		kscl_drop(lock, share, &forgotten);
	raw_spin_unlock(&lock->guard);
	kscl_free(&forgotten);
}
EXPORT_SYMBOL_GPL(kscl_destroy);

MODULE_DESCRIPTION("k-SCL: a mutex that shares time by scheduling weight");
MODULE_LICENSE("Dual BSD/GPL");
