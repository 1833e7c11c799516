/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What programs ask of /dev/kscl_bench: one section of a lock of the kernel's, by the caller. All
 * who open the device share two locks, a mutex and a k-SCL.
 */
#ifndef _KSCL_BENCH_H
#define _KSCL_BENCH_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct kscl_bench_section {
	__u64 busy_ns;	 /* asked: how long it computes inside, KSCL_BENCH_BUSY_NS_MAX at most */
	__u64 waited_ns; /* said: from the request to the lock */
	__u64 held_ns;	 /* said: from there to the unlock */
};

#define KSCL_BENCH_BUSY_NS_MAX 1000000000ULL

/* 0, or -1 and errno: EINVAL: too long; EINTR: killed while it waited. */
#define KSCL_BENCH_MUTEX _IOWR('k', 1, struct kscl_bench_section)
#define KSCL_BENCH_KSCL _IOWR('k', 2, struct kscl_bench_section)

#endif
