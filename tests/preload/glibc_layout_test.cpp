// SPDX-License-Identifier: MIT OR Apache-2.0
// Whether objects of a C library have room for Holdfast's: of the one that runs, of older and newer ones, and of ones
// that nobody has made yet.
//
// Shown able to fail: attributes looked for in bytes 24 to 31 only, or in 32 to 39; a look that does not ask whether
// the list's bytes are zero; barriers, reader-writer locks and spinlocks that always fit; mutexes that are not locked
// to see how that looks; functions that are for old programs only.
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "preload/glibc_layout.h"
#include "preload/libc_function.h"

namespace holdfast::test {
namespace {

hf_makers glibcs() {
    hf_makers makers{};
#define HF_MAKER(result, name, ...) makers.name = pthread_##name;
#include "preload/object_makers.def"
#undef HF_MAKER
    return makers;
}

constexpr std::size_t list_bytes = 24; // preload/cond_layout.h

// A C library that keeps a condition variable's attributes elsewhere, in other bits, or that has something besides.
struct {
    std::size_t at = 0;
    unsigned shift = 0;
    std::size_t busy_word = sizeof(pthread_cond_t);
} other;

int make_other_cond(pthread_cond_t *cond, const pthread_condattr_t *attributes) {
    int shared = 0;
    clockid_t clock = 0;
    pthread_condattr_getpshared(attributes, &shared);
    pthread_condattr_getclock(attributes, &clock);
    std::uint32_t words[sizeof(*cond) / sizeof(std::uint32_t)] = {};
    words[other.at / 4] = ((shared ? 1u : 0u) | (clock == CLOCK_MONOTONIC ? 2u : 0u)) << other.shift;
    if (other.busy_word < sizeof(*cond))
        words[other.busy_word / 4] |= 1;
    std::memcpy(cond, words, sizeof(*cond));
    return 0;
}

bool other_cond_fits(std::size_t at, unsigned shift = 0, std::size_t busy_word = sizeof(pthread_cond_t)) {
    other = {at, shift, busy_word};
    hf_makers makers = glibcs();
    makers.cond_init = make_other_cond;
    return hf_layout_fits(HF_OBJECT_COND, &makers);
}

template <typename Object>
void move_word(Object *object, std::size_t from, std::size_t to) {
    auto *bytes = reinterpret_cast<char *>(object);
    std::uint32_t word = 0, none = 0;
    std::memcpy(&word, bytes + from, 4);
    std::memcpy(bytes + from, &none, 4);
    std::memcpy(bytes + to, &word, 4);
}

TEST(object_layout, fits_in_the_c_library_that_runs) {
    for (int object = 0; object < HF_OBJECTS; object++)
        EXPECT_TRUE(hf_object_fits(static_cast<hf_object>(object))) << object;
}

TEST(object_layout, condition_variables_of_each_known_glibc_fit) {
    EXPECT_TRUE(other_cond_fits(36)); // 2.25 to 2.40
    EXPECT_TRUE(other_cond_fits(28)); // 2.41 on
}

TEST(object_layout, attributes_are_seen_wherever_the_list_is_not) {
    for (std::size_t at = list_bytes; at < sizeof(pthread_cond_t); at += 4)
        EXPECT_TRUE(other_cond_fits(at)) << at;
    for (std::size_t at = 0; at < list_bytes; at += 4)
        EXPECT_FALSE(other_cond_fits(at)) << at;
}

TEST(object_layout, other_bits_or_words_that_are_not_zero_do_not_fit) {
    EXPECT_FALSE(other_cond_fits(28, 1));
    EXPECT_FALSE(other_cond_fits(28, 3));
    for (std::size_t busy = 0; busy < sizeof(pthread_cond_t); busy += 4)
        EXPECT_FALSE(other_cond_fits(36, 0, busy)) << busy;
}

TEST(object_layout, other_reader_writer_locks_do_not_fit) {
    hf_makers makers = glibcs();
    makers.rwlock_init = [](pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
        int error = pthread_rwlock_init(lock, attributes);
        move_word(lock, 28, 32);
        return error;
    };
    EXPECT_FALSE(hf_layout_fits(HF_OBJECT_RWLOCK, &makers));
    makers.rwlock_init = [](pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes) {
        int error = pthread_rwlock_init(lock, attributes);
        move_word(lock, 48, 52);
        return error;
    };
    EXPECT_FALSE(hf_layout_fits(HF_OBJECT_RWLOCK, &makers));
}

TEST(object_layout, other_barriers_do_not_fit) {
    hf_makers makers = glibcs();
    makers.barrier_init = [](pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes, unsigned count) {
        int error = pthread_barrier_init(barrier, attributes, count);
        move_word(barrier, 8, 20);
        return error;
    };
    EXPECT_FALSE(hf_layout_fits(HF_OBJECT_BARRIER, &makers));
}

TEST(object_layout, other_spinlocks_do_not_fit) {
    hf_makers makers = glibcs();
    makers.spin_init = [](pthread_spinlock_t *spin, int) { return *spin = 7, 0; };
    EXPECT_FALSE(hf_layout_fits(HF_OBJECT_SPIN, &makers));
}

TEST(object_layout, other_mutexes_do_not_fit) {
    hf_makers makers = glibcs();
    makers.mutex_init = [](pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes) {
        int error = pthread_mutex_init(mutex, attributes);
        move_word(mutex, 16, 20);
        return error;
    };
    EXPECT_FALSE(hf_layout_fits(HF_OBJECT_MUTEX, &makers));
    makers = glibcs();
    makers.mutex_lock = [](pthread_mutex_t *mutex) { return ++mutex->__data.__owner, 0; };
    makers.mutex_unlock = [](pthread_mutex_t *mutex) { return --mutex->__data.__owner, 0; };
    EXPECT_FALSE(hf_layout_fits(HF_OBJECT_MUTEX, &makers));
}

TEST(object_layout, what_can_not_be_made_does_not_fit) {
    hf_makers none{};
    for (int object = 0; object < HF_OBJECTS; object++)
        EXPECT_FALSE(hf_layout_fits(static_cast<hf_object>(object), &none)) << object;
}

TEST(libc_function, is_what_the_dynamic_linker_would_give) {
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_NE(libc, nullptr);
    for (const char *name : {"pthread_cond_init", "pthread_mutex_lock", "pthread_spin_init", "gnu_get_libc_version"})
        EXPECT_EQ(hf_libc_function(name), dlsym(libc, name)) << name;
    dlclose(libc);
}

TEST(libc_function, is_none_that_is_not_there) {
    EXPECT_EQ(hf_libc_function("pthread_cond_ini"), nullptr);
    EXPECT_EQ(hf_libc_function("holdfast_has_no_such_function"), nullptr);
    EXPECT_EQ(hf_libc_function(""), nullptr);
    EXPECT_EQ(hf_libc_function("pthread_mutex_consistent_np"), nullptr); // for old programs only
}

} // namespace
} // namespace holdfast::test
