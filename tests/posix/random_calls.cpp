// SPDX-License-Identifier: MIT OR Apache-2.0
// Random calls of pthread functions, compared with what plain glibc answers. A program without the interposer records:
// threads call one after the other, as a generator says that knows which of them wait, and each call's line has what
// was returned, whom it let go on, errno, and what anybody can see of the objects. Then this program makes the same
// calls, and each line has to come out the same. Where it does not, the run ends with the seed, the lines up to there,
// and status 1.
//
// Objects have random types and attributes; calls get every kind of deadline and clock, come from threads that do not
// own what they give back, and reach destroyed mutexes. Left out: what either may answer (which of several waiters is
// next), and docs/interposer.md's departures (a mutex that is only waited with is destroyed).
//
// usage: random_calls [--first SEED] [--seeds N] [--steps N] [--no-waits]
//   --no-waits   nobody waits without a near deadline: for locks whose waiters are never seen asleep
//
// Shown able to fail: posix/random_calls/broken_*; and with an interposer whose timed lock judges a deadline before it
// tries the mutex.
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <pthread.h>
#include <random>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <vector>

namespace {

struct options {
    unsigned long first = 1, seeds = 60;
    int steps = 80;
    bool waits = true;
} options;

constexpr int patience_ms = 120'000;
constexpr int errno_before = 4321;

// --- objects

constexpr int workers = 4, nobody = -1;

struct mutex_object {
    pthread_mutex_t mutex;
    bool plain; // neither robust nor with a protocol
};

struct cond_object {
    pthread_cond_t cond;
    bool made;
};

struct rwlock_object {
    pthread_rwlock_t lock;
    bool made;
    std::array<int, workers> reads;
    int writer;
};

struct spin_object {
    pthread_spinlock_t lock;
    bool made, held;
};

struct barrier_object {
    pthread_barrier_t barrier;
    unsigned count; // 0: not made
};

std::array<mutex_object, 2> mutexes;
std::array<cond_object, 2> conds;
std::array<rwlock_object, 2> rwlocks;
spin_object spin;
barrier_object barrier;

// --- workers

// What a worker is to do, and has an interest in while it does that.
struct call {
    std::string text;
    std::function<int()> body;
    std::function<void(int)> after; // by the main thread, when it has returned
    const mutex_object *mutex = nullptr;
    const cond_object *cond = nullptr;
    const rwlock_object *rwlock = nullptr;
    const barrier_object *barrier = nullptr;
    bool ends = true; // by itself, nobody else being at work
};

struct worker {
    pthread_t thread;
    int begin[2];
    std::atomic<pid_t> tid{0};
    call now;
    bool busy = false; // as the main thread has seen it
    std::atomic<bool> done{false};
    int result = 0;
    const char *harm = "";
};
std::array<worker, workers> team;

const char *harm_done(const sigset_t &mask_before) {
    sigset_t mask;
    int state = 0, type = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    if (std::memcmp(&mask, &mask_before, 8) != 0)
        return " (signal mask changed)";
    if (state != PTHREAD_CANCEL_ENABLE || type != PTHREAD_CANCEL_DEFERRED)
        return " (cancellation changed)";
    return "";
}

void *work(void *argument) {
    worker &self = *static_cast<worker *>(argument);
    self.tid = static_cast<pid_t>(syscall(SYS_gettid));
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (char byte = 0; read(self.begin[0], &byte, 1) == 1;) {
        errno = errno_before;
        self.result = self.now.body();
        self.harm = errno != errno_before ? " (errno changed)" : harm_done(mask);
        self.done.store(true, std::memory_order_release);
    }
    return nullptr;
}

std::string line_of(const worker &worker, const char *file_name) {
    char path[64], text[256] = "";
    std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", worker.tid.load(), file_name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = read(file, text, sizeof(text) - 1);
    close(file);
    return size > 0 ? text : "";
}

// A thread that has been woken but has not come to a CPU is in the call still, and so is one that waits for memory
// there; the letter tells them from a sleeper.
bool sleeps_in_futex(const worker &worker) {
    std::string call = line_of(worker, "syscall"), stat = line_of(worker, "stat");
    std::size_t name_ends = stat.rfind(')');
    return std::strtol(call.c_str(), nullptr, 10) == SYS_futex && name_ends != std::string::npos &&
           stat.compare(name_ends, 3, ") S") == 0;
}

bool is_done(const worker &worker) {
    return worker.done.load(std::memory_order_acquire);
}

// Has each of them returned or gone to sleep? Somebody who has returned may have woken one that was looked at before.
std::string look() {
    std::string seen;
    for (const worker &worker : team)
        seen += !worker.busy || is_done(worker) ? 'd' : !worker.now.ends && sleeps_in_futex(worker) ? 's' : 'r';
    return seen;
}

bool wait_until_settled(const std::function<bool()> &may_be_over) {
    for (int waited_us = 0; waited_us < patience_ms * 1000; waited_us += 100) {
        std::string seen = look();
        if (seen.find('r') == std::string::npos && seen == look() && may_be_over())
            return true;
        usleep(100);
    }
    return false;
}

// --- the generator

std::mt19937_64 random_source;

unsigned draw(unsigned below) {
    return static_cast<unsigned>(random_source() % below);
}
bool one_in(unsigned n) {
    return draw(n) == 0;
}
template <class Value, std::size_t Size>
const Value &one_of(const Value (&values)[Size]) {
    return values[draw(Size)];
}

std::string number(long value) {
    return std::to_string(value);
}

template <class Objects, class Object>
std::string name_in(const char *kind, const Objects &objects, const Object &object) {
    return kind + number(&object - objects.data());
}
std::string name_of(const mutex_object &object) {
    return name_in("m", mutexes, object);
}
std::string name_of(const cond_object &object) {
    return name_in("c", conds, object);
}
std::string name_of(const rwlock_object &object) {
    return name_in("r", rwlocks, object);
}

struct drawn_deadline {
    timespec at;
    long from_now_ms; // if not 0: instead of `at`
    const char *name;
};
constexpr drawn_deadline deadlines[] = {
    {{1, 0}, 0, "long ago"},
    {{0, 0}, 0, "epoch"},
    {{-1, 0}, 0, "before epoch"},
    {{LONG_MIN, 0}, 0, "first"},
    {{1, 1'000'000'000}, 0, "1e9"},
    {{1, -1}, 0, "-1ns"},
    {{-1, -1}, 0, "-1s-1ns"},
    {{LONG_MAX, LONG_MAX}, 0, "max,max"},
    {{}, 3, "soon"},
    {{}, 3'600'000, "later"},
    {{LONG_MAX, 999'999'999}, 0, "never"},
};

bool is_far(const drawn_deadline &deadline) {
    return deadline.from_now_ms > 1000 || (deadline.at.tv_sec == LONG_MAX && deadline.at.tv_nsec < 1'000'000'000);
}

drawn_deadline draw_deadline(bool may_be_far) {
    for (;;) {
        drawn_deadline drawn = one_of(deadlines);
        if (may_be_far || !is_far(drawn))
            return drawn;
    }
}

timespec time_of(const drawn_deadline &drawn, clockid_t clock) {
    if (drawn.from_now_ms == 0)
        return drawn.at;
    timespec at{};
    if (clock_gettime(clock, &at) != 0)
        at = {.tv_sec = 1'000'000, .tv_nsec = 0};
    errno = errno_before;
    long ns = at.tv_nsec + drawn.from_now_ms % 1000 * 1'000'000;
    return {.tv_sec = at.tv_sec + drawn.from_now_ms / 1000 + ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
}

constexpr clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_REALTIME,           CLOCK_MONOTONIC,     CLOCK_MONOTONIC,
                                CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID, CLOCK_MONOTONIC_RAW, -1,
                                12345};

template <class Interest>
int waiters(Interest is_interested) {
    int count = 0;
    for (const worker &worker : team)
        count += worker.busy && is_interested(worker.now);
    return count;
}
int waiters_of(const mutex_object &mutex) {
    return waiters([&](const call &call) { return call.mutex == &mutex; });
}
int waiters_of(const cond_object &cond) {
    return waiters([&](const call &call) { return call.cond == &cond; });
}
int waiters_of(const rwlock_object &rwlock) {
    return waiters([&](const call &call) { return call.rwlock == &rwlock; });
}
int waiters_of(const barrier_object &barrier) {
    return waiters([&](const call &call) { return call.barrier == &barrier; });
}

bool is_held(const mutex_object &object) {
    return object.mutex.__data.__lock != 0;
}
bool is_held(const rwlock_object &object) {
    for (int reads : object.reads)
        if (reads != 0)
            return true;
    return object.writer != nobody;
}

int owner_of(long tid) {
    for (int i = 0; i < workers; i++)
        if (team[i].tid == tid)
            return i;
    return tid == 0 ? nobody : 99;
}

// A call that a worker makes next; without a body there is none.
call make_mutex(mutex_object &object) {
    constexpr pthread_mutex_t initializers[] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                                                PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                                                PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};
    if (is_held(object) || waiters_of(object) > 0)
        return {};
    object.plain = true;
    unsigned type = draw(4);
    if (one_in(4))
        return {.text = "initializer " + name_of(object) + " type " + number(type),
                .body = [&object, from = initializers[type]] { return object.mutex = from, 0; }};
    int robust = one_in(6), protocol = one_in(6), shared = one_in(6), c11 = one_in(6);
    if (c11) {
        type = draw(8);
        return {.text = "mtx_init " + name_of(object) + " " + number(type), .body = [&object, type] {
                    return mtx_init(reinterpret_cast<mtx_t *>(&object.mutex), static_cast<int>(type));
                }};
    }
    object.plain = !robust && !protocol;
    return {.text = "mutex_init " + name_of(object) + " type " + number(type) + (robust ? " robust" : "") +
                    (protocol ? " inherits" : "") + (shared ? " shared" : ""),
            .body = [&object, type, robust, protocol, shared] {
                pthread_mutexattr_t attributes;
                pthread_mutexattr_init(&attributes);
                pthread_mutexattr_settype(&attributes, static_cast<int>(type));
                pthread_mutexattr_setrobust(&attributes, robust);
                pthread_mutexattr_setprotocol(&attributes, protocol);
                pthread_mutexattr_setpshared(&attributes, shared);
                std::memset(static_cast<void *>(&object.mutex), 0x5a, sizeof(object.mutex));
                int error = pthread_mutex_init(&object.mutex, &attributes);
                pthread_mutexattr_destroy(&attributes);
                return error;
            }};
}

call destroy_mutex(mutex_object &object) {
    if (waiters_of(object) > 0)
        return {};
    return {.text = "mutex_destroy " + name_of(object),
            .body = [&object] { return pthread_mutex_destroy(&object.mutex); }};
}

call lock_mutex(mutex_object &object) {
    pthread_mutex_t *mutex = &object.mutex;
    auto *c11 = reinterpret_cast<mtx_t *>(mutex);
    const std::string name = name_of(object);
    bool waits = options.waits && waiters_of(object) == 0;
    unsigned what = draw(waits ? 6 : 4);
    if (what == 0)
        return {.text = "mutex_trylock " + name, .body = [mutex] { return pthread_mutex_trylock(mutex); }};
    if (what == 1 && one_in(2))
        return {.text = "mtx_trylock " + name, .body = [c11] { return mtx_trylock(c11); }};
    if (what >= 4) {
        call lock = {.text = "mutex_lock " + name, .body = [mutex] { return pthread_mutex_lock(mutex); }};
        if (one_in(4))
            lock = {.text = "mtx_lock " + name, .body = [c11] { return mtx_lock(c11); }};
        lock.mutex = &object;
        lock.ends = false;
        return lock;
    }
    if (waiters_of(object) > 0)
        return {}; // its deadline may come before or after it has the lock
    drawn_deadline at = draw_deadline(waits);
    clockid_t clock = one_of(clocks);
    unsigned how = draw(4);
    call lock = {.text = "mutex_clocklock " + name + " " + number(clock) + " " + at.name, .body = [mutex, clock, at] {
                     timespec time = time_of(at, clock);
                     return pthread_mutex_clocklock(mutex, clock, &time);
                 }};
    if (how < 2)
        lock = {.text = (how ? "mutex_timedlock " : "mtx_timedlock ") + name + " " + at.name,
                .body = [mutex, c11, how, at] {
                    timespec time = time_of(at, CLOCK_REALTIME);
                    return how ? pthread_mutex_timedlock(mutex, &time) : mtx_timedlock(c11, &time);
                }};
    lock.mutex = &object;
    lock.ends = !is_far(at);
    return lock;
}

call unlock_mutex(mutex_object &object, int by) {
    pthread_mutex_t *mutex = &object.mutex;
    // What glibc does to its own kinds is not asked for; a thread of its own that waits is not to be given them twice.
    bool is_owner = owner_of(mutex->__data.__owner) == by;
    if (!is_owner && (!object.plain || (!is_held(object) && !one_in(8))))
        return {};
    if (one_in(4))
        return {.text = "mtx_unlock " + name_of(object),
                .body = [mutex] { return mtx_unlock(reinterpret_cast<mtx_t *>(mutex)); }};
    return {.text = "mutex_unlock " + name_of(object), .body = [mutex] { return pthread_mutex_unlock(mutex); }};
}

call make_cond(cond_object &object) {
    if (waiters_of(object) > 0)
        return {};
    object.made = true;
    int shared = one_in(4);
    clockid_t clock = one_in(2) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    if (one_in(4))
        return {.text = "initializer " + name_of(object),
                .body = [&object] { return object.cond = pthread_cond_t(PTHREAD_COND_INITIALIZER), 0; }};
    return {.text = "cond_init " + name_of(object) + " clock " + number(clock) + (shared ? " shared" : ""),
            .body = [&object, shared, clock] {
                pthread_condattr_t attributes;
                pthread_condattr_init(&attributes);
                pthread_condattr_setclock(&attributes, clock);
                pthread_condattr_setpshared(&attributes, shared);
                std::memset(static_cast<void *>(&object.cond), 0x5a, sizeof(object.cond));
                int error = pthread_cond_init(&object.cond, &attributes);
                pthread_condattr_destroy(&attributes);
                return error;
            }};
}

call destroy_cond(cond_object &object) {
    if (!object.made || waiters_of(object) > 0)
        return {};
    object.made = false;
    return {.text = "cond_destroy " + name_of(object),
            .body = [&object] { return pthread_cond_destroy(&object.cond); }};
}

call wait_for_cond(cond_object &object, mutex_object &with, int by) {
    pthread_cond_t *cond = &object.cond;
    pthread_mutex_t *mutex = &with.mutex;
    bool is_owner = owner_of(mutex->__data.__owner) == by;
    if (!object.made || waiters_of(with) > 0 || (!is_owner && (!with.plain || !is_held(with))))
        return {};
    drawn_deadline at = draw_deadline(options.waits);
    clockid_t clock = one_of(clocks);
    const std::string names = name_of(object) + " " + name_of(with);
    call wait;
    unsigned how = draw(4);
    if (how == 0 && options.waits) {
        wait = {.text = "cond_wait " + names, .body = [=] { return pthread_cond_wait(cond, mutex); }};
        wait.ends = false;
    } else if (how == 1) {
        wait = {.text = "cond_clockwait " + names + " " + number(clock) + " " + at.name, .body = [=] {
                    timespec time = time_of(at, clock);
                    return pthread_cond_clockwait(cond, mutex, clock, &time);
                }};
        wait.ends = !is_far(at);
    } else {
        // The clock is the condition variable's, on which what is near by another one may be far.
        if (at.from_now_ms != 0 && at.from_now_ms < 1000)
            return {};
        bool is_c11 = one_in(3);
        wait = {.text = (is_c11 ? "cnd_timedwait " : "cond_timedwait ") + names + " " + at.name, .body = [=] {
                    timespec time = time_of(at, CLOCK_REALTIME);
                    return is_c11
                               ? cnd_timedwait(reinterpret_cast<cnd_t *>(cond), reinterpret_cast<mtx_t *>(mutex), &time)
                               : pthread_cond_timedwait(cond, mutex, &time);
                }};
        wait.ends = !is_far(at);
    }
    wait.mutex = &with;
    wait.cond = &object;
    return wait;
}

call wake_cond(cond_object &object) {
    pthread_cond_t *cond = &object.cond;
    if (!object.made)
        return {};
    bool is_c11 = one_in(4);
    if (waiters_of(object) < 2 && one_in(2))
        return {.text = (is_c11 ? "cnd_signal " : "cond_signal ") + name_of(object), .body = [=] {
                    return is_c11 ? cnd_signal(reinterpret_cast<cnd_t *>(cond)) : pthread_cond_signal(cond);
                }};
    return {.text = (is_c11 ? "cnd_broadcast " : "cond_broadcast ") + name_of(object), .body = [=] {
                return is_c11 ? cnd_broadcast(reinterpret_cast<cnd_t *>(cond)) : pthread_cond_broadcast(cond);
            }};
}

call make_rwlock(rwlock_object &object) {
    if (is_held(object) || waiters_of(object) > 0)
        return {};
    object.made = true;
    int kind = static_cast<int>(draw(3)), shared = one_in(5);
    if (one_in(4)) {
        return {.text = "initializer " + name_of(object) + (kind == 2 ? " writers first" : ""),
                .body = [&object, kind] {
                    pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER,
                                     writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
                    return object.lock = kind == 2 ? writers : readers, 0;
                }};
    }
    return {.text = "rwlock_init " + name_of(object) + " kind " + number(kind) + (shared ? " shared" : ""),
            .body = [&object, kind, shared] {
                pthread_rwlockattr_t attributes;
                pthread_rwlockattr_init(&attributes);
                pthread_rwlockattr_setkind_np(&attributes, kind);
                pthread_rwlockattr_setpshared(&attributes, shared);
                std::memset(static_cast<void *>(&object.lock), 0x5a, sizeof(object.lock));
                int error = pthread_rwlock_init(&object.lock, &attributes);
                pthread_rwlockattr_destroy(&attributes);
                return error;
            }};
}

call destroy_rwlock(rwlock_object &object) {
    if (!object.made || is_held(object) || waiters_of(object) > 0)
        return {};
    object.made = false;
    return {.text = "rwlock_destroy " + name_of(object),
            .body = [&object] { return pthread_rwlock_destroy(&object.lock); }};
}

call lock_rwlock(rwlock_object &object, int by) {
    if (!object.made)
        return {};
    pthread_rwlock_t *lock = &object.lock;
    bool writes = one_in(2), others_wait = waiters_of(object) > 0;
    drawn_deadline at = draw_deadline(options.waits);
    clockid_t clock = one_of(clocks);
    const std::string what = writes ? "wrlock " : "rdlock ", name = name_of(object);
    auto after = [&object, by, writes](int error) {
        if (error == 0 && writes)
            object.writer = by;
        else if (error == 0)
            object.reads[by]++;
    };
    call use;
    unsigned how = draw(4);
    if (how == 0 || (others_wait && writes)) {
        use = {.text = "rwlock_try" + what + name,
               .body = [=] { return writes ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock); }};
    } else if (others_wait) {
        return {};
    } else if (how == 1 && options.waits) {
        use = {.text = "rwlock_" + what + name,
               .body = [=] { return writes ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock); }};
        use.ends = false;
    } else if (how == 2) {
        use = {.text = "rwlock_timed" + what + name + " " + at.name, .body = [=] {
                   timespec time = time_of(at, CLOCK_REALTIME);
                   return writes ? pthread_rwlock_timedwrlock(lock, &time) : pthread_rwlock_timedrdlock(lock, &time);
               }};
        use.ends = !is_far(at);
    } else {
        use = {.text = "rwlock_clock" + what + name + " " + number(clock) + " " + at.name, .body = [=] {
                   timespec time = time_of(at, clock);
                   return writes ? pthread_rwlock_clockwrlock(lock, clock, &time)
                                 : pthread_rwlock_clockrdlock(lock, clock, &time);
               }};
        use.ends = !is_far(at);
    }
    use.rwlock = &object;
    use.after = after;
    return use;
}

call unlock_rwlock(rwlock_object &object, int by) {
    if (object.writer != by && object.reads[by] == 0)
        return {};
    if (object.writer == by)
        object.writer = nobody;
    else
        object.reads[by]--;
    return {.text = "rwlock_unlock " + name_of(object),
            .body = [&object] { return pthread_rwlock_unlock(&object.lock); }};
}

call use_spin() {
    if (!spin.made || (one_in(10) && !spin.held)) {
        int shared = one_in(2);
        spin.made = true;
        return {.text = "spin_init", .body = [shared] { return pthread_spin_init(&spin.lock, shared); }};
    }
    if (spin.held && one_in(2)) {
        spin.held = false;
        return {.text = "spin_unlock", .body = [] { return pthread_spin_unlock(&spin.lock); }};
    }
    call use = {.text = "spin_trylock", .body = [] { return pthread_spin_trylock(&spin.lock); }};
    if (!spin.held && one_in(2))
        use = {.text = "spin_lock", .body = [] { return pthread_spin_lock(&spin.lock); }};
    use.after = [](int error) { spin.held = spin.held || error == 0; };
    return use;
}

call use_barrier() {
    if (barrier.count == 0) {
        constexpr unsigned counts[] = {0, 1, 2, 3, INT_MAX, INT_MAX + 1U, UINT_MAX};
        unsigned count = one_of(counts);
        int shared = one_in(3);
        return {.text = "barrier_init " + number(count) + (shared ? " shared" : ""),
                .body =
                    [count, shared] {
                        pthread_barrierattr_t attributes;
                        pthread_barrierattr_init(&attributes);
                        pthread_barrierattr_setpshared(&attributes, shared);
                        return pthread_barrier_init(&barrier.barrier, &attributes, count);
                    },
                .after = [count](int error) { barrier.count = error ? 0 : count; }};
    }
    if (waiters_of(barrier) == 0 && one_in(4)) {
        barrier.count = 0;
        return {.text = "barrier_destroy", .body = [] { return pthread_barrier_destroy(&barrier.barrier); }};
    }
    if (barrier.count > workers || (!options.waits && barrier.count > 1))
        return {};
    call wait = {.text = "barrier_wait", .body = [] { return pthread_barrier_wait(&barrier.barrier); }};
    wait.barrier = &barrier;
    wait.ends = false;
    return wait;
}

call draw_call(int by) {
    mutex_object &mutex = mutexes[draw(mutexes.size())];
    cond_object &cond = conds[draw(conds.size())];
    rwlock_object &rwlock = rwlocks[draw(rwlocks.size())];
    switch (draw(24)) {
    case 0: return make_mutex(mutex);
    case 1: return one_in(3) ? destroy_mutex(mutex) : call{};
    case 2:
    case 3:
    case 4:
    case 5: return lock_mutex(mutex);
    case 6:
    case 7:
    case 8: return unlock_mutex(mutex, by);
    case 9: return make_cond(cond);
    case 10: return destroy_cond(cond);
    case 11:
    case 12:
    case 13: return wait_for_cond(cond, mutex, by);
    case 14:
    case 15:
    case 16: return wake_cond(cond);
    case 17: return one_in(3) ? make_rwlock(rwlock) : destroy_rwlock(rwlock);
    case 18:
    case 19: return lock_rwlock(rwlock, by);
    case 20:
    case 21: return unlock_rwlock(rwlock, by);
    case 22: return use_spin();
    default: return use_barrier();
    }
}

// --- one run

constexpr int elision_bits = 0x300; // glibc's memory of what kinds of locks the processor has

// What glibc's debuggers' helpers, and programs that look, see. A mutex that is waited with is another thing to glibc's
// condition variables.
std::string state() {
    std::string text;
    for (const mutex_object &object : mutexes) {
        const auto &data = object.mutex.__data;
        bool is_waited_with = waiters([&](const call &call) { return call.mutex == &object && call.cond; }) > 0;
        text += " " + name_of(object) + (data.__lock != 0 ? " held by " : " free ") + number(owner_of(data.__owner)) +
                " " + number(data.__count) + "*" + (is_waited_with ? "?" : number(static_cast<int>(data.__nusers))) +
                " kind " + number(data.__kind & ~elision_bits);
    }
    for (const rwlock_object &object : rwlocks)
        text += " " + name_of(object) + " written by " + number(owner_of(object.lock.__data.__cur_writer)) + " kind " +
                number(object.lock.__data.__flags);
    return text;
}

// What the calls that have returned since returned; they are over.
std::string completions() {
    std::string text;
    for (int i = 0; i < workers; i++) {
        worker &worker = team[i];
        if (!worker.busy || !is_done(worker))
            continue;
        text += " " + number(i) + ":" + number(worker.result) + worker.harm;
        worker.busy = false;
        if (worker.now.after)
            worker.now.after(worker.result);
    }
    return text;
}

std::string who_is_done() {
    std::string text;
    for (int i = 0; i < workers; i++)
        if (team[i].busy && is_done(team[i]))
            text += " " + number(i) + ":";
    return text;
}

// Those that a recorded line says to have returned.
std::string who_is_done_in(const std::string &line) {
    std::string text, rest = line.substr(line.find(" => ") + 4);
    rest = rest.substr(0, rest.find(';'));
    for (std::size_t at = rest.find(':'); at != std::string::npos; at = rest.find(':', at + 1))
        text += std::string(" ") + rest[at - 1] + ":";
    return text;
}

void begin() {
    for (mutex_object &object : mutexes)
        object = {.mutex = PTHREAD_MUTEX_INITIALIZER, .plain = true};
    for (cond_object &object : conds)
        object = {.cond = PTHREAD_COND_INITIALIZER, .made = true};
    for (rwlock_object &object : rwlocks)
        object = {.lock = PTHREAD_RWLOCK_INITIALIZER, .made = true, .reads = {}, .writer = nobody};
    for (worker &worker : team) {
        if (pipe(worker.begin) != 0 || pthread_create(&worker.thread, nullptr, work, &worker) != 0)
            _exit(3);
        while (worker.tid == 0)
            usleep(100);
    }
}

// The next line, or "" at the end; `recorded` is what it has to be, or empty.
std::string step(const std::string &recorded) {
    std::vector<int> idle;
    for (int i = 0; i < workers; i++)
        if (!team[i].busy)
            idle.push_back(i);
    if (idle.empty())
        return "";
    int by = idle[draw(static_cast<unsigned>(idle.size()))];
    call drawn;
    while (!drawn.body)
        drawn = draw_call(by);
    std::string line = number(by) + " " + drawn.text + " => ";
    worker &worker = team[by];
    worker.now = std::move(drawn);
    worker.done = false;
    worker.busy = true;
    if (write(worker.begin[1], "", 1) != 1)
        _exit(3);
    std::string wanted = who_is_done_in(recorded.empty() ? " => " : recorded);
    bool settled = wait_until_settled([&] { return recorded.empty() || who_is_done() == wanted; });
    line += completions() + ";" + state();
    return settled ? line : line + " DOES NOT SETTLE " + look();
}

void record(unsigned long seed) {
    random_source.seed(seed);
    begin();
    for (int i = 0; i < options.steps; i++) {
        std::string line = step("");
        if (line.empty())
            break;
        std::printf("%s\n", line.c_str());
    }
    std::printf("end\n");
    std::fflush(stdout);
}

int follow(unsigned long seed, const std::vector<std::string> &recorded) {
    random_source.seed(seed);
    begin();
    for (std::size_t i = 0; i + 1 < recorded.size(); i++) {
        std::string line = step(recorded[i]);
        if (line == recorded[i])
            continue;
        for (std::size_t j = 0; j < i; j++)
            std::fprintf(stderr, "%s\n", recorded[j].c_str());
        std::fprintf(stderr, "seed %lu, step %zu\nglibc: %s\nhere:  %s\n", seed, i, recorded[i].c_str(), line.c_str());
        return 1;
    }
    return 0;
}

template <class Body>
int in_child(Body body) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 3;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The lines of each seed, by a program without a preload.
std::vector<std::vector<std::string>> recorded_by_glibc(char **arguments) {
    int pipes[2];
    if (pipe2(pipes, O_CLOEXEC) != 0)
        std::exit(3);
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        unsetenv("LD_PRELOAD");
        setenv("RANDOM_CALLS_RECORD", "1", 1);
        execv("/proc/self/exe", arguments);
        _exit(3);
    }
    close(pipes[1]);
    std::vector<std::vector<std::string>> seeds;
    FILE *text = fdopen(pipes[0], "r");
    char *line = nullptr;
    std::size_t room = 0;
    bool begins = true;
    for (ssize_t size; (size = getline(&line, &room, text)) > 0;) {
        if (begins)
            seeds.emplace_back();
        seeds.back().emplace_back(line, static_cast<std::size_t>(size - 1));
        begins = seeds.back().back() == "end";
    }
    std::free(line);
    std::fclose(text);
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0 || seeds.size() != options.seeds) {
        std::fprintf(stderr, "random_calls: glibc's run ended with %d after %zu seeds\n", status, seeds.size());
        std::exit(3);
    }
    return seeds;
}

void read_options(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        std::string name = arguments[i];
        if (name == "--no-waits") {
            options.waits = false;
            continue;
        }
        unsigned long value = i + 1 < count ? std::strtoul(arguments[++i], nullptr, 10) : 0;
        if (name == "--first")
            options.first = value;
        else if (name == "--seeds")
            options.seeds = value;
        else if (name == "--steps")
            options.steps = static_cast<int>(value);
        else
            std::exit(2);
    }
}

} // namespace

int main(int count, char **arguments) {
    read_options(count, arguments);
    if (std::getenv("RANDOM_CALLS_RECORD")) {
        for (unsigned long i = 0; i < options.seeds; i++)
            if (int error = in_child([&] { return record(options.first + i), 0; }))
                return error;
        return 0;
    }
    auto recorded = recorded_by_glibc(arguments);
    for (unsigned long i = 0; i < options.seeds; i++)
        if (int error = in_child([&] { return follow(options.first + i, recorded[i]); }))
            return std::fprintf(stderr, "random_calls: seed %lu: %d\n", options.first + i, error), 1;
    return 0;
}
