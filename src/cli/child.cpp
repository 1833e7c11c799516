// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/exit_status.hpp"

namespace holdfast::cli {
namespace {

// Known to the signal handler.
volatile pid_t forward_to = 0;

void forward(int signal, siginfo_t *info, void *) {
    // What the terminal sends goes to the whole foreground group: the program has it already.
    if (info->si_code != SI_KERNEL && forward_to > 0) {
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

void forward_signals() {
    struct sigaction action {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        struct sigaction before {};
        if (!is_forwarded(signal) || sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN)
            continue;
        sigaction(signal, &action, nullptr);
    }
}

// The environment of the program: ours, with some variables replaced.
class environment_block {
public:
    explicit environment_block(const environment &variables) {
        for (char **entry = environ; *entry; entry++) {
            if (!replaced(*entry, variables))
                lines_.emplace_back(*entry);
        }
        for (const auto &[name, value] : variables)
            lines_.push_back(name + "=" + value);
        for (auto &line : lines_)
            pointers_.push_back(line.data());
        pointers_.push_back(nullptr);
    }
    char **get() { return pointers_.data(); }

private:
    static bool replaced(const char *entry, const environment &variables) {
        for (const auto &[name, value] : variables) {
            if (std::strncmp(entry, name.c_str(), name.size()) == 0 && entry[name.size()] == '=')
                return true;
        }
        return false;
    }

    std::vector<std::string> lines_;
    std::vector<char *> pointers_;
};

bool become(const invoker &user) {
    return setgroups(user.groups.size(), user.groups.data()) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0;
}

// In the forked child: only what is async-signal-safe. A failure's errno goes through the pipe, which exec closes.
[[noreturn]] void become_program(char **arguments, char **variables, const invoker *user, const sigset_t *signals,
                                 int error_pipe) {
    sigprocmask(SIG_SETMASK, signals, nullptr);
    if (!user || become(*user))
        execvpe(arguments[0], arguments, variables);
    int error = errno;
    [[maybe_unused]] ssize_t written = write(error_pipe, &error, sizeof(error));
    _exit(exit_not_executable);
}

[[noreturn]] void cannot_execute(const std::string &program, int error) {
    if (error == ENOENT)
        throw failure(fmt::format("there is no program '{}': check its name and PATH", program), exit_not_found);
    throw failure(fmt::format("'{}' can't be executed: {}", program, std::strerror(error)), exit_not_executable);
}

// Waits for the program's end. A program that is stopped stops us too, so that the shell that waits for us can tell.
int wait_for(pid_t pid) {
    int status = 0;
    for (;;) {
        if (waitpid(pid, &status, WUNTRACED) < 0) {
            if (errno == EINTR)
                continue;
            throw failure(fmt::format("the program can't be waited for: {}", std::strerror(errno)));
        }
        if (WIFSTOPPED(status))
            raise(SIGSTOP);
        else
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
}

} // namespace

int run_child(const std::vector<std::string> &arguments, const environment &variables,
              const std::optional<invoker> &user) {
    environment all = variables;
    if (user) {
        all.emplace_back("HOME", user->home);
        all.emplace_back("USER", user->name);
        all.emplace_back("LOGNAME", user->name);
        all.emplace_back("SHELL", user->shell);
    }
    environment_block block(all);
    std::vector<std::string> copies = arguments;
    std::vector<char *> pointers;
    for (auto &argument : copies)
        pointers.push_back(argument.data());
    pointers.push_back(nullptr);

    std::array<int, 2> error_pipe{};
    if (pipe2(error_pipe.data(), O_CLOEXEC) != 0)
        throw failure(fmt::format("no pipe to start '{}' with: {}", arguments[0], std::strerror(errno)));

    // No signal between fork and the handlers: it would end us and leave the program behind.
    sigset_t everything, before;
    sigfillset(&everything);
    sigprocmask(SIG_SETMASK, &everything, &before);
    pid_t pid = fork();
    if (pid == 0)
        become_program(pointers.data(), block.get(), user ? &*user : nullptr, &before, error_pipe[1]);
    int fork_error = errno;
    close(error_pipe[1]);
    forward_to = pid;
    if (pid > 0)
        forward_signals();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) {
        close(error_pipe[0]);
        throw failure(fmt::format("no process to run '{}' in: {}", arguments[0], std::strerror(fork_error)));
    }

    int exec_error = 0;
    ssize_t got = 0;
    do
        got = read(error_pipe[0], &exec_error, sizeof(exec_error));
    while (got < 0 && errno == EINTR);
    close(error_pipe[0]);
    int status = wait_for(pid);
    forward_to = 0;
    if (got == static_cast<ssize_t>(sizeof(exec_error)))
        cannot_execute(arguments[0], exec_error);
    return status;
}

} // namespace holdfast::cli
