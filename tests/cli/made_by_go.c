// SPDX-License-Identifier: MIT OR Apache-2.0
// What a stripped program of Go's looks like to those that watch its sleeps: the note of Go's linker, and system calls
// that it makes itself. Prints "ready"; ends with its standard input.
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/system_call.h"

__asm__(".pushsection .note.go.buildid, \"aR\", %note\n"
        ".long 4, 4, 4\n"
        ".asciz \"Go\"\n"
        ".balign 4\n"
        ".long 0\n"
        ".popsection");

static uint32_t idle;

static void *sleep_again_and_again(void *unused) {
    struct timespec moment = {.tv_nsec = 5 * 1000 * 1000};
    for (;;)
        hf_sys_futex(&idle, FUTEX_WAIT_PRIVATE, 0, &moment, NULL, 0);
    return unused;
}

int main(void) {
    pthread_t thread;
    char nothing;
    if (pthread_create(&thread, NULL, sleep_again_and_again, NULL))
        return 1;
    puts("ready");
    fflush(stdout);
    return (int)read(STDIN_FILENO, &nothing, 1);
}
