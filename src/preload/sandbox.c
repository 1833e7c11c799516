// SPDX-License-Identifier: MIT OR Apache-2.0
// prctl and syscall, by which a program puts itself into a seccomp sandbox (as libseccomp does). Its filter may kill
// for a call that nobody has thought of: so before it stands, Holdfast does without the calls that only Holdfast makes
// (docs/sandboxes.md). Else both are the next ones of their name.
//
//     no sandbox is known of   unlocks store plainly, a sleeper pays by membarrier(2)          park/sleeper_counts.h
//     one is about to be       they exchange, for good; records that were left behind stay       thread/thread_record.h
//                              no more memory is mapped for statistics                           observe/observation.h
//                              real-time threads are what they were known as                     thread/realtime.h
//                              a monitor that wasn't met isn't looked for again                  hint/registration.h
//                              the number of CPUs stays                                          base/cpu_count.h
//                              nobody yields its CPU, or looks for that at the clock             park/yield.h
//                              no thread is heard anew that wants a longer slice                 park/slice_request.h
//                              strict mode: acquisitions that don't wait are not timed           observe/observation.h
//                              the thread that makes the sandbox has its record already          thread/thread_record.h
//
// By syscall a program may also make its threads real-time ones (realtime.c).
//
// Both jump to the next function as their last act (-foptimize-sibling-calls): syscall(SYS_clone) returns twice.
#include <dlfcn.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "base/cpu_count.h"
#include "base/system_call.h"
#include "hint/registration.h"
#include "observe/observation.h"
#include "park/sleeper_counts.h"
#include "park/slice_request.h"
#include "park/yield.h"
#include "preload/symbol_version.h"
#include "thread/realtime.h"
#include "thread/thread_record.h"

typedef long (*syscall_function)(long number, HF_SYSCALL_PARAMETERS);
typedef int (*prctl_function)(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

bool hf_registers_later = true;

// By the constructor, or for a constructor that ran before ours.
static syscall_function next_syscall;
static prctl_function next_prctl;

__attribute__((constructor)) static void find_next(void) {
    *(void **)&next_prctl = dlsym(RTLD_NEXT, "prctl");
    *(void **)&next_syscall = dlsym(RTLD_NEXT, "syscall");
}

static __attribute__((noinline, cold)) void do_without(bool strict) {
    static bool done;
    hf_self();  // a first lock's mmap and rt_sigprocmask, for this thread
    if (strict) // seccomp's strict mode forbids the processor's counter, too
        hf_statistics_forgo_clock();
    if (hf_exchange_relaxed(&done, true))
        return;
    hf_sleepers_forgo_fences();
    hf_thread_records_stay_left();
    hf_statistics_stay_mapped();
    hf_realtime_ask_no_more();
    hf_register_never();
    hf_cpus_forgo();
    hf_yield_forgo();
    hf_slice_requests_forgo();
}

static bool makes_a_sandbox(long number, long option) {
    return (number == SYS_seccomp && (option == SECCOMP_SET_MODE_STRICT || option == SECCOMP_SET_MODE_FILTER)) ||
           (number == SYS_prctl && option == PR_SET_SECCOMP);
}

static bool makes_realtime_threads(long number, long resource) {
    return number == SYS_sched_setscheduler || number == SYS_sched_setattr ||
           (number == SYS_prlimit64 && resource == RLIMIT_RTTIME);
}

static long interposed_syscall(long number, HF_SYSCALL_PARAMETERS) {
    if (HF_UNLIKELY(!next_syscall))
        find_next();
    if (HF_UNLIKELY(makes_a_sandbox(number, a)))
        do_without(number == SYS_seccomp ? a == SECCOMP_SET_MODE_STRICT : b == SECCOMP_MODE_STRICT);
    if (HF_UNLIKELY(makes_realtime_threads(number, b)))
        hf_realtime_expect();
    return next_syscall(number, HF_SYSCALL_ARGUMENTS);
}

static int interposed_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (HF_UNLIKELY(!next_prctl))
        find_next();
    if (HF_UNLIKELY(option == PR_SET_SECCOMP))
        do_without(a == SECCOMP_MODE_STRICT);
    return next_prctl(option, a, b, c, d);
}

HF_EXPORT(interposed_syscall, syscall, HF_GLIBC_FIRST);
HF_EXPORT(interposed_prctl, prctl, HF_GLIBC_FIRST);
