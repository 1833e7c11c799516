// SPDX-License-Identifier: MIT OR Apache-2.0
// Rules for single mutexes, by the symbols of this program. It runs with the HOLDFAST_CONF that
// tests/posix/CMakeLists.txt gives, and skips itself without: what a mutex is, it sees in the mutex
// (src/preload/mutex_layout.h).
//
// Shown able to fail: add_place that does not look at a variable's size, or adds no offset; hf_lock_rules_mark that
// does nothing, or marks glibc's mutexes; search_image that prefers what is exported; may_be_meant that does not look
// at is_writable, or takes larger variables; find_place that marks the last of several; choice_for without inactive_ms
// (SaysWhenAClassIsInactive).
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include "lock/scl/slices.h"
#include "threads_and_processes.hpp"

namespace {

// Not exported: found in the symbol table only.
[[gnu::used]] pthread_mutex_t rule_test_static = PTHREAD_MUTEX_INITIALIZER;

} // namespace

extern "C" {
struct {
    long before[2];
    pthread_mutex_t mutex;
} rule_test_struct;
pthread_mutex_t rule_test_unnamed = PTHREAD_MUTEX_INITIALIZER;
char rule_test_too_small[sizeof(pthread_mutex_t) - 8];
pthread_mutex_t rule_test_plain = PTHREAD_MUTEX_INITIALIZER;
// Variables that are no mutexes, and could be by their size.
extern const char rule_test_constant[sizeof(pthread_mutex_t)];
alignas(pthread_mutex_t) const char rule_test_constant[sizeof(pthread_mutex_t)] = {};
alignas(pthread_mutex_t) char rule_test_too_large[sizeof(pthread_mutex_t) + 8];
// Another one of that name is in rule_test_twice.c.
[[gnu::used]] static pthread_mutex_t rule_test_twice __asm__("rule_test_twice") = PTHREAD_MUTEX_INITIALIZER;
const char *rule_test_other_twice(void);

[[gnu::noinline]] int rule_test_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
    int error = pthread_mutex_init(mutex, attributes);
    asm volatile(""); // not a tail call, which would return to the caller
    return error;
}
}

namespace holdfast::test {
namespace {

class rule : public testing::Test {
protected:
    void SetUp() override {
        const char *conf = std::getenv("HOLDFAST_CONF");
        if (!conf || !std::strstr(conf, "rule_test_"))
            GTEST_SKIP() << "no rules";
    }
    static int number(const pthread_mutex_t &mutex) { return mutex.__data.__kind >> 20; }

    static void use(pthread_mutex_t &mutex) {
        long count = 0;
        team all(4, [&](int) {
            for (int i = 0; i < 2000; i++) {
                pthread_mutex_lock(&mutex);
                count++;
                pthread_mutex_unlock(&mutex);
            }
        });
        all.join();
        EXPECT_EQ(count, 4 * 2000);
        ASSERT_EQ(pthread_mutex_trylock(&mutex), 0);
        EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
        EXPECT_EQ(pthread_mutex_unlock(&mutex), 0);
    }
};

TEST_F(rule, FindsVariables) {
    EXPECT_EQ(number(rule_test_static), 1);
    EXPECT_EQ(number(rule_test_struct.mutex), 2);
    EXPECT_EQ(number(rule_test_unnamed), 0);
    EXPECT_EQ(number(rule_test_plain), 3);
    for (char byte : rule_test_too_small)
        EXPECT_EQ(byte, 0) << "no mutex has room there";
    for (pthread_mutex_t *mutex : {&rule_test_static, &rule_test_struct.mutex, &rule_test_unnamed, &rule_test_plain})
        use(*mutex);
}

TEST_F(rule, WritesIntoNoVariableThatMayBeSomethingElse) {
    for (char byte : rule_test_constant) // and the program was not ended by a write there
        EXPECT_EQ(byte, 0);
    for (char byte : rule_test_too_large)
        EXPECT_EQ(byte, 0);
    EXPECT_EQ(number(rule_test_twice), 0);
    for (unsigned i = 0; i < sizeof(pthread_mutex_t); i++)
        EXPECT_EQ(rule_test_other_twice()[i], 0) << i;
    ASSERT_EQ(pthread_mutex_init(&rule_test_twice, nullptr), 0);
    EXPECT_EQ(number(rule_test_twice), 9) << "its initialisation shows that it is one";
    use(rule_test_twice);
}

TEST_F(rule, IsKeptWhenAVariableIsInitialisedAgain) {
    ASSERT_EQ(pthread_mutex_destroy(&rule_test_struct.mutex), 0);
    ASSERT_EQ(pthread_mutex_init(&rule_test_struct.mutex, nullptr), 0);
    EXPECT_EQ(number(rule_test_struct.mutex), 2);
    use(rule_test_struct.mutex);
}

TEST_F(rule, FindsCallsOfInitInAFunction) {
    pthread_mutex_t in_function, outside;
    ASSERT_EQ(rule_test_init(&in_function, nullptr), 0);
    ASSERT_EQ(pthread_mutex_init(&outside, nullptr), 0);
    EXPECT_EQ(number(in_function), 5);
    EXPECT_EQ(number(outside), 0);
    use(in_function);
    use(outside);
    EXPECT_EQ(pthread_mutex_destroy(&in_function), 0);
    EXPECT_EQ(pthread_mutex_destroy(&outside), 0);
}

TEST_F(rule, SaysWhenAClassIsInactive) {
    ASSERT_EQ(pthread_mutex_lock(&rule_test_static), 0);
    team other;
    other.add([] {
        EXPECT_EQ(pthread_mutex_lock(&rule_test_static), 0);
        EXPECT_EQ(pthread_mutex_unlock(&rule_test_static), 0);
    });
    auto *slices = reinterpret_cast<hf_slices **>(&rule_test_static.__data.__list.__next);
    EXPECT_TRUE(eventually([&] { return hf_load_acquire(slices) != nullptr; }));
    EXPECT_EQ(pthread_mutex_unlock(&rule_test_static), 0);
    other.join();
    ASSERT_NE(*slices, nullptr);
    EXPECT_EQ((*slices)->inactive_ms, 20u);
}

TEST_F(rule, LeavesGlibcsMutexesAlone) {
    pthread_mutexattr_t attributes;
    ASSERT_EQ(pthread_mutexattr_init(&attributes), 0);
    ASSERT_EQ(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
    pthread_mutex_t robust;
    ASSERT_EQ(rule_test_init(&robust, &attributes), 0);
    EXPECT_EQ(number(robust), 0);
    EXPECT_EQ(pthread_mutex_destroy(&robust), 0);
}

TEST_F(rule, KeepsTheTypeOfAMutex) {
    pthread_mutexattr_t attributes;
    ASSERT_EQ(pthread_mutexattr_init(&attributes), 0);
    ASSERT_EQ(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE), 0);
    pthread_mutex_t recursive;
    ASSERT_EQ(rule_test_init(&recursive, &attributes), 0);
    EXPECT_EQ(number(recursive), 5);
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(pthread_mutex_lock(&recursive), 0);
    in_thread([&] { EXPECT_EQ(pthread_mutex_trylock(&recursive), EBUSY); });
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(pthread_mutex_unlock(&recursive), 0);
    EXPECT_EQ(pthread_mutex_unlock(&recursive), EPERM);
    EXPECT_EQ(pthread_mutex_destroy(&recursive), 0);
}

} // namespace
} // namespace holdfast::test
