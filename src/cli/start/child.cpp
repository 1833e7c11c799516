// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/child.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fmt/core.h>
#include <optional>
#include <sys/wait.h>

#include "base/signals_blocked.hpp"
#include "cli/common/exit_status.hpp"
#include "cli/start/job_control.hpp"
#include "cli/start/launch.hpp"

namespace holdfast::cli {
namespace {

// Known to the signal handler.
volatile pid_t forward_to = 0;
volatile pid_t woken_by = 0; // its SIGCONT is for us

// On our only thread that handles any: the others never do (monitor/server/reception.cpp).
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
//
// The terminal's signal is also for us. It may have stopped us before we heard of the program's stop, and a shell has
// continued both since: then the program is not stopped any more. From this look on such a signal waits, and the
// SIGCONT that ends our stop takes it away.
void stop_with(pid_t program) {
    std::optional<waker> beside;
    {
        signals_blocked until_known; // whose SIGCONT is whose
        beside.emplace(program);
        woken_by = beside->pid();
        if (is_stopped(program))
            raise(SIGSTOP);
    }
    beside.reset();
    woken_by = 0; // another process may have that number next
}

// Waits until the program has stopped or ended, and leaves it to be collected. The answer's si_code says which.
siginfo_t next_change_of(pid_t program) {
    siginfo_t change{};
    while (waitid(P_PID, static_cast<id_t>(program), &change, WEXITED | WSTOPPED | WNOWAIT) != 0) {
        if (errno != EINTR)
            throw failure(fmt::format("the program can't be waited for: {}", std::strerror(errno)));
    }
    return change;
}

ending collect(pid_t program) {
    forward_to = 0; // once it is collected its number may be another process's
    siginfo_t end{};
    waitid(P_PID, static_cast<id_t>(program), &end, WEXITED);
    return end.si_code == CLD_EXITED ? ending(end.si_status) : ending::by_signal(end.si_status);
}

// Waits for the program's end. A program that its terminal stops stops us too, so that the shell that waits for us can
// tell.
ending wait_for(pid_t program) {
    while (next_change_of(program).si_code == CLD_STOPPED) {
        siginfo_t stop{}; // stays so if it has gone on since
        waitid(P_PID, static_cast<id_t>(program), &stop, WSTOPPED | WNOHANG);
        // Not SIGSTOP: a process that sends that to the program continues the program, and would leave us behind.
        if (stop.si_pid == program && stop.si_status != SIGSTOP)
            stop_with(program);
    }
    return collect(program);
}

} // namespace

ending run_child(const std::vector<std::string> &arguments, const environment &variables,
                 const std::optional<invoker> &user) {
    {
        // Until the program runs and we pass them on: a signal would end us and leave the program behind.
        signals_blocked until_it_runs;
        // Where children are ignored the kernel keeps no exit status for us.
        bool ignored_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
        forward_to = start({.arguments = arguments,
                            .variables = variables,
                            .user = user,
                            .signals = &until_it_runs.before(),
                            .ignores_sigchld = ignored_children});
        forward_signals();
    }
    return wait_for(forward_to);
}

} // namespace holdfast::cli
