// SPDX-License-Identifier: MIT OR Apache-2.0
// Names of addresses in this very process.
//
// Shown able to fail: without the segments' sizes in memory (NamesStaticData, which is in .bss); with the file's offset
// in place of the address (NamesStaticData); without sorting (NamesPartsOfObjects); without demangling (NamesAre…);
// without the end of a symbol (NamesThePlace…); without functions (NamesFunctions).
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/process_symbols.hpp"

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
    EXPECT_EQ(name_of(reinterpret_cast<char *>(&_fini) + 1).find("cli_process_symbols_test+0x"), 0u);
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
