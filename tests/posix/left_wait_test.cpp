// SPDX-License-Identifier: MIT OR Apache-2.0
// Waits that are left in the middle: by siglongjmp out of a signal handler (a classical time-out), by pthread_exit in
// one, by cancellation, and by an exception that a handler throws. Each wait by each way; afterwards the object works
// for everybody, as after glibc's own waits, and a thread that left a condition variable has the mutex.
//
// Shown able to fail: with hf_left_wait_begin that pushes nothing, siglongjmp out of cond_wait ends in SIGSEGV or is
// stuck, and reader-writer locks stay as if the leaver still waited; where leave() does not take the mutex again, no
// leaver of a condition variable has it.
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <threads.h>

#include "deadline.hpp"
#include "objects_to_wait_for.hpp"
#include "threads_and_processes.hpp"

namespace holdfast::test {
namespace {

bool environment_says(const char *name, const char *what) {
    const char *value = std::getenv(name);
    return value && std::strstr(value, what);
}

bool interposed() {
    return environment_says("LD_PRELOAD", "holdfast");
}

// A ticket's or an MCS lock's queue has no way out (docs/interposer.md).
bool mutex_can_be_left() {
    return !environment_says("HOLDFAST_LOCK", "ticket") && !environment_says("HOLDFAST_LOCK", "mcs") &&
           !environment_says("HOLDFAST_CONF", "mutex:mcs");
}

// glibc's reader-writer lock counts who has left as a reader, or as a writer that waits, for ever.
bool rwlock_can_be_left() {
    return interposed() && !environment_says("HOLDFAST_CONF", "rwlock:glibc");
}

timespec far_away(clockid_t clock) {
    return from_now(clock, far_away_ms);
}

void lock_spin(objects &o) {
    pthread_spin_lock(&o.spin);
}
void unlock_spin(objects &o) {
    pthread_spin_unlock(&o.spin);
}

enum class kind { mutex, rwlock, cond, spin };

struct wait_row {
    const char *name;
    kind of;
    void (*hold)(objects &); // by another thread, so that there is something to wait for
    void (*let_go)(objects &);
    void (*prepare)(objects &); // by the waiter
    int (*wait)(objects &);
    void (*finish)(objects &); // by a waiter whose wait has returned, or who was in cond_wait
    void (*wake)(objects &);
};

void wake_cond(objects &o) {
    pthread_mutex_lock(&o.mutex);
    pthread_cond_signal(&o.cond);
    pthread_cond_signal(&o.shared_cond);
    pthread_mutex_unlock(&o.mutex);
}
void wake_cnd(objects &o) {
    mtx_lock(&o.mtx);
    cnd_signal(&o.cnd);
    mtx_unlock(&o.mtx);
}

const wait_row every_wait[] = {
    {"mutex_lock", kind::mutex, lock_mutex, unlock_mutex, nothing,
     [](objects &o) { return pthread_mutex_lock(&o.mutex); }, unlock_mutex, nothing},
    {"mutex_timedlock", kind::mutex, lock_mutex, unlock_mutex, nothing,
     [](objects &o) {
         timespec at = far_away(CLOCK_REALTIME);
         return pthread_mutex_timedlock(&o.mutex, &at);
     },
     unlock_mutex, nothing},
    {"mtx_lock", kind::mutex, lock_mtx, unlock_mtx, nothing, [](objects &o) { return mtx_lock(&o.mtx); }, unlock_mtx,
     nothing},
    {"rdlock", kind::rwlock, lock_to_write, unlock_rwlocks, nothing,
     [](objects &o) { return pthread_rwlock_rdlock(&o.rwlock); }, [](objects &o) { pthread_rwlock_unlock(&o.rwlock); },
     nothing},
    {"wrlock", kind::rwlock, lock_to_read, unlock_rwlocks, nothing,
     [](objects &o) { return pthread_rwlock_wrlock(&o.rwlock); }, [](objects &o) { pthread_rwlock_unlock(&o.rwlock); },
     nothing},
    {"wrlock behind a writer", kind::rwlock, lock_to_write, unlock_rwlocks, nothing,
     [](objects &o) { return pthread_rwlock_wrlock(&o.rwlock); }, [](objects &o) { pthread_rwlock_unlock(&o.rwlock); },
     nothing},
    {"rdlock, writers first", kind::rwlock, lock_to_write, unlock_rwlocks, nothing,
     [](objects &o) { return pthread_rwlock_rdlock(&o.writers_first); },
     [](objects &o) { pthread_rwlock_unlock(&o.writers_first); }, nothing},
    {"wrlock, writers first", kind::rwlock, lock_to_read, unlock_rwlocks, nothing,
     [](objects &o) { return pthread_rwlock_wrlock(&o.writers_first); },
     [](objects &o) { pthread_rwlock_unlock(&o.writers_first); }, nothing},
    {"timedwrlock, writers first", kind::rwlock, lock_to_read, unlock_rwlocks, nothing,
     [](objects &o) {
         timespec at = far_away(CLOCK_REALTIME);
         return pthread_rwlock_timedwrlock(&o.writers_first, &at);
     },
     [](objects &o) { pthread_rwlock_unlock(&o.writers_first); }, nothing},
    {"cond_wait", kind::cond, nothing, nothing, lock_mutex,
     [](objects &o) { return pthread_cond_wait(&o.cond, &o.mutex); }, unlock_mutex, wake_cond},
    {"cond_timedwait", kind::cond, nothing, nothing, lock_mutex,
     [](objects &o) {
         timespec at = far_away(CLOCK_REALTIME);
         return pthread_cond_timedwait(&o.cond, &o.mutex, &at);
     },
     unlock_mutex, wake_cond},
    {"cond_clockwait", kind::cond, nothing, nothing, lock_mutex,
     [](objects &o) {
         timespec at = far_away(CLOCK_MONOTONIC);
         return pthread_cond_clockwait(&o.cond, &o.mutex, CLOCK_MONOTONIC, &at);
     },
     unlock_mutex, wake_cond},
    {"cond_wait, shared", kind::cond, nothing, nothing, lock_mutex,
     [](objects &o) { return pthread_cond_wait(&o.shared_cond, &o.mutex); }, unlock_mutex, wake_cond},
    {"cnd_wait", kind::cond, nothing, nothing, lock_mtx, [](objects &o) { return cnd_wait(&o.cnd, &o.mtx); },
     unlock_mtx, wake_cnd},
    {"spin_lock", kind::spin, lock_spin, unlock_spin, nothing, [](objects &o) { return pthread_spin_lock(&o.spin); },
     unlock_spin, nothing},
};

enum class way { jump, exit, throws, cancel_asynchronously, cancel };
constexpr way every_way[] = {way::jump, way::exit, way::throws, way::cancel_asynchronously, way::cancel};

const char *name_of(way how) {
    switch (how) {
    case way::jump: return "siglongjmp";
    case way::exit: return "pthread_exit in a handler";
    case way::throws: return "an exception in a handler";
    case way::cancel_asynchronously: return "asynchronous cancellation";
    case way::cancel: return "cancellation";
    }
    return "";
}

struct left {};
thread_local sigjmp_buf place;
thread_local volatile std::sig_atomic_t may_leave = 0;
way leaves_by; // of the one waiter that there is

void leave(int) {
    if (!may_leave)
        return;
    may_leave = 0;
    if (leaves_by == way::jump)
        siglongjmp(place, 1);
    if (leaves_by == way::throws)
        throw left{};
    pthread_exit(nullptr);
}

bool survives(const wait_row &row, way how) {
    if (row.of == kind::mutex && !mutex_can_be_left())
        return false;
    if (row.of == kind::rwlock && !rwlock_can_be_left())
        return false;
    if (how == way::cancel)
        return row.of == kind::cond;
    // C11's functions unlock by themselves for nobody, and glibc's condition variables leave their clean-up function
    // behind in the C library's list when an exception goes past.
    return how != way::throws || row.of != kind::cond;
}

// Not that its waiter is the owner; but nobody else is for long.
bool is_taken(const wait_row &row, objects &o) {
    return row.prepare == lock_mtx ? mtx_trylock(&o.mtx) == thrd_busy : pthread_mutex_trylock(&o.mutex) == EBUSY;
}

void finish_as_left(const wait_row &row, objects &o) {
    if (row.of != kind::cond)
        return;
    EXPECT_TRUE(is_taken(row, o)) << "a thread that has left " << row.name << " lacks the mutex";
    row.finish(o);
}

struct clean_up {
    const wait_row &row;
    objects &o;
    ~clean_up() { finish_as_left(row, o); }
};

// One thread's wait, until it returns or is left. A thread that leaves a condition variable has the mutex.
void wait_and_leave(const wait_row &row, objects &o, std::atomic<bool> &comes) {
    pthread_setcanceltype(
        leaves_by == way::cancel_asynchronously ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, nullptr);
    row.prepare(o);
    if (leaves_by == way::jump) {
        if (sigsetjmp(place, 1) == 0) {
            may_leave = 1;
            comes = true;
            int result = row.wait(o);
            ADD_FAILURE() << row.name << " returned " << result;
        }
        finish_as_left(row, o);
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
        return;
    }
    clean_up at_end{row, o};
    try {
        may_leave = 1;
        comes = true;
        int result = row.wait(o);
        ADD_FAILURE() << row.name << " returned " << result;
    } catch (const left &) {
    }
}

// Two waiters of which one leaves; the other one comes first, or last.
void leave_and_go_on(const wait_row &row, way how, int round) {
    SCOPED_TRACE(std::string(row.name) + ", " + name_of(how) + ", round " + std::to_string(round));
    auto *o = new objects; // leaked: the test goes on past a thread that is stuck
    leaves_by = how;
    std::atomic<bool> comes = false, other_is_done = false, let_go = false, held = false;
    std::atomic<int> waits = 0;
    std::thread holder([&] {
        row.hold(*o);
        held = true;
        while (!let_go)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        row.let_go(*o);
    });
    ASSERT_TRUE(eventually([&] { return held.load(); }));
    auto wait_beside = [&] {
        row.prepare(*o);
        waits++;
        EXPECT_EQ(row.wait(*o), 0);
        row.finish(*o);
        other_is_done = true;
    };
    std::thread other;
    if (round % 2 == 0) {
        other = std::thread(wait_beside);
        ASSERT_TRUE(eventually([&] { return waits.load() == 1; }));
        a_short_while();
    }
    std::thread leaver([&] { wait_and_leave(row, *o, comes); });
    ASSERT_TRUE(eventually([&] { return comes.load(); }));
    if (round % 2 == 1) {
        a_short_while();
        other = std::thread(wait_beside);
        ASSERT_TRUE(eventually([&] { return waits.load() == 1; }));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(round < 2 ? 20'000 : 50 * round));
    if (how == way::cancel || how == way::cancel_asynchronously)
        pthread_cancel(leaver.native_handle());
    else
        pthread_kill(leaver.native_handle(), SIGUSR1);
    leaver.join();
    let_go = true;
    holder.join();
    // A wake that the leaver has had may be lost where POSIX allows no jump: so it is given until it is taken.
    EXPECT_TRUE(eventually([&] {
        row.wake(*o);
        return other_is_done.load();
    }));
    if (!other_is_done)
        std::abort(); // it can't be joined
    other.join();
    // For newcomers as before.
    std::thread([&] {
        if (row.of != kind::cond)
            row.hold(*o), row.let_go(*o);
        EXPECT_EQ(pthread_mutex_trylock(&o->mutex), 0);
        EXPECT_EQ(mtx_trylock(&o->mtx), thrd_success);
        EXPECT_EQ(pthread_rwlock_trywrlock(&o->rwlock), 0);
        EXPECT_EQ(pthread_rwlock_trywrlock(&o->writers_first), 0);
        unlock_rwlocks(*o);
        unlock_mtx(*o);
        unlock_mutex(*o);
        pthread_cond_broadcast(&o->cond);
        cnd_broadcast(&o->cnd);
    }).join();
}

class WaitsThatAreLeft : public testing::Test {
protected:
    void SetUp() override {
        struct sigaction action {};
        action.sa_handler = leave;
        sigaction(SIGUSR1, &action, nullptr);
    }
    static void by(way how) {
        for (const wait_row &row : every_wait) {
            for (int round = 0; survives(row, how) && round < 8; round++)
                leave_and_go_on(row, how, round);
        }
    }
};

TEST_F(WaitsThatAreLeft, BySiglongjmp) {
    by(way::jump);
}
TEST_F(WaitsThatAreLeft, ByPthreadExitInAHandler) {
    by(way::exit);
}
TEST_F(WaitsThatAreLeft, ByAnExceptionInAHandler) {
    by(way::throws);
}
TEST_F(WaitsThatAreLeft, ByAsynchronousCancellation) {
    by(way::cancel_asynchronously);
}
TEST_F(WaitsThatAreLeft, ByCancellation) {
    by(way::cancel);
}

} // namespace
} // namespace holdfast::test
