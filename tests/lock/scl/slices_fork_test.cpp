// SPDX-License-Identifier: MIT OR Apache-2.0
// A signal handler forks on each instruction on the way to a guard, and its child goes on from there: while the parent
// has another thread that holds the guard, which the child does not have.
//
// Shown able to fail: a hf_slices_lock that looks whether it is in a child before it blocks signals.
#include <csignal>
#include <cstdint>
#include <gtest/gtest.h>
#include <ucontext.h>
#include <unistd.h>

#include "lock/scl/slices_memory.h"
#include "park/word_lock.h"
#include "posix/threads_and_processes.hpp"

namespace holdfast::test {
namespace {

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

constexpr greg_t single_step = 0x100; // the trap flag

struct {
    hf_slices *slices;
    bool in_child;
    int steps;
    int failures;
} stepped;

// The next instruction is a system call: the one that blocks signals, after which this handler can't run.
bool is_at_end(const ucontext_t *context) {
    const auto *next = reinterpret_cast<const unsigned char *>(context->uc_mcontext.gregs[REG_RIP]);
    return next[0] == 0x0f && next[1] == 0x05;
}

void fork_here(int, siginfo_t *, void *context_pointer) {
    auto *context = static_cast<ucontext_t *>(context_pointer);
    stepped.steps++;
    hf_store_relaxed(&stepped.slices->guard, std::uint32_t(HF_WORD_HELD));
    pid_t child = _Fork();
    stepped.in_child = child == 0;
    if (!stepped.in_child) {
        hf_store_relaxed(&stepped.slices->guard, std::uint32_t(HF_WORD_FREE));
        stepped.failures += status_of(child) != 0;
    }
    if (stepped.in_child || stepped.failures || is_at_end(context))
        context->uc_mcontext.gregs[REG_EFL] &= ~single_step;
}

void lock_and_unlock() {
    sigset_t saved;
    hf_slices_lock(stepped.slices, hf_self(), &saved);
    hf_slices_unlock(stepped.slices, hf_self(), &saved);
}

TEST(slices_in_child, AGuardIsNoParentsWhereverAHandlerForked) {
    std::uint32_t word = 0;
    hf_slices *place = nullptr;
    stepped.slices = hf_slices_of(&word, &place, hf_self());
    lock_and_unlock(); // so that the loader has found what is called
    struct sigaction act = {}, before;
    act.sa_sigaction = fork_here;
    act.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &act, &before);
    asm volatile("pushfq; orq %0, (%%rsp); popfq" ::"i"(single_step) : "memory", "cc");
    lock_and_unlock();
    if (stepped.in_child)
        _exit(0);
    sigaction(SIGTRAP, &before, nullptr);
    EXPECT_EQ(stepped.failures, 0) << "at step " << stepped.steps;
    EXPECT_GT(stepped.steps, 10);
    hf_slices_give_back(place, &word, hf_self());
}

#endif

} // namespace
} // namespace holdfast::test
