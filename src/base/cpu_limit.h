// SPDX-License-Identifier: MIT OR Apache-2.0
// The limit of CPU time that a process shares with those of its cgroup, as containers have it: so much in each period,
// on whichever CPUs; then all of them stand still until the next one. It is the smallest of the group's and of all
// groups that this one is in:
//
//     /proc/self/cgroup        files
//     0::/a/b                  /sys/fs/cgroup/a/b/cpu.max, /sys/fs/cgroup/a/cpu.max, /sys/fs/cgroup/cpu.max
//     5:cpu,cpuacct:/a/b       /sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us and cpu.cfs_period_us, .../a/..., ...
//
// A process may be told its place as its host sees it, and find its own group's files in the upmost directory: files
// that are not there set no limit. Nor do those that may not be read.
//
// It is read once, by a constructor, before there are other threads: one that opens a file later takes a descriptor's
// number from a program that counts on getting it. A limit that is changed later is seen by programs that start then.
#ifndef HF_BASE_CPU_LIMIT_H
#define HF_BASE_CPU_LIMIT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HF_NO_CPU_LIMIT UINT32_MAX

// In thousandths of a CPU. HF_NO_CPU_LIMIT: there is none, or it is as much as the CPUs are that the process may use.
extern uint32_t hf_cpu_limit_millis __attribute__((visibility("hidden")));

// The same, whatever CPUs there are, by these files.
uint32_t hf_cpu_limit_read(const char *groups_path, const char *mounted_at) __attribute__((visibility("hidden")));

#ifdef __cplusplus
}
#endif

#endif
