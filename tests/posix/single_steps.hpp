// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that goes step by step, an instruction each (the processor's trap flag), and after so many steps does what
// the case wants, in the handler of the signal that each step is. Signals that the thread blocks meanwhile are not
// blocked, since that of the trap is one of them, which the kernel takes for a crash then: the system call is left out,
// and nothing is done before the thread lets signals come again.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <ucontext.h>

namespace holdfast::test {

struct single_steps {
    long count, last;
    void (*at_last)(void);
    std::atomic<bool> are_counted; // the last one may come
    bool is_masked;
    bool end_before_sleep; // of the futex call

    greg_t landmark;  // an instruction's address,
    long landmark_at; // and when it was first come to; 0: not yet

    void begin(long at, bool counted) {
        count = landmark_at = 0;
        last = at;
        is_masked = false;
        are_counted = counted;
    }
};

inline single_steps steps; // of the one thread at a time that takes some

inline bool is_at_system_call(const greg_t *registers, long number) {
    const auto *instruction = reinterpret_cast<const unsigned char *>(registers[REG_RIP]);
    return instruction[0] == 0x0f && instruction[1] == 0x05 && registers[REG_RAX] == number;
}

inline bool is_before_sleep(const greg_t *registers) {
    auto operation = registers[REG_RSI] & FUTEX_CMD_MASK;
    return is_at_system_call(registers, SYS_futex) && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET);
}

inline void leave_out_mask(greg_t *registers, const sigset_t &now) {
    const auto *wanted = reinterpret_cast<const std::uint64_t *>(registers[REG_RSI]);
    auto *before = reinterpret_cast<std::uint64_t *>(registers[REG_RDX]);
    bool blocks = wanted && (*wanted >> (SIGTRAP - 1) & 1);
    if (before) {
        std::memcpy(before, &now, sizeof(*before));
        if (steps.is_masked) // twice: what it goes back to first is that
            *before = ~UINT64_C(0);
    }
    steps.is_masked = blocks;
    registers[REG_RAX] = 0;
    registers[REG_RIP] += 2;
}

inline void take_step(int, siginfo_t *, void *context) {
    auto *interrupted = static_cast<ucontext_t *>(context);
    greg_t *registers = interrupted->uc_mcontext.gregs;
    bool ends = steps.count >= steps.last || (steps.end_before_sleep && is_before_sleep(registers));
    if (steps.are_counted && !steps.is_masked && ends)
        steps.at_last();
    if (registers[REG_RIP] == steps.landmark && !steps.landmark_at)
        steps.landmark_at = steps.count;
    if (is_at_system_call(registers, SYS_rt_sigprocmask) && registers[REG_RDI] == SIG_SETMASK)
        leave_out_mask(registers, interrupted->uc_sigmask);
    steps.count += steps.are_counted;
}

inline void steps_end_in(void (*at_last)(void)) {
    steps.at_last = at_last;
    struct sigaction action {};
    action.sa_sigaction = take_step;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGTRAP, &action, nullptr);
}

inline __attribute__((always_inline)) void begin_steps() {
    asm volatile("pushfq\n orq $0x100, (%%rsp)\n popfq" ::: "memory", "cc");
}
inline __attribute__((always_inline)) void end_steps() {
    asm volatile("pushfq\n andq $~0x100, (%%rsp)\n popfq" ::: "memory", "cc");
}

inline void stay_on_one_cpu() { // where nobody polls
    cpu_set_t all, one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof(all), &all);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

} // namespace holdfast::test
