// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A device to measure with: threads of programs, with the nice values and cgroups that they have,
 * use a mutex or a k-SCL of the kernel's (kscl_bench.h). bench/kscl is such a program.
 */
#include "kscl_bench.h"
#include "kscl.h"

#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

static DEFINE_MUTEX(bench_mutex);
static DEFINE_KSCL(bench_kscl);

static void be_busy_until(u64 end)
{
	while (ktime_get_ns() < end) {
		cpu_relax();
		cond_resched();
	}
}

static long bench_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct kscl_bench_section __user *given = (void __user *)argument;
	bool kscl = command == KSCL_BENCH_KSCL;
	struct kscl_bench_section section;
	u64 asked, began, ended;
	int error;

	if (!kscl && command != KSCL_BENCH_MUTEX)
		return -ENOTTY;
	if (copy_from_user(&section, given, sizeof(section)))
		return -EFAULT;
	if (section.busy_ns > KSCL_BENCH_BUSY_NS_MAX)
		return -EINVAL;

	asked = ktime_get_ns();
	error = kscl ? kscl_lock_killable(&bench_kscl) : mutex_lock_killable(&bench_mutex);
	if (error)
		return error;
	began = ktime_get_ns();
	be_busy_until(began + section.busy_ns);
	ended = ktime_get_ns();
	if (kscl)
		kscl_unlock(&bench_kscl);
	else
		mutex_unlock(&bench_mutex);

	section.waited_ns = began - asked;
	section.held_ns = ended - began;
	return copy_to_user(given, &section, sizeof(section)) ? -EFAULT : 0;
}

static const struct file_operations bench_operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = bench_ioctl,
};

static struct miscdevice bench_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kscl_bench",
	.fops = &bench_operations,
};

static int __init bench_init(void)
{
	return misc_register(&bench_device);
}

static void __exit bench_exit(void)
{
	misc_deregister(&bench_device);
	kscl_destroy(&bench_kscl);
}

module_init(bench_init);
module_exit(bench_exit);
MODULE_DESCRIPTION("a device to measure k-SCL and the kernel's mutex with");
MODULE_LICENSE("Dual BSD/GPL");
