// SPDX-License-Identifier: MIT OR Apache-2.0
// A soak: random operations on random objects by many threads, with signals, cancellations, forks and kills, each
// object checked against a model beside it: plain variables that are changed inside only. A mismatch, an error that the
// call may not return, or a thread that waits for longer than patience lasts ends the run with one sentence, the seed,
// and status 1. What the model knows:
//
//     mutex      who is inside, how deep; two counts that are equal outside. Where holders get killed, robust: the next
//                owner is told, and finds at most the one step that the dead one was in.
//     cond       permits for waiters. Patient ones wait without an end and are the only ones who take a permit, so a
//                signal that is lost leaves them there; at mixed ones threads also time out and are cancelled.
//     rwlock     how many read, who writes          spinlock   who is inside
//     barrier    arrivals, departures, serial threads: d departures take d/count full rounds of arrivals
//
// Shown able to fail: tests/posix/broken_*.c, one way each to get it wrong, run as posix/soak/broken_*.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <random>

#include "deadline.hpp"
#include "made_mutex.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

struct options {
    double seconds = 10;
    int threads = 16;
    double patience_s = 60;
    std::uint64_t seed = std::random_device{}();
} options;

constexpr int threads_max = 64;

[[noreturn, gnu::format(printf, 1, 2)]] void fail(const char *format, ...) {
    static std::atomic_flag failed;
    if (failed.test_and_set())
        for (;;)
            pause(); // another thread is about to end the process
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "soak: wrong: %s (--seed %" PRIu64 ", process %d)\n", sentence, options.seed, getpid());
    _exit(1);
}

long now_ms() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// Time as the supervisor has seen it pass: a machine that was stopped, or whose clock has leapt, as an emulated one's
// may, has used up nobody's patience.
std::atomic<long> seen_ms = 0;

void see_time_pass() {
    static long looked_ms = now_ms();
    const long now = now_ms();
    seen_ms += std::min(now - looked_ms, 1000L);
    looked_ms = now;
}

// --- the objects

struct object {
    char name[48];
    std::atomic<long> uses;
};

struct soak_mutex : object {
    pthread_mutex_t mutex;
    mutex_kind kind;
    bool holders_get_killed;
    int owner; // 0: nobody
    long first, second;
};

struct soak_rwlock : object {
    pthread_rwlock_t lock;
    bool reading_nests;
    std::atomic<int> readers;
    int writer;
    long first, second;
};

struct soak_spinlock : object {
    pthread_spinlock_t lock;
    int owner;
    long first, second;
};

struct soak_cond : object {
    soak_mutex mutex;
    pthread_cond_t cond;
    clockid_t clock;
    bool patient;
    bool over; // the run ends: nobody waits any more
    int waiters, permits;
};

struct soak_barrier : object {
    pthread_barrier_t barrier;
    long count;
    std::atomic<long> arrivals, departures, serials;
};

constexpr std::size_t kinds = std::size(every_mutex_kind);

// In memory that forked children share. They use the objects that are process-shared.
struct objects {
    std::array<soak_mutex, 2 * kinds> mutexes;
    std::array<soak_mutex, 3> shared_mutexes, mortal_mutexes;
    std::array<soak_rwlock, 6> rwlocks;
    std::array<soak_rwlock, 2> shared_rwlocks;
    std::array<soak_spinlock, 2> spinlocks;
    std::array<soak_spinlock, 1> shared_spinlocks;
    std::array<soak_cond, kinds> patient_conds, mixed_conds;
    std::array<soak_barrier, 3> barriers;
    std::size_t barriers_in_use;
    std::atomic<long> kills, owner_deaths, forks, cancellations, signals;
};
objects *all;

// Held during each fork of a worker. In memory that parent and child do not share, and of a type without owner, since
// that has another number in the child.
soak_mutex forkers_mutex;

void make(soak_mutex &made, const mutex_kind &kind, const char *what, std::size_t number) {
    made.kind = kind;
    made_mutex::init(&made.mutex, kind);
    std::snprintf(made.name, sizeof(made.name), "%s %s %zu", what, kind.name, number);
}

void make(soak_rwlock &made, int kind, int shared, const char *what, std::size_t number) {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, kind);
    pthread_rwlockattr_setpshared(&attributes, shared);
    pthread_rwlock_init(&made.lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    made.reading_nests = kind != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
    std::snprintf(made.name, sizeof(made.name), "%s of kind %d, %zu", what, kind, number);
}

void make(soak_spinlock &made, int shared, const char *what, std::size_t number) {
    pthread_spin_init(&made.lock, shared);
    std::snprintf(made.name, sizeof(made.name), "%s %zu", what, number);
}

void make(soak_cond &made, bool patient, std::size_t number) {
    make(made.mutex, every_mutex_kind[number % kinds], patient ? "patient cond's mutex" : "mixed cond's mutex", number);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    made.clock = every_clock[number % 2];
    pthread_condattr_setclock(&attributes, made.clock);
    pthread_condattr_setpshared(&attributes, number % 4 < 2 ? PTHREAD_PROCESS_PRIVATE : PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&made.cond, &attributes);
    pthread_condattr_destroy(&attributes);
    made.patient = patient;
    std::snprintf(made.name, sizeof(made.name), "%s cond %zu", patient ? "patient" : "mixed", number);
}

void make_objects() {
    constexpr int rwlock_kinds[] = {PTHREAD_RWLOCK_PREFER_READER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NP,
                                    PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP};
    make(forkers_mutex, {.name = "Normal"}, "forkers' mutex", 0);
    for (std::size_t i = 0; i < all->mutexes.size(); i++)
        make(all->mutexes[i], every_mutex_kind[i % kinds], "mutex", i);
    for (std::size_t i = 0; i < all->shared_mutexes.size(); i++)
        make(all->shared_mutexes[i], {.name = "Shared", .shared = PTHREAD_PROCESS_SHARED}, "processes' mutex", i);
    for (std::size_t i = 0; i < all->mortal_mutexes.size(); i++) {
        mutex_kind kind{.name = "Robust", .robust = PTHREAD_MUTEX_ROBUST, .shared = PTHREAD_PROCESS_SHARED};
        if (i == 2)
            kind.protocol = PTHREAD_PRIO_INHERIT;
        make(all->mortal_mutexes[i], kind, "killed processes' mutex", i);
        all->mortal_mutexes[i].holders_get_killed = true;
    }
    for (std::size_t i = 0; i < all->rwlocks.size(); i++)
        make(all->rwlocks[i], rwlock_kinds[i % 3], PTHREAD_PROCESS_PRIVATE, "rwlock", i);
    for (std::size_t i = 0; i < all->shared_rwlocks.size(); i++)
        make(all->shared_rwlocks[i], rwlock_kinds[2 * i], PTHREAD_PROCESS_SHARED, "processes' rwlock", i);
    for (std::size_t i = 0; i < all->spinlocks.size(); i++)
        make(all->spinlocks[i], PTHREAD_PROCESS_PRIVATE, "spinlock", i);
    make(all->shared_spinlocks[0], PTHREAD_PROCESS_SHARED, "processes' spinlock", 0);
    for (std::size_t i = 0; i < kinds; i++) {
        make(all->patient_conds[i], true, i);
        make(all->mixed_conds[i], false, i);
    }
    // So few places that not all threads can stand before barriers that are not full.
    constexpr long counts[] = {2, 3, 5};
    constexpr int threads_needed[] = {3, 6, 10};
    for (std::size_t i = 0; i < all->barriers.size() && options.threads >= threads_needed[i]; i++) {
        soak_barrier &made = all->barriers[all->barriers_in_use++];
        made.count = counts[i];
        pthread_barrier_init(&made.barrier, nullptr, static_cast<unsigned>(made.count));
        std::snprintf(made.name, sizeof(made.name), "barrier of %ld", made.count);
    }
}

// --- who works on them

struct worker {
    int id = 0;
    std::mt19937_64 random;
    pthread_t thread{};
    bool started = false, cancelled = false; // the supervisor's
    std::atomic<bool> ended = false;
    std::atomic<pid_t> tid = 0;
    std::atomic<const char *> call = nullptr; // what it is in now, and since when
    std::atomic<const object *> at = nullptr;
    std::atomic<long> since_ms = 0;
    std::atomic<long> operations = 0;

    bool chance(unsigned one_in) { return random() % one_in == 0; }
    std::size_t below(std::size_t bound) { return random() % bound; }
    template <class Array>
    auto &one_of(Array &array) {
        return array[below(array.size())];
    }
    // A deadline that comes soon, or one that is over.
    timespec soon(clockid_t clock) { return chance(8) ? long_ago : from_now(clock, static_cast<long>(below(4))); }
    void enter(const char *what, const object &where) {
        at = &where;
        since_ms = seen_ms.load();
        call = what;
    }
    void leave() { call = nullptr; }
};

std::array<worker, threads_max> workers;
worker closer; // wakes the waiters when the run ends
std::atomic<bool> stop = false;
std::atomic<int> parked = 0; // threads that wait for what another thread does some time

// Inside a critical section: nothing, a little work, or the CPU given to others.
void linger(worker &self, bool may_sleep) {
    switch (self.below(may_sleep ? 16 : 12)) {
    case 0: sched_yield(); break;
    case 1: usleep(static_cast<useconds_t>(may_sleep ? self.below(100) : 0)); break;
    case 2:
        for (volatile int spin = 0; spin < 300;)
            spin = spin + 1;
        break;
    default: break;
    }
}

// The two counts are equal outside; in between a preempted owner leaves them unequal for who should not be there.
template <class Object>
void change(worker &self, Object &inside, bool may_sleep) {
    if (inside.first != inside.second)
        fail("%s: thread %d finds its counts half changed: %ld and %ld", inside.name, self.id, inside.first,
             inside.second);
    inside.first++;
    linger(self, may_sleep);
    inside.second++;
    inside.uses.fetch_add(1, std::memory_order_relaxed);
}

void get_mutex(worker &self, soak_mutex &mutex) {
    if (mutex.owner != 0)
        fail("%s: thread %d got it while thread %d is inside", mutex.name, self.id, mutex.owner);
    mutex.owner = self.id;
}

void inherit_mutex(worker &self, soak_mutex &mutex) {
    if (!mutex.holders_get_killed)
        fail("%s: EOWNERDEAD, but nobody who uses it dies", mutex.name);
    if (all->owner_deaths++ >= all->kills * 2)
        fail("%s: EOWNERDEAD more often than processes were killed", mutex.name);
    if (mutex.first != mutex.second && mutex.first != mutex.second + 1)
        fail("%s: its dead owner left the counts at %ld and %ld", mutex.name, mutex.first, mutex.second);
    mutex.first = mutex.second;
    mutex.owner = self.id;
    if (int told = pthread_mutex_consistent(&mutex.mutex))
        fail("%s: pthread_mutex_consistent: %s", mutex.name, strerrorname_np(told));
}

bool lock(worker &self, soak_mutex &mutex) {
    const clockid_t clock = every_clock[self.below(2)];
    timespec at{};
    int told, allowed = 0;
    // Nobody waits for good where holders are killed. glibc's robust mutexes, which these are, lose a wake when the
    // owner is killed between giving the word back and waking, and another one takes it in between: that one knows of
    // no sleeper, and the kernel finds that the dead one is not the owner. (Seen once in some hundred runs of this
    // soak, and always when a process without Holdfast is stopped there by ptrace.)
    switch (self.below(mutex.holders_get_killed ? 3 : 8)) {
    case 0:
        self.enter("pthread_mutex_trylock", mutex);
        told = pthread_mutex_trylock(&mutex.mutex);
        allowed = EBUSY;
        break;
    case 1:
        self.enter("pthread_mutex_timedlock", mutex);
        at = self.soon(CLOCK_REALTIME);
        told = pthread_mutex_timedlock(&mutex.mutex, &at);
        allowed = ETIMEDOUT;
        break;
    case 2:
        self.enter("pthread_mutex_clocklock", mutex);
        at = self.soon(clock);
        told = pthread_mutex_clocklock(&mutex.mutex, clock, &at);
        allowed = ETIMEDOUT;
        break;
    default: self.enter("pthread_mutex_lock", mutex); told = pthread_mutex_lock(&mutex.mutex);
    }
    const char *call = self.call;
    self.leave();
    if (told == 0)
        get_mutex(self, mutex);
    else if (told == EOWNERDEAD)
        inherit_mutex(self, mutex);
    else if (told != allowed)
        fail("%s: %s: %s", mutex.name, call, strerrorname_np(told));
    return told == 0 || told == EOWNERDEAD;
}

void unlock(worker &self, soak_mutex &mutex) {
    if (mutex.owner != self.id)
        fail("%s: thread %d is inside, and thread %d as well", mutex.name, self.id, mutex.owner);
    mutex.owner = 0;
    self.enter("pthread_mutex_unlock", mutex);
    if (int told = pthread_mutex_unlock(&mutex.mutex))
        fail("%s: pthread_mutex_unlock: %s", mutex.name, strerrorname_np(told));
    self.leave();
}

// What the owner is told that asks again.
void ask_again(worker &self, soak_mutex &mutex) {
    const bool nests = mutex.kind.type == PTHREAD_MUTEX_RECURSIVE;
    // Where the kernel knows the owner glibc says EDEADLK of the errorcheck type, not EBUSY.
    const bool kernels = mutex.kind.protocol == PTHREAD_PRIO_INHERIT && mutex.kind.type == PTHREAD_MUTEX_ERRORCHECK;
    int told = pthread_mutex_trylock(&mutex.mutex);
    if (told != (nests ? 0 : kernels ? EDEADLK : EBUSY))
        fail("%s: trylock by thread %d, its owner: %d", mutex.name, self.id, told);
    if (nests) {
        if (pthread_mutex_lock(&mutex.mutex) || pthread_mutex_unlock(&mutex.mutex) ||
            pthread_mutex_unlock(&mutex.mutex))
            fail("%s: does not nest", mutex.name);
    } else if (mutex.kind.type == PTHREAD_MUTEX_ERRORCHECK) {
        told = pthread_mutex_lock(&mutex.mutex);
        if (told != EDEADLK)
            fail("%s: relock by its owner: %d, not EDEADLK", mutex.name, told);
    }
}

void use_spinlock(worker &self, soak_spinlock &spinlock) {
    int told;
    self.enter("pthread_spin_lock", spinlock);
    if (self.chance(3)) {
        told = pthread_spin_trylock(&spinlock.lock);
        if (told == EBUSY) {
            self.leave();
            return;
        }
    } else {
        told = pthread_spin_lock(&spinlock.lock);
    }
    self.leave();
    if (told != 0)
        fail("%s: %s", spinlock.name, strerrorname_np(told));
    if (spinlock.owner != 0)
        fail("%s: thread %d got it while thread %d is inside", spinlock.name, self.id, spinlock.owner);
    spinlock.owner = self.id;
    change(self, spinlock, false);
    if (spinlock.owner != self.id)
        fail("%s: thread %d is inside, and thread %d as well", spinlock.name, self.id, spinlock.owner);
    spinlock.owner = 0;
    if (pthread_spin_unlock(&spinlock.lock))
        fail("%s: unlock failed", spinlock.name);
}

struct rwlock_call {
    const char *name;
    int allowed;
    int (*ask)(pthread_rwlock_t *lock, const timespec *real_time, const timespec *monotonic);
};

constexpr rwlock_call ways_to_read[] = {
    {"pthread_rwlock_rdlock", 0, [](auto *lock, auto *, auto *) { return pthread_rwlock_rdlock(lock); }},
    {"pthread_rwlock_rdlock", 0, [](auto *lock, auto *, auto *) { return pthread_rwlock_rdlock(lock); }},
    {"pthread_rwlock_tryrdlock", EBUSY, [](auto *lock, auto *, auto *) { return pthread_rwlock_tryrdlock(lock); }},
    {"pthread_rwlock_timedrdlock", ETIMEDOUT,
     [](auto *lock, auto *at, auto *) { return pthread_rwlock_timedrdlock(lock, at); }},
    {"pthread_rwlock_clockrdlock", ETIMEDOUT,
     [](auto *lock, auto *, auto *at) { return pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, at); }}};
constexpr rwlock_call ways_to_write[] = {
    {"pthread_rwlock_wrlock", 0, [](auto *lock, auto *, auto *) { return pthread_rwlock_wrlock(lock); }},
    {"pthread_rwlock_wrlock", 0, [](auto *lock, auto *, auto *) { return pthread_rwlock_wrlock(lock); }},
    {"pthread_rwlock_trywrlock", EBUSY, [](auto *lock, auto *, auto *) { return pthread_rwlock_trywrlock(lock); }},
    {"pthread_rwlock_timedwrlock", ETIMEDOUT,
     [](auto *lock, auto *at, auto *) { return pthread_rwlock_timedwrlock(lock, at); }},
    {"pthread_rwlock_clockwrlock", ETIMEDOUT,
     [](auto *lock, auto *, auto *at) { return pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, at); }}};

bool lock(worker &self, soak_rwlock &rwlock, const rwlock_call &how) {
    timespec real_time = self.soon(CLOCK_REALTIME), monotonic = self.soon(CLOCK_MONOTONIC);
    self.enter(how.name, rwlock);
    int told = how.ask(&rwlock.lock, &real_time, &monotonic);
    self.leave();
    if (told != 0 && told != how.allowed)
        fail("%s: %s: %s", rwlock.name, how.name, strerrorname_np(told));
    return told == 0;
}

void read(worker &self, soak_rwlock &rwlock) {
    if (!lock(self, rwlock, ways_to_read[self.below(std::size(ways_to_read))]))
        return;
    const int levels = rwlock.reading_nests && self.chance(4) ? 2 : 1;
    for (int level = 1; level < levels; level++)
        if (pthread_rwlock_rdlock(&rwlock.lock))
            fail("%s: a reader may not read again", rwlock.name);
    rwlock.readers++;
    if (rwlock.writer != 0 || rwlock.first != rwlock.second)
        fail("%s: thread %d reads while thread %d writes", rwlock.name, self.id, rwlock.writer);
    linger(self, true);
    if (rwlock.writer != 0 || rwlock.first != rwlock.second)
        fail("%s: thread %d writes while thread %d reads", rwlock.name, rwlock.writer, self.id);
    rwlock.readers--;
    for (int level = 0; level < levels; level++)
        if (pthread_rwlock_unlock(&rwlock.lock))
            fail("%s: a reader's unlock failed", rwlock.name);
    rwlock.uses++;
}

void write(worker &self, soak_rwlock &rwlock) {
    if (!lock(self, rwlock, ways_to_write[self.below(std::size(ways_to_write))]))
        return;
    if (rwlock.writer != 0 || rwlock.readers != 0)
        fail("%s: thread %d writes with thread %d writing and %d reading", rwlock.name, self.id, rwlock.writer,
             rwlock.readers.load());
    rwlock.writer = self.id;
    change(self, rwlock, true);
    if (self.chance(8) && (pthread_rwlock_rdlock(&rwlock.lock) != EDEADLK || //
                           pthread_rwlock_wrlock(&rwlock.lock) != EDEADLK || //
                           pthread_rwlock_tryrdlock(&rwlock.lock) != EBUSY))
        fail("%s: its writer is not told that it has it", rwlock.name);
    if (rwlock.writer != self.id || rwlock.readers != 0)
        fail("%s: thread %d writes with thread %d writing and %d reading", rwlock.name, self.id, rwlock.writer,
             rwlock.readers.load());
    rwlock.writer = 0;
    if (pthread_rwlock_unlock(&rwlock.lock))
        fail("%s: a writer's unlock failed", rwlock.name);
}

void use_rwlock(worker &self, soak_rwlock &rwlock) {
    self.chance(4) ? write(self, rwlock) : read(self, rwlock);
}

// One mutex, and inside it sometimes one with a higher number, and so on: an order, so that nobody waits in a circle.
void use_mutexes(worker &self, std::size_t from, int levels) {
    const std::size_t number = from + self.below(all->mutexes.size() - from);
    soak_mutex &mutex = all->mutexes[number];
    if (!lock(self, mutex))
        return;
    change(self, mutex, true);
    if (self.chance(8))
        ask_again(self, mutex);
    if (levels > 1 && number + 1 < all->mutexes.size() && self.chance(3))
        use_mutexes(self, number + 1, levels - 1);
    else if (self.chance(8))
        use_rwlock(self, self.one_of(all->rwlocks));
    else if (self.chance(4))
        use_spinlock(self, self.one_of(all->spinlocks));
    unlock(self, mutex);
}

// The objects that other processes use as well; mortal ones by twos, as a process is killed in the midst of that.
void use_shared(worker &self, bool gets_killed) {
    if (!gets_killed && self.chance(2)) {
        soak_mutex &mutex = self.one_of(all->shared_mutexes);
        if (lock(self, mutex)) {
            change(self, mutex, true);
            unlock(self, mutex);
        }
        use_rwlock(self, self.one_of(all->shared_rwlocks));
        use_spinlock(self, all->shared_spinlocks[0]);
        return;
    }
    const std::size_t number = self.below(all->mortal_mutexes.size());
    soak_mutex &outer = all->mortal_mutexes[number];
    if (!lock(self, outer))
        return;
    change(self, outer, true);
    if (number + 1 < all->mortal_mutexes.size()) {
        soak_mutex &inner = all->mortal_mutexes[number + 1];
        if (lock(self, inner)) {
            change(self, inner, true);
            unlock(self, inner);
        }
    }
    unlock(self, outer);
}

// --- waiting for others

// A thread may wait for another's doing only as long as one thread is left that goes on.
bool park() {
    if (++parked < options.threads)
        return true;
    parked--;
    return false;
}

// A waiter that leaves without having been woken takes a permit with it: the signal may have been meant for it.
void stop_waiting(worker &self, soak_cond &cond, bool takes_permit) {
    get_mutex(self, cond.mutex);
    cond.waiters--;
    if (takes_permit && cond.permits > 0)
        cond.permits--;
    cond.uses++;
}

struct interrupted_wait {
    worker &self;
    soak_cond &cond;
    bool over = false;
    interrupted_wait(worker &waiter, soak_cond &at) : self(waiter), cond(at) {}
    ~interrupted_wait() { // unwinding: cancelled
        if (over)
            return;
        self.leave();
        stop_waiting(self, cond, true);
        unlock(self, cond.mutex);
        all->cancellations++;
    }
};

int wait_once(worker &self, soak_cond &cond) {
    if (cond.patient) {
        self.enter("pthread_cond_wait", cond);
        return pthread_cond_wait(&cond.cond, &cond.mutex.mutex);
    }
    interrupted_wait wait(self, cond);
    self.enter("pthread_cond_timedwait", cond);
    const bool by_own_clock = self.chance(2);
    const clockid_t clock = by_own_clock ? cond.clock : every_clock[self.below(2)];
    const timespec at = self.soon(clock);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
    const int told = by_own_clock ? pthread_cond_timedwait(&cond.cond, &cond.mutex.mutex, &at)
                                  : pthread_cond_clockwait(&cond.cond, &cond.mutex.mutex, clock, &at);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    wait.over = true;
    return told;
}

void wait_for_permit(worker &self, soak_cond &cond) {
    if (!lock(self, cond.mutex))
        return;
    while (!cond.over) {
        // Those who wait come first: a permit that they do not get is a signal that was lost.
        if (cond.permits > 0 && cond.waiters == 0) {
            cond.permits--;
            break;
        }
        cond.waiters++;
        cond.mutex.owner = 0;
        int told = wait_once(self, cond);
        self.leave();
        if (told != 0 && (cond.patient || told != ETIMEDOUT))
            fail("%s: a wait ended with %s", cond.name, strerrorname_np(told));
        const bool permitted = cond.permits > 0;
        stop_waiting(self, cond, true);
        if (permitted || told == ETIMEDOUT)
            break;
    }
    unlock(self, cond.mutex);
}

void give_permits(worker &self, soak_cond &cond) {
    if (!lock(self, cond.mutex))
        return;
    int permits = 0;
    if (cond.permits == 0 && cond.waiters > 0)
        permits = cond.permits = self.chance(4) ? cond.waiters : 1;
    const bool inside = self.chance(2), to_all = permits > 1 || self.chance(8);
    if (!inside)
        unlock(self, cond.mutex);
    if (permits > 0) {
        self.enter(to_all ? "pthread_cond_broadcast" : "pthread_cond_signal", cond);
        if (to_all ? pthread_cond_broadcast(&cond.cond) : pthread_cond_signal(&cond.cond))
            fail("%s: a signal failed", cond.name);
        self.leave();
    }
    if (inside)
        unlock(self, cond.mutex);
}

void use_cond(worker &self) {
    if (self.chance(2)) {
        give_permits(self, self.one_of(all->patient_conds));
        give_permits(self, self.one_of(all->mixed_conds));
    } else if (self.chance(2)) {
        wait_for_permit(self, self.one_of(all->mixed_conds));
    } else if (park()) {
        wait_for_permit(self, self.one_of(all->patient_conds));
        parked--;
    }
}

void meet(soak_barrier &barrier) {
    barrier.arrivals++;
    int told = pthread_barrier_wait(&barrier.barrier);
    if (told != 0 && told != PTHREAD_BARRIER_SERIAL_THREAD)
        fail("%s: %s", barrier.name, strerrorname_np(told));
    if (told == PTHREAD_BARRIER_SERIAL_THREAD && ++barrier.serials * barrier.count > barrier.arrivals)
        fail("%s: more than one thread of a round is the serial one", barrier.name);
    const long departures = ++barrier.departures;
    if ((departures + barrier.count - 1) / barrier.count * barrier.count > barrier.arrivals)
        fail("%s: a thread left before its round was full", barrier.name);
    barrier.uses++;
}

void use_barrier(worker &self) {
    if (all->barriers_in_use == 0 || !park())
        return;
    soak_barrier &barrier = all->barriers[self.below(all->barriers_in_use)];
    self.enter("pthread_barrier_wait", barrier);
    if (!stop)
        meet(barrier);
    self.leave();
    parked--;
}

// --- processes

int status_of(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

void become_child(worker &self, std::uint64_t seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(static_cast<unsigned>(options.patience_s) + 1);
    self.random.seed(seed);
    self.id = static_cast<int>(getpid()) + threads_max + 1; // no thread's of another process
}

// In the child: the mutex that the forking thread held is its own, as is everything that it makes now.
[[noreturn]] void live_as_child(worker &self, std::uint64_t seed) {
    soak_mutex &held = forkers_mutex;
    if (held.owner != self.id)
        fail("%s: not held in the child of fork by the thread that forked", held.name);
    become_child(self, seed);
    held.owner = self.id;
    unlock(self, held);
    made_mutex own({});
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    long first = 0, second = 0;
    int turn = 0;
    {
        team two(2, [&](int member) {
            for (int round = 0; round < 10; round++) {
                pthread_mutex_lock(&own.mutex);
                while (turn % 2 != member)
                    pthread_cond_wait(&cond, &own.mutex);
                turn++;
                if (first++ != second++)
                    fail("a mutex of a forked child does not exclude");
                pthread_cond_broadcast(&cond);
                pthread_mutex_unlock(&own.mutex);
                pthread_mutex_lock(&held.mutex);
                if (held.owner != 0)
                    fail("%s: does not exclude in a forked child", held.name);
                pthread_mutex_unlock(&held.mutex);
            }
        });
    }
    for (int i = 0; i < 20; i++)
        use_shared(self, false);
    _exit(0);
}

void fork_child(worker &self) {
    if (!lock(self, forkers_mutex))
        return;
    const std::uint64_t seed = self.random();
    pid_t child = fork();
    if (child == 0)
        live_as_child(self, seed);
    unlock(self, forkers_mutex);
    if (child < 0)
        return;
    self.enter("waitpid", forkers_mutex);
    int status = status_of(child);
    self.leave();
    if (status != 0)
        fail("a forked child ended with wait status %#x%s", static_cast<unsigned>(status),
             WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": it was stuck" : "");
    all->forks++;
}

// Children that use the mortal mutexes until they are killed, one after another.
void kill_children() {
    std::mt19937_64 random(options.seed + 4711);
    while (!stop) {
        const std::uint64_t seed = random();
        all->kills++; // before: the mutex's next owner may be told at once
        pid_t child = fork();
        if (child == 0) {
            static worker self;
            become_child(self, seed);
            for (;;)
                use_shared(self, true);
        }
        if (child < 0) {
            all->kills--;
            continue;
        }
        usleep(static_cast<useconds_t>(500 + random() % 8000));
        kill(child, SIGKILL);
        int status = status_of(child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
            fail("a child that was to be killed ended by itself, wait status %#x", static_cast<unsigned>(status));
    }
}

// --- threads

// By what the handler does, a signal shows where a function minds being interrupted, or another call beneath it.
pthread_mutex_t handlers_mutex = PTHREAD_MUTEX_INITIALIZER;
int inside_handlers = 0;

void handle_signal(int) {
    const int saved = errno;
    if (all->signals++ % 4 == 0) {
        pthread_mutex_lock(&handlers_mutex);
        if (inside_handlers++ != 0)
            fail("the handlers' mutex does not exclude");
        inside_handlers--;
        pthread_mutex_unlock(&handlers_mutex);
    } else {
        sched_yield();
    }
    errno = saved;
}

void operate(worker &self) {
    const std::size_t chosen = self.below(100);
    if (chosen < 40)
        use_mutexes(self, 0, 3);
    else if (chosen < 60)
        use_rwlock(self, self.one_of(all->rwlocks));
    else if (chosen < 68)
        use_spinlock(self, self.one_of(all->spinlocks));
    else if (chosen < 86)
        use_cond(self);
    else if (chosen < 92)
        use_barrier(self);
    else if (chosen < 99)
        use_shared(self, false);
    else if (self.chance(4))
        fork_child(self);
    self.operations++;
}

void *work(void *pointer) {
    auto &self = *static_cast<worker *>(pointer);
    struct end {
        worker &self;
        ~end() { self.ended = true; }
    } end{self};
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    self.tid = gettid();
    while (!stop) {
        operate(self);
        if (self.chance(64)) {
            pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
            pthread_testcancel();
            pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        }
    }
    return nullptr;
}

void start(worker &one, int id, std::uint64_t seed) {
    one.id = id;
    one.random.seed(seed);
    one.ended = one.cancelled = false;
    if (pthread_create(&one.thread, nullptr, work, &one))
        fail("a thread can't be created");
    one.started = true;
}

bool report_waiting(const worker &one, long now) {
    const char *call = one.call;
    if (!call || one.ended)
        return false;
    const long waits_ms = now - one.since_ms;
    std::fprintf(stderr, "soak: thread %d (tid %d) is in %s for %s since %ld ms\n", one.id, one.tid.load(), call,
                 one.at.load()->name, waits_ms);
    return true;
}

// Says who waits for what, when one has waited for longer than anything can take.
void watch() {
    see_time_pass();
    const long now = seen_ms;
    auto stuck = [&](const worker &one) {
        return !one.ended && one.call.load() && static_cast<double>(now - one.since_ms) > options.patience_s * 1000;
    };
    const worker *found = stuck(closer) ? &closer : nullptr;
    for (const worker &one : workers)
        if (stuck(one))
            found = &one;
    if (!found)
        return;
    report_waiting(closer, now);
    for (const worker &one : workers)
        report_waiting(one, now);
    for (const soak_mutex &mutex : all->mutexes)
        if (mutex.owner)
            std::fprintf(stderr, "soak: %s: thread %d is inside\n", mutex.name, mutex.owner);
    for (const auto &conds : {&all->patient_conds, &all->mixed_conds})
        for (const soak_cond &cond : *conds)
            if (cond.waiters)
                std::fprintf(stderr, "soak: %s: %d wait, %d permits\n", cond.name, cond.waiters, cond.permits);
    fail("thread %d does not come out of %s for %s", found->id, found->call.load(), found->at.load()->name);
}

// Joins who has ended. Only the supervisor joins, cancels and signals, so that it does so to threads that are there.
int join_ended() {
    int left = 0;
    for (worker &one : workers) {
        if (one.started && one.ended) {
            pthread_join(one.thread, nullptr);
            one.started = false;
        }
        left += one.started;
    }
    return left;
}

void supervise() {
    std::mt19937_64 random(options.seed);
    const long end_ms = now_ms() + static_cast<long>(options.seconds * 1000);
    while (now_ms() < end_ms) {
        for (int id = 1; id <= options.threads; id++)
            if (worker &one = workers[static_cast<std::size_t>(id - 1)]; !one.started)
                start(one, id, random());
        for (int turn = 0; turn < 20; turn++) {
            // Every second one: a signal has the kernel compare the word again, which heals a lost wake-up.
            worker &one = workers[2 * (random() % static_cast<std::size_t>((options.threads + 1) / 2))];
            if (one.started && !one.ended)
                pthread_kill(one.thread, SIGUSR1);
            usleep(500);
        }
        if (worker &one = workers[random() % static_cast<std::size_t>(options.threads)];
            one.started && !one.cancelled && random() % 4 == 0) {
            one.cancelled = true;
            pthread_cancel(one.thread);
        }
        join_ended();
        watch();
    }
}

void *wake_waiters(void *) {
    closer.id = threads_max + 1;
    for (const auto &conds : {&all->patient_conds, &all->mixed_conds})
        for (soak_cond &cond : *conds) {
            while (!lock(closer, cond.mutex))
                ;
            cond.over = true;
            if (pthread_cond_broadcast(&cond.cond))
                fail("%s: a broadcast failed", cond.name);
            unlock(closer, cond.mutex);
        }
    closer.ended = true;
    return nullptr;
}

// Threads that stand before barriers when all others have ended get the company that they wait for.
void fill_barriers(team &fillers, int left) {
    long before_barriers = 0;
    for (const soak_barrier &barrier : all->barriers)
        before_barriers += barrier.arrivals - barrier.departures;
    if (before_barriers != left)
        return;
    for (std::size_t i = 0; i < all->barriers_in_use; i++) {
        soak_barrier &barrier = all->barriers[i];
        if (const long there = barrier.arrivals % barrier.count; there != 0) {
            for (long missing = barrier.count - there; missing > 0; missing--)
                fillers.add([&barrier] { meet(barrier); });
            while (barrier.arrivals % barrier.count != 0)
                usleep(1000);
        }
    }
}

void wind_up() {
    stop = true;
    pthread_t closing;
    if (pthread_create(&closing, nullptr, wake_waiters, nullptr))
        fail("a thread can't be created");
    team fillers;
    for (int left; (left = join_ended()) > 0 || !closer.ended;) {
        watch();
        usleep(2000);
        if (closer.ended && left > 0)
            fill_barriers(fillers, left);
    }
    pthread_join(closing, nullptr);
}

void check_at_the_end() {
    for (std::size_t i = 0; i < all->barriers_in_use; i++) {
        soak_barrier &barrier = all->barriers[i];
        if (barrier.arrivals != barrier.departures || barrier.serials * barrier.count != barrier.arrivals)
            fail("%s: %ld came, %ld left, %ld serial ones", barrier.name, barrier.arrivals.load(),
                 barrier.departures.load(), barrier.serials.load());
    }
    for (const soak_mutex &mutex : all->mutexes)
        if (mutex.owner != 0 || mutex.first != mutex.second)
            fail("%s: thread %d has left without unlocking it", mutex.name, mutex.owner);
    for (const auto &conds : {&all->patient_conds, &all->mixed_conds})
        for (const soak_cond &cond : *conds)
            if (cond.waiters != 0)
                fail("%s: %d wait though all have ended", cond.name, cond.waiters);
}

template <class... Arrays>
long uses(const Arrays &...arrays) {
    long sum = 0;
    ((std::for_each(arrays.begin(), arrays.end(), [&](const auto &one) { sum += one.uses; })), ...);
    return sum;
}

void print_summary(double took_s) {
    std::printf(
        "soak: nothing wrong in %.0f s with %d threads: %ld mutex, %ld rwlock, %ld spinlock, %ld cond, %ld barrier "
        "operations; %ld signals, %ld cancellations, %ld forks, %ld kills, %ld dead owners\n",
        took_s, options.threads, uses(all->mutexes, all->shared_mutexes, all->mortal_mutexes),
        uses(all->rwlocks, all->shared_rwlocks), uses(all->spinlocks, all->shared_spinlocks),
        uses(all->patient_conds, all->mixed_conds), uses(all->barriers), all->signals.load(), all->cancellations.load(),
        all->forks.load(), all->kills.load(), all->owner_deaths.load());
}

int usage() {
    std::fprintf(stderr,
                 "usage: soak [--seconds S] [--threads 1..%d] [--seed N] [--patience S]\n\n"
                 "  --patience    what nothing may take: a thread that waits longer in one call is reported as stuck\n",
                 threads_max);
    return 2;
}

bool parse(int argc, char **argv) {
    const option known[] = {{"seconds", required_argument, nullptr, 's'},
                            {"threads", required_argument, nullptr, 't'},
                            {"seed", required_argument, nullptr, 'r'},
                            {"patience", required_argument, nullptr, 'p'},
                            {}};
    for (int chosen; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        char *end = nullptr;
        switch (chosen) {
        case 's': options.seconds = std::strtod(optarg, &end); break;
        case 't': options.threads = static_cast<int>(std::strtol(optarg, &end, 10)); break;
        case 'r': options.seed = std::strtoull(optarg, &end, 0); break;
        case 'p': options.patience_s = std::strtod(optarg, &end); break;
        default: return false;
        }
        if (end == optarg || *end)
            return false;
    }
    return optind == argc && options.threads >= 1 && options.threads <= threads_max;
}

int run() {
    std::printf("soak: --seed %" PRIu64 "\n", options.seed);
    std::fflush(stdout);
    shared_with_children<objects> memory;
    all = &*memory;
    make_objects();
    struct sigaction action {};
    action.sa_handler = handle_signal;
    sigaction(SIGUSR1, &action, nullptr);
    const long start_ms = now_ms();
    std::thread killer(kill_children);
    supervise();
    wind_up();
    killer.join();
    check_at_the_end();
    print_summary(static_cast<double>(now_ms() - start_ms) / 1000);
    return 0;
}

} // namespace
} // namespace holdfast::test

int main(int argc, char **argv) {
    using namespace holdfast::test;
    return parse(argc, argv) ? run() : usage();
}
