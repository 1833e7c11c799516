// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Self-tests of k-SCL, as a module: loading it runs them, prints TAP (Documentation/dev-tools/ktap)
 * to the kernel's log, and leaves the number of those that failed in its parameter failures. None
 * has a limit on how long something may take: what holds for a time only, such as a second of
 * inactivity, is tried again when the machine was too slow to see it.
 *
 * Shown able to fail: sections are not charged (ban, shares_of_equals); nobody is banned, or a
 * section by trylock wipes out an older debt (ban); exited threads count (thread_that_exits); an
 * idle thread that the test itself has left (shares_of_equals).
 */
#define pr_fmt(text) "kscl_test: " text

#include "kscl.h"

#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#define TRIES 20

static unsigned int rounds = 20000;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "critical sections of each thread where exclusion is tested");

static unsigned int share_ms = 2000;
module_param(share_ms, uint, 0444);
MODULE_PARM_DESC(share_ms, "how long threads share the lock where shares are measured");

static unsigned int share_error = 3;
module_param(share_error, uint, 0444);
MODULE_PARM_DESC(share_error, "how far shares may be from what is due, in percent of that");

static char *only = "";
module_param(only, charp, 0444);
MODULE_PARM_DESC(only, "the only test to run, or the beginning of several ones' names");

static unsigned int failures;
module_param(failures, uint, 0444);
MODULE_PARM_DESC(failures, "how many tests have failed; not to be set");

static bool failed;

#define EXPECT(condition, ...)                                                    \
	do {                                                                      \
		if (!(condition)) {                                               \
			pr_info("# line %d: not so: %s\n", __LINE__, #condition); \
			pr_info("# " __VA_ARGS__);                                \
			failed = true;                                            \
		}                                                                 \
	} while (0)

/* A thread of a test, and what it is to do. */
struct member {
	struct kscl *lock;
	int (*work)(struct member *self);
	struct task_struct *task;
	struct completion done;
	int nice;
	u64 section_us;
	u64 from;  /* ns: when it is to begin */
	u64 until; /* ns: when it is to stop, or has stopped */
	u64 held;  /* ns */
	u64 sections;
	u64 *shared;	     /* is counted up inside the lock, not atomically */
	bool *inside;	     /* somebody is */
	unsigned int errors; /* sections in which somebody else was inside, too */
	unsigned int given_up;
	int result;
};

static int member_main(void *data)
{
	struct member *self = data;

	self->result = self->work(self);
	complete(&self->done);
	while (!kthread_should_stop()) /* its task stays until the test has joined it */
		schedule_timeout_interruptible(1);
	return 0;
}

static bool start(struct member *self, const char *name)
{
	init_completion(&self->done);
	self->task = kthread_create(member_main, self, "kscl/%s", name);
	if (IS_ERR(self->task)) {
		pr_info("# no thread could be made\n");
		self->task = NULL;
		failed = true;
		return false;
	}
	set_user_nice(self->task, self->nice);
	wake_up_process(self->task);
	return true;
}

static void join(struct member *self)
{
	if (!self->task)
		return;
	wait_for_completion(&self->done);
	kthread_stop(self->task);
	self->task = NULL;
}

static void await_waiter(struct kscl *lock)
{
	while (!kscl_is_contended(lock))
		usleep_range(1000, 2000);
}

/* Keeps the CPU for that long by the clock. */
static void be_busy(u64 us)
{
	u64 end = ktime_get_ns() + us * NSEC_PER_USEC;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static void hold(struct kscl *lock, u64 us)
{
	kscl_lock(lock);
	be_busy(us);
	kscl_unlock(lock);
}

/* Exclusion, by each way in. */

static void inside(struct member *self)
{
	if (READ_ONCE(*self->inside))
		self->errors++;
	WRITE_ONCE(*self->inside, true);
	(*self->shared)++;
	self->sections++;
	WRITE_ONCE(*self->inside, false);
}

static int enter_and_leave(struct member *self)
{
	unsigned int round;

	allow_signal(SIGUSR1);
	allow_signal(SIGKILL);
	for (round = 0; round < rounds; round++) {
		bool entered = true;

		switch (round % 4) {
		case 0:
			kscl_lock(self->lock);
			break;
		case 1:
			entered = kscl_trylock(self->lock);
			break;
		case 2:
			entered = !kscl_lock_interruptible(self->lock);
			break;
		case 3:
			entered = !kscl_lock_killable(self->lock);
			break;
		}
		if (entered) {
			inside(self);
			if (round % 64 == 0)
				cond_resched();
			kscl_unlock(self->lock);
		} else {
			self->given_up++;
		}
		if (signal_pending(current))
			flush_signals(current);
	}
	return 0;
}

static void exclude(unsigned int members, bool signals)
{
	struct member *team = kcalloc(members, sizeof(*team), GFP_KERNEL);
	u64 shared = 0, sections = 0;
	bool somebody = false;
	unsigned int number, running = 0;
	struct kscl lock;

	if (!team) {
		failed = true;
		return;
	}
	kscl_init(&lock);
	for (number = 0; number < members; number++) {
		team[number] = (struct member){
			.lock = &lock,
			.work = enter_and_leave,
			.shared = &shared,
			.inside = &somebody,
			.nice = number % 3,
		};
		running += start(&team[number], "exclusion");
	}
	while (signals && running) {
		running = 0;
		for (number = 0; number < members; number++) {
			if (!team[number].task || completion_done(&team[number].done))
				continue;
			send_sig(number % 2 ? SIGUSR1 : SIGKILL, team[number].task, 1);
			running++;
		}
		usleep_range(1000, 2000);
	}
	for (number = 0; number < members; number++) {
		join(&team[number]);
		EXPECT(!team[number].errors, "thread %u was inside %u times with another\n", number,
		       team[number].errors);
		sections += team[number].sections;
	}
	EXPECT(shared == sections, "%llu sections, %llu were counted\n", sections, shared);
	EXPECT(!kscl_is_locked(&lock) && !kscl_is_contended(&lock), "somebody is left\n");
	kscl_destroy(&lock);
	EXPECT(!kscl_threads(&lock), "a share is left\n");
	kfree(team);
}

static void test_exclusion(void)
{
	exclude(4, false);
}

static void test_exclusion_among_signals(void)
{
	exclude(8, true);
}

/* Shares: threads that always want the lock have it by weight, whatever their sections' lengths. */

static int use_until(struct member *self)
{
	while (ktime_get_ns() < self->from)
		schedule_timeout_uninterruptible(1);
	while (ktime_get_ns() < self->until) {
		u64 began;

		kscl_lock(self->lock);
		began = ktime_get_ns();
		be_busy(self->section_us);
		self->held += ktime_get_ns() - began;
		self->sections++;
		kscl_unlock(self->lock);
	}
	return 0;
}

/*
 * Weights as the scheduler has them. The difference from what is due is at most 3% of that, unless
 * the machine stops threads where it likes, as KCSAN does.
 * Sections are long beside what lies between them, also where the machine is emulated: a thread
 * that leaves the lock free for a part of its time has had the opportunity to use it.
 */
static void share(unsigned int members, const int *nice, const u64 *section_us, const u64 *weights)
{
	struct member team[3] = {};
	u64 held = 0, weight = 0, from = ktime_get_ns() + 50 * NSEC_PER_MSEC;
	unsigned int number;
	struct kscl lock;

	kscl_init(&lock);
	for (number = 0; number < members; number++) {
		team[number] = (struct member){
			.lock = &lock,
			.work = use_until,
			.from = from,
			.until = from + share_ms * NSEC_PER_MSEC,
			.nice = nice[number],
			.section_us = section_us[number],
		};
		start(&team[number], "share");
		weight += weights[number];
	}
	for (number = 0; number < members; number++) {
		join(&team[number]);
		held += team[number].held;
	}
	for (number = 0; number < members; number++) {
		u64 due = div64_u64(held * weights[number], weight), is = team[number].held;
		u64 off = is > due ? is - due : due - is;

		pr_info("# nice %d, sections of %llu us: held for %llu of %llu us, due %llu, %llu sections\n",
			nice[number], section_us[number], div_u64(is, 1000), div_u64(held, 1000),
			div_u64(due, 1000), team[number].sections);
		EXPECT(off * 100 <= due * share_error, "more than %u%% off\n", share_error);
	}
	kscl_destroy(&lock);
}

static void test_shares_of_equals(void)
{
	share(2, (int[]){0, 0}, (u64[]){3000, 200}, (u64[]){1024, 1024});
}

static void test_shares_by_nice(void)
{
	share(3, (int[]){0, 3, 6}, (u64[]){500, 500, 500}, (u64[]){1024, 526, 272});
}

static void test_shares_by_nice_and_length(void)
{
	share(3, (int[]){0, 3, -3}, (u64[]){1000, 3000, 2000}, (u64[]){1024, 526, 1991});
}

/* Bans, and their ends */

static int use_once(struct member *self)
{
	hold(self->lock, self->section_us);
	self->until = ktime_get_ns();
	return 0;
}

/* Has a thread use the lock for a moment. It is idle when this returns, and exits when joined. */
static void let_use(struct member *other, struct kscl *lock)
{
	*other = (struct member){.lock = lock, .work = use_once, .section_us = 10};
	start(other, "idle");
	if (!other->task)
		return;
	wait_for_completion(&other->done);
	complete(&other->done); /* for join */
}

static bool is_active_still(const struct member *other)
{
	return ktime_get_ns() - other->until < NSEC_PER_SEC;
}

/* Calls a case until it has seen what it is to see. */
static void try_often(bool (*one)(struct kscl *lock))
{
	unsigned int try;
	struct kscl lock;
	bool seen = false;

	for (try = 0; try < TRIES && !seen && !failed; try++) {
		kscl_init(&lock);
		seen = one(&lock);
		kscl_destroy(&lock);
	}
	EXPECT(seen, "not seen in %u tries\n", try);
}

/* A thread that has used more than an idle one waits as long again, although the lock is free. */
static bool see_ban(struct kscl *lock)
{
	struct member other;
	u64 began, back;
	bool active, tried;

	let_use(&other, lock);
	kscl_lock(lock);
	began = ktime_get_ns();
	be_busy(50000);
	kscl_unlock(lock);
	tried = kscl_trylock(lock); /* is not kept away */
	EXPECT(tried, "trylock heeds a ban\n");
	if (tried)
		kscl_unlock(lock);
	kscl_lock(lock);
	back = ktime_get_ns();
	active = is_active_still(&other);
	kscl_unlock(lock);
	join(&other);
	if (active)
		EXPECT(back - began >= 100 * NSEC_PER_MSEC, "banned until %llu us after it began\n",
		       div_u64(back - began, 1000));
	return active;
}

/* Nobody waits for the sake of a thread that has exited. */
static bool see_exit(struct kscl *lock)
{
	struct member other;
	struct pid *pid;
	unsigned int threads;
	bool active;

	let_use(&other, lock);
	if (!other.task)
		return true;
	pid = get_pid(task_pid(other.task));
	hold(lock, 300000);
	join(&other);
	while (pid_has_task(pid, PIDTYPE_PID))
		usleep_range(1000, 2000);
	put_pid(pid);
	kscl_lock(lock);
	threads = kscl_threads(lock);
	active = is_active_still(&other);
	kscl_unlock(lock);
	if (active)
		EXPECT(threads == 1, "%u threads have a share\n", threads);
	return active;
}

/* A thread that has not used the lock for a second is forgotten, which ends a ban. */
static bool see_inactivity(struct kscl *lock)
{
	struct member other;
	unsigned int before, after;
	u64 began, back;
	bool active;

	let_use(&other, lock);
	kscl_lock(lock);
	began = ktime_get_ns();
	before = kscl_threads(lock);
	active = is_active_still(&other);
	be_busy(800000);
	kscl_unlock(lock);
	kscl_lock(lock);
	back = ktime_get_ns();
	after = kscl_threads(lock);
	kscl_unlock(lock);
	join(&other);
	if (!active || back - began >= 1600 * NSEC_PER_MSEC)
		return false;
	EXPECT(before == 2 && after == 1, "%u threads took part, then %u\n", before, after);
	EXPECT(back - other.until >= NSEC_PER_SEC - 100 * NSEC_PER_MSEC,
	       "forgotten after %llu us\n", div_u64(back - other.until, 1000));
	return true;
}

static void test_ban(void)
{
	try_often(see_ban);
}

static void test_thread_that_exits(void)
{
	try_often(see_exit);
}

static void test_inactive_thread(void)
{
	try_often(see_inactivity);
}

/* Ways out of the queue */

static int wait_killable(struct member *self)
{
	int error;

	allow_signal(SIGUSR1);
	allow_signal(SIGKILL);
	error = kscl_lock_killable(self->lock);
	if (!error)
		kscl_unlock(self->lock);
	return error;
}

static int wait_interruptible(struct member *self)
{
	int error;

	allow_signal(SIGUSR1);
	error = kscl_lock_interruptible(self->lock);
	if (!error)
		kscl_unlock(self->lock);
	return error;
}

/* A waiter gets a signal while the lock is held and another one waits behind it. */
static int signalled(int (*work)(struct member *self), int signal)
{
	struct kscl lock;
	struct member waiter = {.lock = &lock, .work = work};
	struct member behind = {.lock = &lock, .work = use_once, .section_us = 1};
	unsigned int threads;

	kscl_init(&lock);
	kscl_lock(&lock);
	start(&waiter, "waiter");
	await_waiter(&lock);
	start(&behind, "behind");
	do {
		usleep_range(1000, 2000);
		threads = kscl_threads(&lock);
	} while (threads < 3 && !failed);
	if (waiter.task)
		send_sig(signal, waiter.task, 1);
	if (work == wait_interruptible || signal == SIGKILL)
		join(&waiter);
	else
		msleep(50);
	kscl_unlock(&lock);
	join(&waiter);
	join(&behind);
	EXPECT(!kscl_is_locked(&lock) && !kscl_is_contended(&lock), "somebody is left\n");
	kscl_destroy(&lock);
	return waiter.result;
}

static void test_kill_in_the_queue(void)
{
	EXPECT(signalled(wait_killable, SIGKILL) == -EINTR, "a killed waiter was not told so\n");
	EXPECT(signalled(wait_killable, SIGUSR1) == 0, "a signal that kills nobody ended a wait\n");
}

static void test_interrupt_in_the_queue(void)
{
	EXPECT(signalled(wait_interruptible, SIGUSR1) == -EINTR, "a signal did not end a wait\n");
}

static void test_trylock(void)
{
	static DEFINE_KSCL(lock); /* lockdep knows no locks by their name on a stack */
	bool first = kscl_trylock(&lock), second = kscl_trylock(&lock);

	EXPECT(first && !second, "taken %u and %u times\n", first, second);
	EXPECT(kscl_is_locked(&lock), "the lock seems free\n");
	if (first)
		kscl_unlock(&lock);
	EXPECT(!kscl_is_locked(&lock), "the lock seems held\n");
	kscl_destroy(&lock);
}

#define TEST(name)                 \
	{                          \
		#name, test_##name \
	}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(exclusion),
	TEST(exclusion_among_signals),
	TEST(trylock),
	TEST(shares_of_equals),
	TEST(shares_by_nice),
	TEST(shares_by_nice_and_length),
	TEST(ban),
	TEST(thread_that_exits),
	TEST(inactive_thread),
	TEST(kill_in_the_queue),
	TEST(interrupt_in_the_queue),
};

static int __init kscl_test_init(void)
{
	unsigned int number, run = 0;

	failures = 0;
	pr_info("TAP version 14\n");
	for (number = 0; number < ARRAY_SIZE(tests); number++) {
		if (strncmp(tests[number].name, only, strlen(only)))
			continue;
		failed = false;
		tests[number].run();
		pr_info("%sok %u - %s\n", failed ? "not " : "", ++run, tests[number].name);
		failures += failed;
	}
	pr_info("1..%u\n", run);
	return run ? 0 : -EINVAL;
}

static void __exit kscl_test_exit(void)
{
}

module_init(kscl_test_init);
module_exit(kscl_test_exit);
MODULE_DESCRIPTION("k-SCL's self-tests");
MODULE_LICENSE("Dual BSD/GPL");
