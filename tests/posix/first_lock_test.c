// SPDX-License-Identifier: MIT OR Apache-2.0
// What a thread's first use of each object must leave alone: the allocator, which may be the program's own and lock
// itself, however many pthread keys there are, and errno. Without gtest, which has keys of its own.
//
// usage: first_lock_test [KEYS]
//   KEYS     so many keys are there before anybody locks; 32 if not said: a value of one more takes memory
//
// Shown able to fail: with a key taken whose value lies outside of threads (find_exit_key in thread/thread_record.c),
// and with errno overwritten in hf_thread_record_acquire.
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static _Thread_local int uses_locks __attribute__((tls_model("initial-exec")));
static _Thread_local const char *doing __attribute__((tls_model("initial-exec")));

static _Noreturn void fail(const char *what) {
    char text[200];
    int length = snprintf(text, sizeof(text), "first_lock: not so: %s (%s)\n", what, doing ? doing : "the test");
    _exit(write(STDOUT_FILENO, text, (size_t)length) == length ? 1 : 2);
}

static void check(int is_so, const char *what) {
    if (!is_so)
        fail(what);
}

// The program's own allocator: its memory is never used again.
enum { HEAP_BYTES = 64 << 20 };
static alignas(64) char heap[HEAP_BYTES];
static _Atomic size_t used;

void *malloc(size_t bytes) {
    check(!uses_locks, "locks leave the allocator alone");
    size_t begin = atomic_fetch_add(&used, (bytes + 16 + 63) / 64 * 64);
    check(begin + bytes + 16 <= HEAP_BYTES, "there is memory");
    memcpy(&heap[begin], &bytes, sizeof(bytes));
    return &heap[begin + 16];
}

void *calloc(size_t count, size_t bytes) {
    return malloc(count * bytes); // static storage is zero
}

void free(void *memory) {
    check(!uses_locks || !memory, "locks leave the allocator alone");
}

void *realloc(void *memory, size_t bytes) {
    void *larger = malloc(bytes);
    size_t before = 0;
    if (memory)
        memcpy(&before, (char *)memory - 16, sizeof(before));
    return memcpy(larger, memory ? memory : larger, before < bytes ? before : bytes);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                       errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                       adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER,
                        writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_barrier_t barrier, pair;
static pthread_spinlock_t spin;
static mtx_t mtx;
static cnd_t cnd;
static const struct timespec long_ago = {.tv_sec = 1};
static struct timespec soon; // of the clock CLOCK_MONOTONIC, and long ago for the other

#define KEEPS_ERRNO(call, expected)                                                                                    \
    do {                                                                                                               \
        doing = #call;                                                                                                 \
        uses_locks = 1;                                                                                                \
        errno = ERANGE;                                                                                                \
        int result = (call);                                                                                           \
        int after = errno;                                                                                             \
        uses_locks = 0;                                                                                                \
        check(after == ERANGE, "errno is kept");                                                                       \
        check(result == (expected), "the answer is right");                                                            \
        doing = NULL;                                                                                                  \
    } while (0)

static void use_mutex(pthread_mutex_t *any) {
    KEEPS_ERRNO(pthread_mutex_lock(any), 0);
    KEEPS_ERRNO(pthread_cond_timedwait(&cond, any, &long_ago), ETIMEDOUT);
    KEEPS_ERRNO(pthread_cond_clockwait(&cond, any, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    KEEPS_ERRNO(pthread_cond_signal(&cond), 0);
    KEEPS_ERRNO(pthread_cond_broadcast(&cond), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(any), 0);
}

static void use_mutexes(void) {
    use_mutex(&mutex);
    use_mutex(&recursive);
    use_mutex(&errorcheck);
    use_mutex(&adaptive);
}

static void use_errorcheck(void) {
    KEEPS_ERRNO(pthread_mutex_unlock(&errorcheck), EPERM);
    KEEPS_ERRNO(pthread_mutex_trylock(&errorcheck), 0);
    KEEPS_ERRNO(pthread_mutex_lock(&errorcheck), EDEADLK);
    KEEPS_ERRNO(pthread_mutex_unlock(&errorcheck), 0);
}

static void use_rwlock(pthread_rwlock_t *any) {
    KEEPS_ERRNO(pthread_rwlock_rdlock(any), 0);
    KEEPS_ERRNO(pthread_rwlock_unlock(any), 0);
    KEEPS_ERRNO(pthread_rwlock_wrlock(any), 0);
    KEEPS_ERRNO(pthread_rwlock_tryrdlock(any), EBUSY);
    KEEPS_ERRNO(pthread_rwlock_trywrlock(any), EBUSY);
    KEEPS_ERRNO(pthread_rwlock_unlock(any), 0);
}

static void use_rwlocks(void) {
    use_rwlock(&rwlock);
    use_rwlock(&writers_first);
}

static void use_barrier(void) {
    KEEPS_ERRNO(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
}

static void use_spinlock(void) {
    KEEPS_ERRNO(pthread_spin_lock(&spin), 0);
    KEEPS_ERRNO(pthread_spin_trylock(&spin), EBUSY);
    KEEPS_ERRNO(pthread_spin_unlock(&spin), 0);
}

static void use_c11(void) {
    KEEPS_ERRNO(mtx_lock(&mtx), thrd_success);
    KEEPS_ERRNO(cnd_timedwait(&cnd, &mtx, &long_ago), thrd_timedout);
    KEEPS_ERRNO(cnd_signal(&cnd), thrd_success);
    KEEPS_ERRNO(mtx_unlock(&mtx), thrd_success);
}

// Of who comes while another has it: the thread's first lock is one that it waits for.
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static void wait_for_mutex(void) {
    KEEPS_ERRNO(pthread_mutex_lock(&held), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(&held), 0);
}
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static void wait_for_rwlock(void) {
    KEEPS_ERRNO(pthread_rwlock_rdlock(&written), 0);
    KEEPS_ERRNO(pthread_rwlock_unlock(&written), 0);
}
static atomic_int waits, turn;
static void wait_for_turn(void) {
    KEEPS_ERRNO(pthread_mutex_lock(&mutex), 0);
    waits = 1;
    while (!turn)
        KEEPS_ERRNO(pthread_cond_wait(&cond, &mutex), 0);
    KEEPS_ERRNO(pthread_mutex_unlock(&mutex), 0);
}
static void wait_for_pair(void) {
    doing = "pthread_barrier_wait";
    uses_locks = 1;
    errno = ERANGE;
    pthread_barrier_wait(&pair);
    check(errno == ERANGE, "errno is kept");
    uses_locks = 0;
}

static void *first_use(void *use) {
    void (*function)(void);
    memcpy(&function, &use, sizeof(function));
    function();
    return NULL;
}

static pthread_t begin(void (*use)(void)) {
    pthread_t thread;
    void *argument;
    memcpy(&argument, &use, sizeof(argument));
    check(pthread_create(&thread, NULL, first_use, argument) == 0, "there are threads");
    return thread;
}

static void let_wait(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); // holds also when it has not come there
}

static void use_what_is_held(void) {
    pthread_mutex_lock(&held);
    pthread_t waiter = begin(wait_for_mutex);
    let_wait();
    pthread_mutex_unlock(&held);
    pthread_join(waiter, NULL);
    pthread_rwlock_wrlock(&written);
    waiter = begin(wait_for_rwlock);
    let_wait();
    pthread_rwlock_unlock(&written);
    pthread_join(waiter, NULL);
    waits = turn = 0;
    waiter = begin(wait_for_turn);
    while (!waits)
        sched_yield();
    let_wait();
    pthread_mutex_lock(&mutex);
    turn = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    pthread_join(waiter, NULL);
    waiter = begin(wait_for_pair);
    let_wait();
    pthread_barrier_wait(&pair);
    pthread_join(waiter, NULL);
}

// Before any library's constructor, so that nobody has locked.
static void make_keys(int argc, char **argv, char **environment) {
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    int count = argc > 1 ? atoi(argv[1]) : 32;
    (void)environment;
    for (int i = 0; i < count && i < PTHREAD_KEYS_MAX; i++)
        check(pthread_key_create(&keys[i], NULL) == 0, "there are keys");
}
__attribute__((section(".preinit_array"), used)) static void (*const first_of_all)(int, char **, char **) = make_keys;

int main(void) {
    alarm(600);
    clock_gettime(CLOCK_MONOTONIC, &soon);
    pthread_barrier_init(&barrier, NULL, 1);
    pthread_barrier_init(&pair, NULL, 2);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    mtx_init(&mtx, mtx_timed);
    cnd_init(&cnd);
    static void (*const uses[])(void) = {use_mutexes, use_errorcheck, use_rwlocks, use_barrier, use_spinlock, use_c11};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
            pthread_join(begin(uses[i]), NULL);
        use_what_is_held();
    }
    return 0;
}
