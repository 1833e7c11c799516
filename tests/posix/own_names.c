// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions of the program's own by names of libc's that no standard of C reserves: a thread that calls them is not
// meant. They stand before libc's for every library of the process (-rdynamic).
//
// Shown able to fail: with the build in which lock/posix/condition.c called sem_wait and hint/registration.c socket.
#include <stddef.h>

// unistd.h would declare those as they are.
extern long write(int fd, const void *bytes, size_t count);
extern _Noreturn void _exit(int status);

static _Noreturn void say_and_end(const char *name) {
    const char *rest = "() of the program's own was called\n";
    size_t length = 0;
    while (name[length])
        length++;
    if (write(2, name, length) < 0 || write(2, rest, 35) < 0)
        _exit(3);
    _exit(2);
}

#define OWN(name)                                                                                                      \
    void name(void);                                                                                                   \
    void name(void) {                                                                                                  \
        say_and_end(#name);                                                                                            \
    }

#pragma GCC diagnostic ignored "-Wbuiltin-declaration-mismatch"
OWN(sem_init)
OWN(sem_wait)
OWN(sem_trywait)
OWN(sem_timedwait)
OWN(sem_clockwait)
OWN(sem_post)
OWN(socket)
OWN(connect)
OWN(setsockopt)
OWN(getsockopt)
OWN(send)
OWN(recv)
OWN(sendmsg)
OWN(recvmsg)
OWN(open)
OWN(openat)
OWN(read)
OWN(close)
OWN(fstat)
OWN(fcntl)
OWN(mmap)
OWN(munmap)
OWN(mremap)
OWN(madvise)
OWN(nanosleep)
OWN(clock_nanosleep)
OWN(usleep)
OWN(clock_gettime)
OWN(gettimeofday)
OWN(getpid)
OWN(gettid)
OWN(tgkill)
OWN(sched_getaffinity)
OWN(sched_getcpu)
OWN(getcpu)
OWN(getrusage)
OWN(getpriority)
OWN(sysconf)
OWN(prctl)
OWN(membarrier)
OWN(syscall)
OWN(poll)
OWN(sigfillset)
OWN(sigprocmask)
