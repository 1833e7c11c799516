// SPDX-License-Identifier: MIT OR Apache-2.0
// seccomp's strict mode, in which a thread may read, write and exit, and may not ask for the time (the processor's
// counter is forbidden, too). glibc's locks are used there as long as they are free.
//
// Shown able to fail: without hf_self in preload/sandbox.c the thread of OfAThread is killed; with prctl by syscall
// unnoticed, and where a clock is read (lock/wait/turn.c, park/sleeper_counts.c, observe/observation.c), OfAThread ends
// by SIGSEGV; with statistics, without hf_statistics_forgo_clock.
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5000, DONE = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spinlock;

static void use_all(void) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&recursive);
        pthread_cond_signal(&cond);
        pthread_mutex_unlock(&recursive);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_rwlock_wrlock(&rwlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spinlock);
        pthread_spin_unlock(&spinlock);
    }
}

static void of_a_process_that_never_locked(void) {
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    use_all();
    syscall(SYS_exit, DONE);
}

static atomic_bool thread_came_through; // a thread that the kernel kills ends alone, and can be joined

static void *enter_and_use(void *nothing) {
    (void)nothing;
    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0);
    use_all();
    thread_came_through = true;
    syscall(SYS_exit, 0);
    return NULL;
}

// The others go on as they were.
static void of_a_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, enter_and_use, NULL) != 0)
        _exit(1);
    pthread_join(thread, NULL);
    use_all();
    _exit(thread_came_through ? DONE : 1);
}

static int status_of(void (*what)(void)) {
    pid_t child = fork();
    if (child == 0) {
        what();
        _exit(1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

static int is_wrong(const char *name, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == DONE)
        return 0;
    printf("%s: %s %d\n", name, WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "status", WEXITSTATUS(status));
    return 1;
}

int main(void) {
    pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
    int wrong = is_wrong("OfAProcessThatNeverLocked", status_of(of_a_process_that_never_locked));
    return wrong + is_wrong("OfAThread", status_of(of_a_thread));
}
