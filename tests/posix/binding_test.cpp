// SPDX-License-Identifier: MIT OR Apache-2.0
// Libraries that a program loads while it runs, and that reach glibc's functions past an interposer
// (preload/binding.c).
//
// Shown able to fail: dlopen called instead of jumped to (its caller's RUNPATH is not looked through); one of the other
// names not exported.
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
