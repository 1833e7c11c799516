// SPDX-License-Identifier: MIT OR Apache-2.0
// Rules for single reader-writer locks, by the symbols of this program and of a library that it is linked to
// (rwlock_rule_early.c). It runs with the HOLDFAST_CONF that tests/posix/CMakeLists.txt gives, and skips itself
// without. What a lock is, it sees in the lock (src/preload/rwlock_layout.h), and by its state while it is read.
//
// Shown able to fail: rules with a mutex's size (FindsVariables…), or for locks of either kind
// (OfALockThatWasUsedBefore…); without hf_rwlock_choose in pthread_rwlock_init (FindsCalls…, IsChosenAnew…); places
// that are found by the constructor alone (OfALockThatWasUsedBefore…); a choice for process-shared locks
// (LeavesOthersProcesses…); choices without their ratio (FindsVariables, FindsCalls…); one function that takes every
// lock for Holdfast's (EachFunctionChooses…).
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <shared_mutex>

#include "deadline.hpp"
#include "lock/scl/rwscl_table.h"
#include "threads_and_processes.hpp"

namespace {

// Not exported: found in the symbol table only.
[[gnu::used]] pthread_rwlock_t rwlock_rule_static = PTHREAD_RWLOCK_INITIALIZER;

} // namespace

extern "C" {
struct {
    long before[2];
    pthread_rwlock_t lock;
} rwlock_rule_struct;
pthread_rwlock_t rwlock_rule_unnamed = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t rwlock_rule_plain = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t rwlock_rule_ours = PTHREAD_RWLOCK_INITIALIZER;
pthread_rwlock_t rwlock_rule_prefers_writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
std::shared_mutex rwlock_rule_shared_mutex;
// Is not as large as a lock, and nobody says that one is in it.
struct {
    pthread_rwlock_t lock;
    long behind;
} rwlock_rule_large;
// Another one of that name is in rwlock_rule_early.c.
[[gnu::used]] static pthread_rwlock_t rwlock_rule_twice __asm__("rwlock_rule_twice") = PTHREAD_RWLOCK_INITIALIZER;
const char *rwlock_rule_other_twice(void);

extern pthread_rwlock_t rwlock_rule_early_variable, rwlock_rule_early_made;
extern int rwlock_rule_early_errors;

[[gnu::noinline]] int rwlock_rule_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
    int error = pthread_rwlock_init(lock, attributes);
    asm volatile(""); // not a tail call, which would return to the caller
    return error;
}
[[gnu::noinline]] int rwlock_rule_init_glibcs(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
    int error = pthread_rwlock_init(lock, attributes);
    asm volatile("");
    return error;
}
}

namespace holdfast::test {
namespace {

// Whose functions a lock is used by: a reader counts 8 in glibc's first word, 16 in Holdfast's, and nothing in
// RW-SCL's, which lies elsewhere.
enum class keeper { glibc, holdfast, slices };

std::ostream &operator<<(std::ostream &to, keeper who) {
    return to << (who == keeper::glibc ? "glibc" : who == keeper::holdfast ? "holdfast" : "slices");
}

// Of a lock that the caller alone reads, and nobody has written.
keeper keeper_of_read(const pthread_rwlock_t &lock) {
    std::uint32_t state;
    std::memcpy(&state, &lock, sizeof(state));
    unsigned readers = state & ~7u; // the rest tells who waits, or did
    return readers == 0 ? keeper::slices : readers == 16 ? keeper::holdfast : keeper::glibc;
}

keeper keeper_of(pthread_rwlock_t &lock) {
    EXPECT_EQ(pthread_rwlock_rdlock(&lock), 0);
    keeper found = keeper_of_read(lock);
    EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
    return found;
}

unsigned long rule_of(const pthread_rwlock_t &lock) {
    return lock.__data.__pad2;
}

const hf_rwscl_entry *entry_of(const pthread_rwlock_t &lock) {
    const hf_rwscl_entry *entry;
    // sliced of struct hf_rwlock. Between the two glibc has names that differ by architecture.
    constexpr std::size_t place = offsetof(__pthread_rwlock_arch_t, __shared) + sizeof(int);
    std::memcpy(&entry, reinterpret_cast<const char *>(&lock) + place, sizeof(entry));
    return entry;
}

const hf_rwscl_t &slices_of(const pthread_rwlock_t &lock) {
    return entry_of(lock)->lock;
}

// What a lock without a rule is: as HOLDFAST_CONF says first of all.
keeper usual() {
    std::string conf = std::getenv("HOLDFAST_CONF");
    return conf.starts_with("rwlock:glibc")    ? keeper::glibc
           : conf.starts_with("rwlock:rw-scl") ? keeper::slices
                                               : keeper::holdfast;
}

pthread_rwlock_t &lock_in(std::shared_mutex &mutex) {
    return *static_cast<pthread_rwlock_t *>(mutex.native_handle());
}

class rwlock_rule : public testing::Test {
protected:
    void SetUp() override {
        const char *conf = std::getenv("HOLDFAST_CONF");
        if (!conf || !std::strstr(conf, "rwlock_rule_"))
            GTEST_SKIP() << "no rules";
    }
};

// Writers are alone, readers see whole writes.
void use(pthread_rwlock_t &lock) {
    long count = 0, twin = 0;
    team all(4, [&](int member) {
        for (int i = 0; i < 2000; i++) {
            if (member % 2) {
                EXPECT_EQ(pthread_rwlock_wrlock(&lock), 0);
                count++;
                twin++;
            } else {
                EXPECT_EQ(pthread_rwlock_rdlock(&lock), 0);
                EXPECT_EQ(count, twin);
            }
            EXPECT_EQ(pthread_rwlock_unlock(&lock), 0);
        }
    });
    all.join();
    EXPECT_EQ(count, 2 * 2000);
}

TEST_F(rwlock_rule, FindsVariables) {
    const struct {
        pthread_rwlock_t &lock;
        keeper who;
        unsigned long rule;
    } expected[] = {
        {rwlock_rule_static, keeper::slices, 1},
        {rwlock_rule_struct.lock, keeper::slices, 2},
        {rwlock_rule_plain, keeper::glibc, 3},
        {rwlock_rule_ours, keeper::holdfast, 4},
        {lock_in(rwlock_rule_shared_mutex), keeper::slices, 6},
        {rwlock_rule_unnamed, usual(), 0},
        {rwlock_rule_large.lock, usual(), 0},
    };
    for (const auto &[lock, who, rule] : expected) {
        EXPECT_EQ(rule_of(lock), 0u) << "nothing is written before it is used";
        EXPECT_EQ(keeper_of(lock), who) << rule;
        EXPECT_EQ(rule_of(lock), 1 + rule);
        use(lock);
        EXPECT_EQ(rule_of(lock), 1 + rule);
    }
    EXPECT_EQ(slices_of(rwlock_rule_static).weights, 9u << 16 | 1);
    EXPECT_EQ(slices_of(rwlock_rule_static).slice, 501u);
    EXPECT_EQ(slices_of(rwlock_rule_struct.lock).weights, 0u) << "as ever, whatever others are";
}

TEST_F(rwlock_rule, ReachesCxxLocks) {
    long count = 0;
    team all(4, [&](int member) {
        for (int i = 0; i < 2000; i++) {
            if (member % 2) {
                std::unique_lock writes(rwlock_rule_shared_mutex);
                count++;
            } else {
                std::shared_lock reads(rwlock_rule_shared_mutex);
                EXPECT_GE(count, 0);
            }
        }
    });
    all.join();
    EXPECT_EQ(count, 2 * 2000);
    EXPECT_EQ(keeper_of(lock_in(rwlock_rule_shared_mutex)), keeper::slices);
    EXPECT_EQ(slices_of(lock_in(rwlock_rule_shared_mutex)).weights, 4u << 16 | 1);
}

// Of two variables of that name the one that is used as a lock shows that it is one. The other one is let alone.
TEST_F(rwlock_rule, WritesIntoNoVariableThatMayBeSomethingElse) {
    EXPECT_EQ(keeper_of(rwlock_rule_twice), keeper::slices);
    for (unsigned i = 0; i < sizeof(pthread_rwlock_t); i++)
        EXPECT_EQ(rwlock_rule_other_twice()[i], 0) << i;
}

TEST_F(rwlock_rule, FindsCallsOfInitInAFunction) {
    pthread_rwlock_t in_function, outside;
    ASSERT_EQ(rwlock_rule_init(&in_function, nullptr), 0);
    ASSERT_EQ(pthread_rwlock_init(&outside, nullptr), 0);
    EXPECT_EQ(rule_of(in_function), 6u);
    EXPECT_EQ(rule_of(outside), 1u);
    EXPECT_EQ(keeper_of(in_function), keeper::slices);
    EXPECT_EQ(slices_of(in_function).weights, 3u << 16 | 1);
    EXPECT_EQ(keeper_of(outside), usual());
    use(in_function);
    use(outside);
    EXPECT_EQ(pthread_rwlock_destroy(&in_function), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&outside), 0);
    EXPECT_EQ(entry_of(in_function), nullptr) << "it is given back";
}

// As each in turn, destroyed before or not (nothing happens to a lock that is not used any more).
TEST_F(rwlock_rule, IsChosenAnewWhenALockIsInitialisedAgain) {
    pthread_rwlock_t lock;
    for (int round = 0; round < 6; round++) {
        ASSERT_EQ(rwlock_rule_init(&lock, nullptr), 0);
        EXPECT_EQ(keeper_of(lock), keeper::slices);
        use(lock);
        if (round % 2) {
            EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
        }
        ASSERT_EQ(rwlock_rule_init_glibcs(&lock, nullptr), 0);
        EXPECT_EQ(keeper_of(lock), keeper::glibc);
        use(lock);
        if (round % 2) {
            EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
        }
        ASSERT_EQ(pthread_rwlock_init(&lock, nullptr), 0);
        EXPECT_EQ(keeper_of(lock), usual());
        if (round % 2) {
            EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
        }
        lock = PTHREAD_RWLOCK_INITIALIZER;
        EXPECT_EQ(keeper_of(lock), usual());
    }
    EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
}

TEST_F(rwlock_rule, IsKeptWhenAVariableIsInitialisedAgain) {
    EXPECT_EQ(keeper_of(rwlock_rule_struct.lock), keeper::slices);
    ASSERT_EQ(pthread_rwlock_destroy(&rwlock_rule_struct.lock), 0);
    ASSERT_EQ(pthread_rwlock_init(&rwlock_rule_struct.lock, nullptr), 0);
    EXPECT_EQ(keeper_of(rwlock_rule_struct.lock), keeper::slices);
    rwlock_rule_struct.lock = PTHREAD_RWLOCK_INITIALIZER;
    EXPECT_EQ(keeper_of(rwlock_rule_struct.lock), keeper::slices);
    use(rwlock_rule_struct.lock);
}

// A destructor after an open that failed, say: glibc's destroy looks at nothing. Shown able to fail: a table that takes
// the entry from the object (crashes).
TEST_F(rwlock_rule, MemoryThatNobodyInitialisedMayBeDestroyed) {
    pthread_rwlock_t lock;
    for (int garbage : {0xaa, 0xff, 0x01}) {
        std::memset(static_cast<void *>(&lock), garbage, sizeof(lock));
        lock.__data.__shared = 0;
        EXPECT_EQ(pthread_rwlock_destroy(&lock), 0);
    }
}

TEST_F(rwlock_rule, LeavesOthersProcessesLocksToGlibc) {
    pthread_rwlockattr_t attributes;
    ASSERT_EQ(pthread_rwlockattr_init(&attributes), 0);
    ASSERT_EQ(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    shared_with_children<pthread_rwlock_t> lock;
    ASSERT_EQ(rwlock_rule_init(&*lock, &attributes), 0);
    EXPECT_EQ(rule_of(*lock), 0u);
    EXPECT_EQ(keeper_of(*lock), keeper::glibc);
    ASSERT_EQ(pthread_rwlock_wrlock(&*lock), 0);
    child_process child([&] {
        return pthread_rwlock_tryrdlock(&*lock) == EBUSY && pthread_rwlock_rdlock(&*lock) == 0 &&
               pthread_rwlock_unlock(&*lock) == 0;
    });
    a_short_while();
    EXPECT_EQ(pthread_rwlock_unlock(&*lock), 0);
    EXPECT_TRUE(child.succeeds());
    EXPECT_EQ(pthread_rwlock_destroy(&*lock), 0);
}

TEST_F(rwlock_rule, OfALockThatPrefersWritersIsNoSlices) {
    EXPECT_EQ(keeper_of(rwlock_rule_prefers_writers), keeper::holdfast);
    use(rwlock_rule_prefers_writers);
}

// Two locks were used before Holdfast's constructor ran, and are still held as they were then.
TEST_F(rwlock_rule, OfALockThatWasUsedBeforeAnyConstructorOfOurs) {
    EXPECT_EQ(rwlock_rule_early_errors, 0);
    EXPECT_EQ(keeper_of_read(rwlock_rule_early_variable), keeper::slices);
    EXPECT_EQ(rule_of(rwlock_rule_early_variable), 1u + 9);
    EXPECT_EQ(rule_of(rwlock_rule_early_made), 1u + 11) << "10 is of the same library's mutexes";
    in_thread([] {
        EXPECT_EQ(pthread_rwlock_trywrlock(&rwlock_rule_early_variable), EBUSY);
        EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock_rule_early_made), EBUSY);
    });
    EXPECT_EQ(pthread_rwlock_unlock(&rwlock_rule_early_variable), 0);
    EXPECT_EQ(pthread_rwlock_unlock(&rwlock_rule_early_made), 0);
    EXPECT_EQ(keeper_of(rwlock_rule_early_made), keeper::glibc);
    use(rwlock_rule_early_variable);
    use(rwlock_rule_early_made);
}

// All ways to take a lock.
struct way {
    const char *name;
    bool writes;
    std::function<int(pthread_rwlock_t *)> take;
};
// With a deadline that never comes.
auto timed(int (*take)(pthread_rwlock_t *, const timespec *)) {
    return [take](pthread_rwlock_t *lock) {
        timespec at = from_now(CLOCK_REALTIME, 60'000);
        return take(lock, &at);
    };
}
auto clocked(int (*take)(pthread_rwlock_t *, clockid_t, const timespec *)) {
    return [take](pthread_rwlock_t *lock) {
        timespec at = from_now(CLOCK_MONOTONIC, 60'000);
        return take(lock, CLOCK_MONOTONIC, &at);
    };
}
const way ways[] = {
    {"rdlock", false, pthread_rwlock_rdlock},
    {"tryrdlock", false, pthread_rwlock_tryrdlock},
    {"timedrdlock", false, timed(pthread_rwlock_timedrdlock)},
    {"clockrdlock", false, clocked(pthread_rwlock_clockrdlock)},
    {"wrlock", true, pthread_rwlock_wrlock},
    {"trywrlock", true, pthread_rwlock_trywrlock},
    {"timedwrlock", true, timed(pthread_rwlock_timedwrlock)},
    {"clockwrlock", true, clocked(pthread_rwlock_clockwrlock)},
};

// Whichever function comes first, all the others choose as it did.
TEST_F(rwlock_rule, EachFunctionChoosesByTheLock) {
    pthread_rwlock_t made_slices, made_glibcs;
    pthread_rwlock_t *locks[] = {&rwlock_rule_static,  &rwlock_rule_plain, &rwlock_rule_ours,
                                 &rwlock_rule_unnamed, &made_slices,       &made_glibcs};
    for (const way &first : ways)
        for (const way &then : ways)
            for (pthread_rwlock_t *lock : locks) {
                *lock = PTHREAD_RWLOCK_INITIALIZER; // as if it had never been used
                if (lock == &made_slices) {
                    ASSERT_EQ(rwlock_rule_init(lock, nullptr), 0);
                } else if (lock == &made_glibcs) {
                    ASSERT_EQ(rwlock_rule_init_glibcs(lock, nullptr), 0);
                }
                ASSERT_EQ(first.take(lock), 0) << first.name;
                in_thread([&] {
                    int told = then.writes || first.writes ? EBUSY : 0;
                    EXPECT_EQ(then.writes ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock), told);
                    if (told == 0) {
                        EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
                    }
                });
                ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
                ASSERT_EQ(then.take(lock), 0) << first.name << ", then " << then.name;
                in_thread([&] { EXPECT_EQ(pthread_rwlock_trywrlock(lock), EBUSY); });
                ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
                ASSERT_EQ(pthread_rwlock_destroy(lock), 0);
            }
}

// Threads that use a lock for the first time together.
TEST_F(rwlock_rule, IsTheSameForThreadsThatComeFirstTogether) {
    for (int round = 0; round < 200; round++) {
        for (pthread_rwlock_t *lock : {&rwlock_rule_static, &rwlock_rule_plain, &rwlock_rule_unnamed}) {
            *lock = PTHREAD_RWLOCK_INITIALIZER;
            std::atomic<int> here = 0;
            long count = 0;
            team all(3, [&](int) {
                here++;
                while (here < 3)
                    std::this_thread::yield();
                EXPECT_EQ(pthread_rwlock_wrlock(lock), 0);
                count++;
                EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
            });
            all.join();
            EXPECT_EQ(count, 3);
            EXPECT_EQ(pthread_rwlock_destroy(lock), 0);
        }
    }
}

TEST_F(rwlock_rule, OfAForkedChildIsThatOfItsParent) {
    for (pthread_rwlock_t *lock : {&rwlock_rule_static, &rwlock_rule_plain, &rwlock_rule_ours}) {
        *lock = PTHREAD_RWLOCK_INITIALIZER;
        ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
        keeper who = keeper_of_read(*lock);
        child_process child([&] { return pthread_rwlock_unlock(lock) == 0 && keeper_of(*lock) == who; });
        EXPECT_TRUE(child.succeeds());
        EXPECT_EQ(pthread_rwlock_unlock(lock), 0);
        EXPECT_EQ(pthread_rwlock_destroy(lock), 0);
    }
}

} // namespace
} // namespace holdfast::test
