// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/core.h>
#include <sys/wait.h>

#include "cli/exit_status.hpp"
#include "cli/launch.hpp"
#include "cli/waker.hpp"

namespace holdfast::cli {
namespace {

// Known to the signal handler.
volatile pid_t forward_to = 0;
volatile pid_t woken_by = 0; // its SIGCONT is for us

void forward(int signal, siginfo_t *info, void *) {
    // What the terminal sends goes to the whole foreground group: the program has it already.
    bool from_waker = info->si_code == SI_USER && woken_by > 0 && info->si_pid == woken_by;
    if (info->si_code != SI_KERNEL && forward_to > 0 && !from_waker) {
        int saved_errno = errno;
        kill(forward_to, signal);
        errno = saved_errno;
    }
}

bool is_forwarded(int signal) {
    switch (signal) {
    case SIGKILL:
    case SIGSTOP: // can't be caught
    case SIGCHLD: // ours
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU: // stop us too, as the shell expects
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS: // our own faults
    case SIGPIPE: return false;
    default: return signal < 32 || signal >= SIGRTMIN;
    }
}

// Also those that our caller ignores, as a shell does in the background: the program may have a handler by now.
void forward_signals() {
    struct sigaction action {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        if (is_forwarded(signal))
            sigaction(signal, &action, nullptr);
    }
}

// Stops us as the program was stopped, until we are continued: by a shell, or by a waker when the program is continued
// or ends without us. The kernel lets SIGTSTP, SIGTTIN and SIGTTOU stop nobody in an orphaned process group: where the
// program has stopped by default, there is a process in the session that can see to us.
void stop_with(pid_t program) {
    {
        waker beside(program);
        woken_by = beside.pid();
        raise(SIGSTOP);
    }
    woken_by = 0; // another process may have that number next
}

// Waits for the program's end. A program that its terminal stops stops us too, so that the shell that waits for us can
// tell.
ending wait_for(pid_t pid) {
    int status = 0;
    for (;;) {
        if (waitpid(pid, &status, WUNTRACED) < 0) {
            if (errno == EINTR)
                continue;
            throw failure(fmt::format("the program can't be waited for: {}", std::strerror(errno)));
        }
        // Not SIGSTOP: who sends that to the program continues the program, and would leave us behind.
        bool by_terminal = WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP;
        if (by_terminal)
            stop_with(pid);
        if (!WIFSTOPPED(status))
            return WIFSIGNALED(status) ? ending::by_signal(WTERMSIG(status)) : WEXITSTATUS(status);
    }
}

} // namespace

ending run_child(const std::vector<std::string> &arguments, const environment &variables,
                 const std::optional<invoker> &user) {
    // No signal until the program runs and we pass them on: it would end us and leave the program behind.
    sigset_t everything, before;
    sigfillset(&everything);
    sigprocmask(SIG_SETMASK, &everything, &before);
    // Where children are ignored the kernel keeps no exit status for us.
    bool ignored_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
    try {
        forward_to = start({.arguments = arguments,
                            .variables = variables,
                            .user = user,
                            .signals = &before,
                            .ignores_sigchld = ignored_children});
    } catch (...) {
        sigprocmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    forward_signals();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    ending end = wait_for(forward_to);
    forward_to = 0;
    return end;
}

} // namespace holdfast::cli
