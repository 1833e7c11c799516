// SPDX-License-Identifier: MIT OR Apache-2.0
// Which walks over stacks are taken for one that was made before. Made-up stacks, and this process's own, whose walks
// are compared with those of an unwinder that has seen nothing yet.
//
// Shown able to fail, each by the test that says so: is_same() that is always true for code, for data, for the stack;
// would_be() without the registers, without bytes_at_most.
#include "cli/symbols/stack_walks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <pthread.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>

#include "cli/symbols/unwinder.hpp"

namespace holdfast::cli {
namespace {

using addresses = std::vector<std::uint64_t>;

constexpr std::uint64_t some_stack = 0x7f0000001000, other_stack = 0x7f5500003800, some_code = 0x400010;

bool is_some_code(std::uint64_t address) {
    return address >= 0x400000 && address < 0x500000;
}

// A return address, a caller's data, the caller's frame, its return address.
hf_stack stack_at(std::uint64_t from, std::uint64_t data = 7) {
    hf_stack stack{};
    stack.known = 0b11;
    stack.registers[0] = from;
    stack.registers[1] = data;
    stack.instruction = some_code;
    stack.from = from;
    stack.bytes = 1024;
    std::array<std::uint64_t, 4> words = {some_code + 1, data, from + 512, some_code + 2};
    std::memcpy(stack.content, words.data(), sizeof(words));
    return stack;
}

void put(hf_stack &stack, std::size_t place, std::uint64_t value) {
    std::memcpy(stack.content + place * sizeof(value), &value, sizeof(value));
}

class kept_walk : public testing::Test {
protected:
    kept_walk() {
        hf_stack stack = stack_at(some_stack);
        walks_.keep(stack, {some_stack, some_stack + 8, some_stack + 16, some_stack + 24, some_stack + 8}, found_);
    }
    bool is_known(const hf_stack &stack) const {
        const addresses *known = walks_.known(stack);
        return known && *known == found_;
    }

    const addresses found_ = {some_code, some_code + 1, some_code + 2};
    stack_walks walks_{is_some_code};
};

TEST_F(kept_walk, IsThatOfAnotherThreadAtTheSamePlace) {
    EXPECT_TRUE(is_known(stack_at(some_stack)));
    EXPECT_TRUE(is_known(stack_at(other_stack)));
    EXPECT_TRUE(is_known(stack_at(other_stack, 0x5555deadbeef)));
}

TEST_F(kept_walk, IsNotThatOfAnotherCaller) {
    hf_stack stack = stack_at(other_stack);
    put(stack, 3, some_code + 3);
    EXPECT_FALSE(is_known(stack));
    stack = stack_at(other_stack);
    stack.instruction++;
    EXPECT_FALSE(is_known(stack));
}

TEST_F(kept_walk, IsNotThatOfAFrameElsewhere) {
    hf_stack stack = stack_at(other_stack);
    put(stack, 2, other_stack + 520);
    EXPECT_FALSE(is_known(stack));
}

TEST_F(kept_walk, IsNotThatOfDataThatMayBeMore) {
    for (std::uint64_t value : {some_code, other_stack + 100, other_stack - 100}) {
        hf_stack stack = stack_at(other_stack);
        put(stack, 1, value);
        EXPECT_FALSE(is_known(stack)) << value;
    }
}

TEST_F(kept_walk, IsNotThatOfOtherRegisters) {
    hf_stack stack = stack_at(other_stack);
    stack.registers[0] += 8;
    EXPECT_FALSE(is_known(stack));
    stack = stack_at(other_stack);
    stack.known = 0b111;
    EXPECT_FALSE(is_known(stack));
}

TEST_F(kept_walk, NeedsTheWordsThatItRead) {
    hf_stack stack = stack_at(other_stack);
    stack.bytes = 24;
    EXPECT_FALSE(is_known(stack));
    stack.bytes = 2048;
    EXPECT_TRUE(is_known(stack));
}

TEST(stack_walks, AWalkThatEndedWithTheCopyGoesOnInALongerOne) {
    stack_walks walks(is_some_code);
    walks.keep(stack_at(some_stack), {some_stack, some_stack + 1024}, {some_code});
    hf_stack stack = stack_at(other_stack);
    EXPECT_TRUE(walks.known(stack));
    stack.bytes = 1536;
    EXPECT_FALSE(walks.known(stack));
}

TEST(stack_walks, DoNotGrowWithoutEnd) {
    stack_walks walks(is_some_code);
    hf_stack stack = stack_at(some_stack);
    for (stack.instruction = 0; stack.instruction < 5000; stack.instruction++)
        walks.keep(stack, {some_stack}, {});
    EXPECT_LT(walks.count(), 1000U);
}

#ifdef __x86_64__
// This thread's, from here on.
[[gnu::noinline]] void copy_own_stack(hf_stack &stack) {
    ucontext_t context;
    getcontext(&context);
    constexpr std::array<int, 17> by_dwarf = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                              REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                              REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    stack = {};
    for (std::size_t i = 0; i < by_dwarf.size(); i++) {
        stack.known |= std::uint64_t{1} << i;
        stack.registers[i] = static_cast<std::uint64_t>(context.uc_mcontext.gregs[by_dwarf[i]]);
    }
    stack.instruction = stack.registers[16];
    stack.from = stack.registers[7];
    pthread_attr_t about;
    void *lowest = nullptr;
    std::size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &about);
    pthread_attr_getstack(&about, &lowest, &bytes);
    pthread_attr_destroy(&about);
    std::uint64_t left = reinterpret_cast<std::uint64_t>(lowest) + bytes - stack.from;
    stack.bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, sizeof(stack.content)));
    std::memcpy(stack.content, reinterpret_cast<const void *>(stack.from), stack.bytes);
}

// No loop can be made of these calls.
[[gnu::noinline]] int one_way(hf_stack &stack, int deep) {
    int (*volatile next)(hf_stack &, int) = one_way;
    if (deep == 0)
        copy_own_stack(stack);
    return deep == 0 ? 0 : next(stack, deep - 1) + 1;
}

[[gnu::noinline]] int other_way(hf_stack &stack, int deep) {
    volatile char room[256] = {};
    return one_way(stack, deep) + room[deep];
}

TEST(unwinder, FindsWithWalksThatItKnowsWhatItFindsWithout) {
    if (!unwinder::why_not().empty())
        GTEST_SKIP() << "stacks are not read";
    unwinder knows(getpid());
    hf_stack stack;
    for (int turn = 0; turn < 3; turn++) {
        for (int deep : {0, 1, 2, 7}) {
            for (auto way : {one_way, other_way}) {
                std::thread thread([&] { way(stack, deep); });
                thread.join();
                addresses found = knows.frames_of(stack);
                EXPECT_EQ(found, unwinder(getpid()).frames_of(stack)) << deep;
                EXPECT_GT(found.size(), static_cast<std::size_t>(deep));
            }
        }
    }
    EXPECT_LE(knows.walks_kept(), 12U) << "each of the ways about once, of 24";
}
#endif

} // namespace
} // namespace holdfast::cli
