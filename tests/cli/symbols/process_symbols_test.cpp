// SPDX-License-Identifier: MIT OR Apache-2.0
// Names of addresses in this very process.
//
// Shown able to fail: without the segments' sizes in memory (NamesStaticData, which is in .bss); with the file's offset
// in place of the address (NamesStaticData); without sorting (NamesPartsOfObjects); without demangling (NamesAre…);
// without the end of a symbol (NamesThePlace…); without functions (NamesFunctions); by paths alone (…NotThereAnyMore).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/symbols/process_symbols.hpp"

extern "C" {
pthread_mutex_t zeroed_lock_of_test;
struct {
    std::uint64_t first;
    pthread_mutex_t second;
} initialised_object_of_test = {1, PTHREAD_MUTEX_INITIALIZER};
void function_of_test() {}
extern void _fini(void); // the linker's; its symbol has no size
}

namespace holdfast::cli {

int overloaded_function_of_test(int number) {
    return number;
}

namespace {

template <typename T>
std::string name_of(T *at) {
    return process_symbols(getpid()).name_of(reinterpret_cast<std::uintptr_t>(at));
}

TEST(process_symbols, NamesStaticData) {
    EXPECT_EQ(name_of(&zeroed_lock_of_test), "zeroed_lock_of_test");
    EXPECT_EQ(name_of(&initialised_object_of_test), "initialised_object_of_test");
}

TEST(process_symbols, NamesPartsOfObjects) {
    EXPECT_EQ(name_of(&initialised_object_of_test.second), "initialised_object_of_test+0x8");
}

TEST(process_symbols, NamesFunctions) {
    EXPECT_EQ(name_of(&function_of_test), "function_of_test");
}

TEST(process_symbols, NamesAreAsInTheSource) {
    EXPECT_EQ(name_of(&overloaded_function_of_test), "holdfast::cli::overloaded_function_of_test(int)");
}

TEST(process_symbols, NamesThePlaceInTheFileOfWhatLiesInNoSymbol) {
    EXPECT_EQ(name_of(reinterpret_cast<char *>(&_fini) + 1).find("cli_symbols_process_symbols_test+0x"), 0u);
}

// As /proc/PID/map_files leads to it, for a process that may follow.
TEST(process_symbols, NamesWhatIsInAFileThatIsNotThereAnyMore) {
    std::string path = testing::TempDir() + "/process_symbols_test.XXXXXX";
    close(mkstemp(path.data()));
    std::filesystem::copy_file("/proc/self/exe", path, std::filesystem::copy_options::overwrite_existing);
    std::size_t bytes = (std::filesystem::file_size(path) + 4095) / 4096 * 4096;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    void *copy = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    std::filesystem::remove(path);
    Dl_info own{};
    ASSERT_NE(dladdr(reinterpret_cast<void *>(&function_of_test), &own), 0);
    std::string name = name_of(static_cast<char *>(copy) + (reinterpret_cast<std::uintptr_t>(&function_of_test) -
                                                            reinterpret_cast<std::uintptr_t>(own.dli_fbase)));
    auto from = reinterpret_cast<std::uintptr_t>(copy);
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/map_files/%lx-%lx", from, from + bytes);
    int itself = open(link, O_PATH | O_CLOEXEC);
    munmap(copy, bytes);
    if (itself < 0)
        GTEST_SKIP() << "needs the right to open what is mapped";
    close(itself);
    EXPECT_EQ(name, "function_of_test");
}

TEST(process_symbols, NamesMemoryThatNoFileIsBehind) {
    int local = 0;
    void *own = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_EQ(name_of(&local).front(), '[');
    EXPECT_EQ(name_of(static_cast<char *>(own)).front(), '[');
    munmap(own, 4096);
}

TEST(process_symbols, NamesNothingThatIsNotThere) {
    EXPECT_EQ(process_symbols(getpid()).name_of(16), "");
    EXPECT_EQ(process_symbols(-1).name_of(reinterpret_cast<std::uintptr_t>(&function_of_test)), "");
}

} // namespace
} // namespace holdfast::cli
