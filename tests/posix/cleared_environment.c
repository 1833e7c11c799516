// SPDX-License-Identifier: MIT OR Apache-2.0
// A program that clears its environment before it uses a condition variable. What HOLDFAST_CONF said of these holds:
// they are glibc's, which, unlike Holdfast, leaves traces of a wait that is over.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int main(void) {
    static const pthread_cond_t untouched = PTHREAD_COND_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec now;
    clearenv();
    clock_gettime(CLOCK_REALTIME, &now);
    pthread_mutex_lock(&mutex);
    pthread_cond_timedwait(&cond, &mutex, &now);
    pthread_mutex_unlock(&mutex);
    if (memcmp(&cond, &untouched, sizeof(cond)) != 0)
        return 0;
    puts("the condition variable is Holdfast's: what the environment said was not read before it was cleared");
    return 1;
}
