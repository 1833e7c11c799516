// SPDX-License-Identifier: MIT OR Apache-2.0
// Preloaded into the command: what comes rarely comes every time, right where it does the most harm. BAD_MOMENT says
// what; each kill and raise of the command's is noted in the file BAD_MOMENT_NOTE, as "PID kill WHOM SIGNAL".
//   stop   a shell's `fg` has come between the program's stop and our hearing of it
//   waker  the program goes on, and the waker (src/cli/start/job_control.hpp) says so, before its maker has heard who
//          it is
//   end    a signal to pass on comes right behind the program's end, when its number may be another process's
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t program; // the command's first child

static bool is_moment(const char *name) {
    const char *moment = getenv("BAD_MOMENT");
    return moment && strcmp(moment, name) == 0 && strcmp(program_invocation_short_name, "holdfast") == 0;
}

static void note(const char *what, pid_t whom, int signal) {
    const char *path = getenv("BAD_MOMENT_NOTE");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    dprintf(fd, "%d %s %d %d\n", (int)getpid(), what, (int)whom, signal);
    close(fd);
}

static void send_unnoted(pid_t whom, int signal) {
    syscall(SYS_kill, whom, signal);
}

int kill(pid_t whom, int signal) {
    note("kill", whom, signal);
    return (int)syscall(SYS_kill, whom, signal);
}

int raise(int signal) {
    note("raise", getpid(), signal);
    return (int)syscall(SYS_tgkill, getpid(), gettid(), signal);
}

static void wait_until_pending(int signal) {
    for (int look = 0; look < 30000; look++) {
        sigset_t pending;
        sigpending(&pending);
        if (sigismember(&pending, signal))
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

pid_t fork(void) {
    pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    pid_t made = next();
    if (made > 0 && program == 0) {
        program = made;
    } else if (made > 0 && is_moment("waker")) {
        send_unnoted(program, SIGCONT);
        wait_until_pending(SIGCONT); // signals are blocked where the waker is made
    }
    return made;
}

static void heard_of_stop(void) {
    static bool heard;
    if (!heard && is_moment("stop"))
        send_unnoted(program, SIGCONT);
    heard = true;
}

static void heard_of_end(void) {
    if (is_moment("end"))
        send_unnoted(getpid(), SIGUSR1);
}

pid_t waitpid(pid_t whom, int *status, int options) {
    int own = 0;
    pid_t got = (pid_t)syscall(SYS_wait4, whom, &own, options, NULL);
    if (status)
        *status = own;
    if (got > 0 && got == program && WIFSTOPPED(own))
        heard_of_stop();
    else if (got > 0 && got == program)
        heard_of_end();
    return got;
}

int waitid(idtype_t type, id_t whom, siginfo_t *about, int options) {
    int result = (int)syscall(SYS_waitid, type, whom, about, options, NULL);
    bool has_taken = result == 0 && !(options & WNOWAIT) && program != 0 && about->si_pid == program;
    if (has_taken && about->si_code == CLD_STOPPED)
        heard_of_stop();
    else if (has_taken)
        heard_of_end();
    return result;
}
