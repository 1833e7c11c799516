// SPDX-License-Identifier: MIT OR Apache-2.0
// A program whose kernel promises no more memory than it has (vm.overcommit_memory=2), and has none left from when the
// program begins to use its locks: more of them than there is room for in the statistics that are mapped by then. It
// sets that for the whole machine, so it is for virtual ones.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 2000, STACK_IN_USE = 64 * 1024 };

static pthread_mutex_t locks[LOCKS];
static int begin[2];

// stdio would ask for memory.
static int say(int status, const char *what) {
    ssize_t written = write(STDOUT_FILENO, what, strlen(what));
    return written == (ssize_t)strlen(what) ? status : 9;
}

static int set(const char *path, const char *value) {
    int fd = open(path, O_WRONLY);
    int done = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    if (fd >= 0)
        close(fd);
    return done;
}

// Its stack and its record are there before there is no more memory.
static void *wait_in_vain(void *failed) {
    const struct timespec long_ago = {.tv_sec = 1};
    char told;
    if (pthread_mutex_timedlock(&locks[0], &long_ago) != ETIMEDOUT || read(begin[0], &told, 1) != 1)
        return failed;
    for (int i = 0; i < LOCKS; i++) {
        if (pthread_mutex_timedlock(&locks[i], &long_ago) != ETIMEDOUT)
            return failed;
    }
    return NULL;
}

static __attribute__((noinline)) void use_stack(void) {
    char stack[STACK_IN_USE];
    for (volatile char *each = stack; each < stack + STACK_IN_USE; each += 1024)
        *each = 1;
}

int main(void) {
    pthread_t waiter;
    void *failed = &waiter;
    use_stack();
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_lock(&locks[i]);
    if (pipe(begin) != 0 || pthread_create(&waiter, NULL, wait_in_vain, failed) != 0)
        return say(2, "no pipe or no thread\n");
    usleep(100000);
    if (!set("/proc/sys/vm/overcommit_kbytes", "1") || !set("/proc/sys/vm/overcommit_memory", "2"))
        return say(3, "the commit limit can't be set\n");
    int refused = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
    int waited = write(begin[1], "", 1) == 1 && pthread_join(waiter, &failed) == 0 && !failed;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_unlock(&locks[i]);
    set("/proc/sys/vm/overcommit_memory", "0");
    if (!refused)
        return say(4, "the kernel gives memory all the same\n");
    return waited ? say(0, "used its locks without memory\n") : say(5, "a lock call failed\n");
}
