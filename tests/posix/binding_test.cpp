// SPDX-License-Identifier: MIT OR Apache-2.0
// Libraries that a program loads while it runs, and that reach glibc's functions past an interposer
// (preload/deepbind.c).
//
// Shown able to fail: dlopen called instead of jumped to (its caller's RUNPATH is not looked through); one of the other
// names not exported.
// New objects that stay Holdfast's: ALibraryThatIsBoundToGlibcSharesWhatIsMadeLater hangs.
#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <thread>

namespace {

constexpr const char *plugin = "libbinding_plugin.so"; // in this program's RUNPATH, and nowhere else

template <typename Function>
Function *find(void *library, const char *name) {
    Function *function = nullptr;
    *reinterpret_cast<void **>(&function) = dlsym(library, name);
    EXPECT_NE(function, nullptr) << name;
    return function;
}

TEST(binding, LibrariesAreLookedForWhereTheirLoaderSays) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_EQ(dlclose(library), 0);
    EXPECT_EQ(dlopen("libbinding_nowhere.so", RTLD_NOW), nullptr);
    EXPECT_NE(std::string(dlerror()).find("libbinding_nowhere.so"), std::string::npos);
    void *again = dlmopen(LM_ID_BASE, plugin, RTLD_NOW);
    ASSERT_NE(again, nullptr) << dlerror();
    EXPECT_EQ(dlclose(again), 0);
}

// One side takes the mutex by the functions that the program has, the other one by glibc's.
TEST(binding, ALibraryThatIsBoundToGlibcSharesMutexes) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_NE(std::string(find<const char *()>(library, "binding_plugin_finds_lock_in")()).find("libc.so"),
              std::string::npos)
        << "else this tests nothing";
    auto *count = find<void(pthread_mutex_t *, long *, int)>(library, "binding_plugin_count");
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    long value = 0;
    constexpr int times = 300'000;
    std::thread bound_to_glibc([&] { count(&mutex, &value, times); });
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&mutex);
        ++value;
        pthread_mutex_unlock(&mutex);
    }
    bound_to_glibc.join();
    EXPECT_EQ(value, 2L * times);
    EXPECT_EQ(pthread_mutex_destroy(&mutex), 0);
}

// What is made after such a library was loaded: each side waits for the other, both ways.
TEST(binding, ALibraryThatIsBoundToGlibcSharesWhatIsMadeLater) {
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(library, nullptr) << dlerror();
    auto *wait_for = find<int(int *, pthread_mutex_t *, pthread_cond_t *)>(library, "binding_plugin_wait_for");
    auto *hold =
        find<void(pthread_rwlock_t *, pthread_barrier_t *, pthread_barrier_t *)>(library, "binding_plugin_hold");
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond;
    ASSERT_EQ(pthread_cond_init(&cond, nullptr), 0);
    int value = 0, error = -1;
    std::thread waiter([&] { error = wait_for(&value, &mutex, &cond); });
    pthread_mutex_lock(&mutex);
    while (value == 0)
        pthread_cond_wait(&cond, &mutex);
    value = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&mutex);
    waiter.join();
    EXPECT_EQ(error, 0) << "it was not woken";
    EXPECT_EQ(pthread_cond_destroy(&cond), 0);

    pthread_rwlock_t rwlock;
    pthread_barrier_t begins, ends;
    ASSERT_EQ(pthread_rwlock_init(&rwlock, nullptr), 0);
    ASSERT_EQ(pthread_barrier_init(&begins, nullptr, 2), 0);
    ASSERT_EQ(pthread_barrier_init(&ends, nullptr, 2), 0);
    std::thread holder([&] { hold(&rwlock, &begins, &ends); });
    pthread_barrier_wait(&begins);
    EXPECT_EQ(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
    pthread_barrier_wait(&ends);
    EXPECT_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    holder.join();
    EXPECT_EQ(pthread_rwlock_unlock(&rwlock), 0);
    EXPECT_EQ(pthread_rwlock_destroy(&rwlock), 0);
    pthread_barrier_destroy(&begins);
    pthread_barrier_destroy(&ends);
}

std::string library_of(const char *function) {
    void *address = dlvsym(RTLD_DEFAULT, function, "GLIBC_2.2.5");
    Dl_info where{};
    return address && dladdr(address, &where) ? where.dli_fname : std::string("nowhere: ") + function;
}

TEST(binding, OtherNamesLeadToTheSameLibrary) {
    for (const char *function : {"mutex_destroy", "mutex_init", "mutex_lock", "mutex_trylock", "mutex_unlock"}) {
        std::string name = std::string("pthread_") + function;
        EXPECT_EQ(library_of(("__" + name).c_str()), library_of(name.c_str()));
    }
}

} // namespace
