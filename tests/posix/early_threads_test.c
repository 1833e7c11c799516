// SPDX-License-Identifier: MIT OR Apache-2.0
// What locks mutexes are is decided before the first one is locked, be it by an earlier constructor's threads
// (early_threads.c). These go on while the interposer's constructor runs. That takes a moment, so the program starts
// itself again and again.
//
// usage: early_threads_test crowd|pair STARTS
//   crowd  every type of mutex, and a condition variable
//   pair   two threads that want one mutex: they may spin, where a monitor is there from the start (cli/monitor_test)
//
// Shown able to fail: mutexes that are FlexGuard's until the interposer's constructor has run (under mcs, ticket and
// ttas: "mutexes are not what they were"; in some runs of "pair" beside a monitor mcs ended by SIGSEGV and ttas hung,
// since a gate lies where FlexGuard's waiters have their queue).
#include "early_threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments) {
    if (count < 3)
        return 2;
    alarm(600);
    int starts = atoi(arguments[2]);
    if (starts % 2 == 0)
        usleep(200);
    early_threads_end();
    if (starts <= 1)
        return 0;
    char next[16];
    snprintf(next, sizeof next, "%d", starts - 1);
    execl("/proc/self/exe", arguments[0], arguments[1], next, NULL);
    return 1;
}
