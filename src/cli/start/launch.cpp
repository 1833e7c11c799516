// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/launch.hpp"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <fstream>
#include <grp.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/common/exit_status.hpp"
#include "cli/start/program_search.hpp"

namespace holdfast::cli {
namespace {

environment variables_of(const launch &what) {
    environment all = what.variables;
    if (what.user) {
        all.emplace_back("HOME", what.user->home);
        all.emplace_back("USER", what.user->name);
        all.emplace_back("LOGNAME", what.user->name);
        all.emplace_back("SHELL", what.user->shell);
    }
    return all;
}

// Ours, with `variables` added or put in place of ours of the same name.
std::vector<std::string> environment_with(const environment &variables) {
    std::vector<std::string> all;
    for (char **one = environ; *one; one++) {
        std::string_view name(*one, strcspn(*one, "="));
        bool replaced = false;
        for (const auto &variable : variables)
            replaced |= name == variable.first;
        if (!replaced)
            all.emplace_back(*one);
    }
    for (const auto &[name, value] : variables)
        all.push_back(name + "=" + value);
    return all;
}

std::vector<char *> pointers_to(std::vector<std::string> &strings) {
    std::vector<char *> pointers;
    for (auto &one : strings)
        pointers.push_back(one.data());
    pointers.push_back(nullptr);
    return pointers;
}

bool take_rights_of(const invoker &user) {
    return setgroups(user.groups.size(), user.groups.data()) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0;
}

// Between fork and exec in a process that may have other threads: async-signal-safe calls only. Returns when it failed.
void become(const launch &what, const char *machine_code, char *const *arguments, char *const *variables,
            pid_t parent) {
    if (what.ignores_sigchld)
        signal(SIGCHLD, SIG_IGN);
    if (what.signals)
        sigprocmask(SIG_SETMASK, what.signals, nullptr);
    for (int fd = 0; fd < 3; fd++) {
        if (what.standard[static_cast<std::size_t>(fd)] != fd)
            dup2(what.standard[static_cast<std::size_t>(fd)], fd);
    }
    if (what.user && !take_rights_of(*what.user))
        return;
    if (what.captive) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL); // after the change of rights, which would undo it
        if (getppid() != parent)
            _exit(exit_holdfast_failed); // it ended before we asked to hear of it
    }
    if (machine_code) {
        execve(machine_code, arguments, variables);
        if (errno == ENOEXEC)
            return;
    }
    execvpe(arguments[0], arguments, variables);
}

// The program that a name stands for, if it is one for a machine: the shell that execvpe would hand it to, should the
// kernel refuse it, would take it for a script. Empty: it is none.
std::string machine_code_of(const std::string &program) {
    if (!has_program(program))
        return "";
    std::string place = find_program(program);
    std::ifstream file(place, std::ios::binary);
    std::array<char, SELFMAG> begin{};
    file.read(begin.data(), begin.size());
    return file && std::string_view(begin.data(), begin.size()) == ELFMAG ? place : "";
}

std::string reason_of(int error, const std::string &program) {
    std::string why = error == EACCES || error == ELOOP ? why_not_executable(program) : "";
    if (error == ENOEXEC)
        why = "it is for another machine, or damaged";
    else if (error == ELOOP && has_program(program))
        why = "the interpreters that it names lead to no program";
    return why.empty() ? std::strerror(error) : why;
}

[[noreturn]] void cannot_execute(const std::string &program, int error) {
    // If it is there, what is missing is what the kernel would run it with.
    if (error == ENOENT && has_program(program))
        throw failure(fmt::format("'{}' can't be executed: the interpreter that it names is not there", program),
                      exit_not_executable);
    if (error == ENOENT && why_not_executable(program).empty())
        throw failure(fmt::format("there is no program '{}': check its name and PATH", program), exit_not_found);
    std::string why = error == ENOENT ? why_not_executable(program) : reason_of(error, program);
    throw failure(fmt::format("'{}' can't be executed: {}", program, why), exit_not_executable);
}

} // namespace

pid_t start(const launch &what) {
    std::vector<std::string> arguments = what.arguments;
    std::vector<std::string> variables = environment_with(variables_of(what));
    std::vector<char *> argument_pointers = pointers_to(arguments);
    std::vector<char *> variable_pointers = pointers_to(variables);
    std::string machine_code = machine_code_of(arguments[0]);
    std::array<int, 2> error_pipe{}; // exec closes it; what failed before says its errno there
    if (pipe2(error_pipe.data(), O_CLOEXEC) != 0)
        throw failure(fmt::format("no pipe to start '{}' with: {}{}", arguments[0], std::strerror(errno),
                                  errno == EMFILE ? "; raise the limit (ulimit -n)" : ""));

    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        become(what, machine_code.empty() ? nullptr : machine_code.c_str(), argument_pointers.data(),
               variable_pointers.data(), parent);
        int error = errno;
        [[maybe_unused]] ssize_t written = write(error_pipe[1], &error, sizeof(error));
        _exit(exit_not_executable);
    }
    int fork_error = errno;
    close(error_pipe[1]);
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
    if (got == static_cast<ssize_t>(sizeof(exec_error))) {
        waitpid(pid, nullptr, 0);
        cannot_execute(arguments[0], exec_error);
    }
    return pid;
}

} // namespace holdfast::cli
