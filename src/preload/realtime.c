// SPDX-License-Identifier: MIT OR Apache-2.0
// The functions by which a program makes threads real-time ones, or sets the limit that rtkit wants of a thread that
// asks it for that. They are noticed (thread/realtime.h), and are the next ones of their name. The same by syscall:
// sandbox.c.
//
// Not noticed: a thread that calls the kernel by an instruction of its own, or another process.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>

#include "preload/symbol_version.h"
#include "thread/realtime.h"

static struct {
    int (*set_thread)(pthread_t thread, int policy, const struct sched_param *parameters);
    int (*set_attribute)(pthread_attr_t *attributes, int policy);
    int (*set_scheduler)(pid_t thread, int policy, const struct sched_param *parameters);
    int (*set_limit)(int resource, const struct rlimit *limit);
    int (*set_limit64)(int resource, const struct rlimit64 *limit);
} next;

__attribute__((constructor)) static void find_next(void) {
    *(void **)&next.set_attribute = dlsym(RTLD_NEXT, "pthread_attr_setschedpolicy");
    *(void **)&next.set_scheduler = dlsym(RTLD_NEXT, "sched_setscheduler");
    *(void **)&next.set_limit = dlsym(RTLD_NEXT, "setrlimit");
    *(void **)&next.set_limit64 = dlsym(RTLD_NEXT, "setrlimit64");
    *(void **)&next.set_thread = dlsym(RTLD_NEXT, "pthread_setschedparam");
}

// For constructors that ran before ours.
static void find_next_once(void) {
    if (HF_UNLIKELY(!next.set_thread))
        find_next();
}

static void note_policy(int policy) {
    find_next_once();
    if (hf_realtime_is_policy(policy))
        hf_realtime_expect();
}

static void note_limit(int resource) {
    find_next_once();
    if (resource == RLIMIT_RTTIME)
        hf_realtime_expect();
}

static int interposed_set_thread(pthread_t thread, int policy, const struct sched_param *parameters) {
    note_policy(policy);
    return next.set_thread(thread, policy, parameters);
}

static int interposed_set_attribute(pthread_attr_t *attributes, int policy) {
    note_policy(policy);
    return next.set_attribute(attributes, policy);
}

static int interposed_set_scheduler(pid_t thread, int policy, const struct sched_param *parameters) {
    note_policy(policy);
    return next.set_scheduler(thread, policy, parameters);
}

static int interposed_set_limit(int resource, const struct rlimit *limit) {
    note_limit(resource);
    return next.set_limit(resource, limit);
}

static int interposed_set_limit64(int resource, const struct rlimit64 *limit) {
    note_limit(resource);
    return next.set_limit64(resource, limit);
}

HF_EXPORT(interposed_set_thread, pthread_setschedparam, HF_GLIBC_FIRST);
HF_EXPORT(interposed_set_attribute, pthread_attr_setschedpolicy, HF_GLIBC_FIRST);
HF_EXPORT(interposed_set_scheduler, sched_setscheduler, HF_GLIBC_FIRST);
HF_EXPORT(interposed_set_limit, setrlimit, HF_GLIBC_FIRST);
HF_EXPORT(interposed_set_limit64, setrlimit64, HF_GLIBC_FIRST);
