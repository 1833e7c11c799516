// SPDX-License-Identifier: MIT OR Apache-2.0
// Under 'holdfast run --detect-spinning': a handler that yields the CPU, for the signal by which the kernel's side
// (monitor/bpf/spin_samples.bpf.c) interrupts a thread that spins while others want its CPU.
//
// The signal is the last one that nobody has taken when the program starts. It is sent to a thread only at a moment in
// which the handler is this one and the thread does not block it, so:
//
//     the program blocks it, waits for it (sigwait, signalfd)    the thread spins on as without Holdfast
//     takes it for itself, or resets all signals to their default    likewise; nothing is sent any more
//     has an alternative stack                                   the handler runs there
//     sleeps in a system call                                    is not interrupted: only code of its own is
//     forks                                                      the child has the handler
//     executes another                                           whose interposer sets it again
//     makes a sandbox (sandbox.c)                                the handler asks the kernel for nothing
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "hint/yield_handler.h"
#include "machine_code.h"
#include "park/timed_sleep.h"
#include "park/yield.h"
#include "preload/libc_function.h"

typedef int (*sigaction_function)(int signal, const struct sigaction *action, struct sigaction *before);

// A yield takes less where nobody else has run. The kernel's scheduler lets a thread go on that has had less than its
// share, although another one wants the CPU, and it may be the one that is waited for: the thread sleeps then, for the
// least time that a timer has.
enum { YIELD_IN_VAIN_NS = 20000 };

// System calls by instructions of our own: errno is not touched.
__attribute__((used, visibility("hidden"))) void hf_yield_at_signal(int signal) {
    (void)signal;
    if (hf_yield_is_forgone())
        return;
    uint64_t before_ns = hf_monotonic_ns();
    hf_yield();
    if (hf_ns_since(before_ns, hf_monotonic_ns()) < YIELD_IN_VAIN_NS)
        hf_timed_sleep(1);
}

#define HF_TEXT_OF_(value) #value
#define HF_TEXT_OF(value) HF_TEXT_OF_(value)

#define HF_TAG HF_TEXT_OF(HF_YIELD_HANDLER_TAG)
#define HF_GOES_ON HF_JUMP_TO("hf_yield_at_signal")

// The tag, then the handler.
asm(".pushsection .text\n"
    ".balign 16\n"
    ".8byte 0\n"
    ".8byte " HF_TAG "\n"
    ".hidden hf_yield_handler\n"
    ".globl hf_yield_handler\n"
    ".type hf_yield_handler, %function\n"
    "hf_yield_handler:\n"
    "    " HF_GOES_ON "\n"
    ".size hf_yield_handler, . - hf_yield_handler\n"
    ".popsection");
extern void hf_yield_handler(int signal) __attribute__((visibility("hidden")));

static bool is_free(sigaction_function act, int signal) {
    struct sigaction before;
    return act(signal, NULL, &before) == 0 && before.sa_handler == SIG_DFL;
}

// secure_getenv: a set-user-id program is not told by its caller what signals to handle.
__attribute__((constructor)) static void set_handler(void) {
    const char *told = secure_getenv(HF_DETECT_SPINNING_VARIABLE);
    sigaction_function act = told && *told == '1' ? (sigaction_function)hf_libc_function("sigaction") : NULL;
    if (!act || sizeof(HF_JUMP_TO("")) == sizeof(""))
        return;
    for (int signal = HF_YIELD_SIGNAL_LAST; signal >= HF_YIELD_SIGNAL_FIRST; signal--) {
        if (!is_free(act, signal))
            continue;
        struct sigaction action = {.sa_handler = hf_yield_handler, .sa_flags = SA_RESTART | SA_ONSTACK};
        act(signal, &action, NULL);
        return;
    }
}
