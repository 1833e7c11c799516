// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/program_examination.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <tuple>
#include <unistd.h>
#include <utility>

#include "cli/common/exit_status.hpp"
#include "cli/common/install.hpp"
#include "cli/start/invoker.hpp"
#include "cli/start/process.hpp"
#include "cli/start/program_search.hpp"
#include "cli/symbols/elf_file.hpp"
#include "hint/registration.h"
#include "monitor/client/service_report.hpp"

namespace holdfast::cli {
namespace {

using path = std::filesystem::path;
using verdict = program_examination::verdict;

// The interpreter that a script's first line names; empty for anything else.
std::string interpreter_of_script(const path &program) {
    std::ifstream file(program, std::ios::binary);
    std::array<char, 256> begin{}; // as much as the kernel looks at
    file.read(begin.data(), begin.size() - 1);
    std::string line(begin.data()), word;
    if (!line.starts_with("#!"))
        return {};
    std::istringstream words(line.substr(2, line.find('\n') - 2));
    words >> word;
    if (path(word).filename() == "env")
        while (words >> word && (word.starts_with("-") || word.find('=') != std::string::npos))
            ;
    return word;
}

// Of a shell's script that does no more than prepare: the program that its last line hands over to ("exec /opt/x/bin/x
// \"$@\""). Empty where that is not written out.
std::string program_handed_over_to(const path &script, const std::string &interpreter) {
    static const std::set<std::string> shells = {"sh", "bash", "dash", "ksh", "zsh"};
    if (!shells.contains(path(interpreter).filename()))
        return {};
    std::ifstream file(script, std::ios::binary);
    std::string last, word;
    for (std::string line; std::getline(file, line);) {
        std::size_t begin = line.find_first_not_of(" \t");
        if (begin != std::string::npos && line[begin] != '#')
            last = line.substr(begin);
    }
    std::istringstream words(last);
    words >> word;
    if (word != "exec" || !(words >> word))
        return {};
    std::erase(word, '"');
    bool is_written_out = word.starts_with("/") && word.find_first_of("$`'*?\\") == std::string::npos;
    return is_written_out ? word : "";
}

// Java's own program only loads this, which takes the locks.
path java_machine_beside(const path &program) {
    path machine = program.parent_path().parent_path() / "lib/server/libjvm.so";
    std::error_code error;
    return program.filename() == "java" && std::filesystem::exists(machine, error) ? machine : path();
}

// A program may name anything as its dynamic linker; only the one that we have run ourselves is run.
bool is_our_dynamic_linker(const std::string &interpreter) {
    static const std::string ours = read_elf_head("/proc/self/exe").value_or(elf_file{}).interpreter;
    std::error_code error;
    return !ours.empty() && std::filesystem::equivalent(interpreter, ours, error) && !error;
}

// What the dynamic linker would load, as it says itself; it runs nothing of the program.
std::set<path> libraries_of(const path &program, const std::string &dynamic_linker) {
    process listing({.arguments = {dynamic_linker, "--list", program.string()}});
    process_end end = listing.wait(std::chrono::seconds(10), nullptr);
    std::set<path> found;
    std::istringstream lines(end.output);
    for (std::string line; std::getline(lines, line);) {
        // "libm.so.6 => /lib/libm.so.6 (0x...)", or just "/opt/x.so (0x...)" of one that is asked for by its path
        std::size_t name = line.find('/'), end_of_name = line.find(" (", name);
        if (name != std::string::npos && end_of_name != std::string::npos)
            found.insert(line.substr(name, end_of_name - name));
    }
    return found;
}

struct mapped_code {
    std::set<path> files;
    std::size_t c_libraries = 0; // each in a namespace of its own
};

mapped_code code_mapped_by(pid_t pid) {
    std::ifstream maps(fmt::format("/proc/{}/maps", pid));
    mapped_code found;
    for (std::string line; std::getline(maps, line);) {
        std::size_t name = line.find('/');
        if (name == std::string::npos || line.find(" r-xp ") == std::string::npos)
            continue;
        found.files.insert(fmt::format("/proc/{}/root{}", pid, line.substr(name))); // it may see other files than we
        found.c_libraries += line.ends_with("/libc.so.6");
    }
    return found;
}

// "mutex" of pthread_mutex_lock and of mtx_lock; empty for a name that is none of those.
std::string kind_of_object(const std::string &function) {
    if (function.starts_with("mtx_"))
        return "mutex";
    if (function.starts_with("cnd_"))
        return "cond";
    constexpr std::string_view prefix = "pthread_";
    std::size_t end = function.find('_', prefix.size());
    return function.starts_with(prefix) && end != std::string::npos
               ? function.substr(prefix.size(), end - prefix.size())
               : "";
}

// Functions that say that some objects may be of a kind that stays glibc's, or that are glibc's altogether.
struct reservation {
    const char *function, *note;
};
constexpr reservation reservations[] = {
    {"pthread_mutexattr_setrobust", "robust mutexes, if it makes any, stay glibc's: the kernel has to know them"},
    {"pthread_mutexattr_setprotocol", "priority-inheriting and priority-protected mutexes, if any, stay glibc's"},
    {"pthread_mutexattr_setpshared",
     "process-shared mutexes, if any, stay glibc's: others may use them without Holdfast"},
    {"pthread_condattr_setpshared", "process-shared condition variables, if any, stay glibc's"},
    {"pthread_rwlockattr_setpshared", "process-shared reader-writer locks, if any, stay glibc's"},
    {"pthread_barrierattr_setpshared", "process-shared barriers, if any, stay glibc's"},
    {"sem_wait", "semaphores stay glibc's"},
    {"dlopen", "it may load more libraries while it runs, which are not looked at here: one that it loads with "
               "RTLD_DEEPBIND uses glibc's locks, and reader-writer locks that it shares with such a library "
               "need --conf rwlock:glibc; 'holdfast run --stats' tells whether there was one"},
    {"dlmopen", "it may load a second C library (dlmopen): reader-writer locks that are shared with what "
                "uses that one need --conf rwlock:glibc"},
};

struct all_imports {
    std::set<std::string> names;
    std::size_t pauses_of_program = 0;
};

all_imports imports_of(const path &program, const path &program_file, const std::set<path> &libraries) {
    all_imports all;
    for (const path &file : libraries) {
        // glibc's own libraries reach their functions without the dynamic linker, or are what is replaced.
        std::string name = file.filename();
        if (name.starts_with("libc.so") || name.starts_with("libpthread") || name.starts_with("ld-linux") ||
            name.starts_with("libholdfast") || file == program)
            continue;
        if (auto library = read_elf(file))
            all.names.merge(library->imports);
    }
    if (auto itself = read_elf(program_file)) {
        all.names.merge(itself->imports);
        if (itself->exports.contains("__tsan_init")) // clang links the sanitizer's runtime statically
            all.names.insert("__tsan_init");
        all.pauses_of_program = itself->pauses;
    }
    return all;
}

bool gains_rights(const path &program) {
    struct stat about {};
    if (stat(program.c_str(), &about) != 0)
        return false;
    std::optional<invoker> user = invoker_before_sudo(); // who would run it
    bool other_user = (about.st_mode & S_ISUID) && about.st_uid != (user ? user->uid : getuid());
    bool other_group = (about.st_mode & S_ISGID) && about.st_gid != (user ? user->gid : getgid());
    return other_user || other_group || getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

// `program_file`: where to read the program, which may lie elsewhere than it says.
void conclude(program_examination &found, const path &program_file, const std::set<path> &libraries) {
    all_imports imports = imports_of(found.program, program_file, libraries);
    for (const std::string &function : read_elf(preload_library()).value_or(elf_file{}).exports) {
        std::string kind = kind_of_object(function);
        if (!kind.empty() && imports.names.contains(function))
            found.replaced[kind].push_back(function);
    }
    for (const auto &[function, note] : reservations) {
        if (imports.names.contains(function))
            found.notes.emplace_back(note);
    }
    if (imports.pauses_of_program > 0)
        found.notes.push_back(
            fmt::format("its code has {} instructions of spinning loops (PAUSE): locks of its own, if "
                        "these are, stay as they are",
                        imports.pauses_of_program));
    found.libraries = libraries.size();
    if (imports.names.contains("__tsan_init")) {
        found.is = verdict::passed_on;
        found.why = "ThreadSanitizer watches it and has to see every lock: all are passed on to its functions";
    } else if (found.replaced.empty()) {
        found.is = verdict::no_locks;
        found.why = "neither it nor its libraries call a function that Holdfast replaces: nothing would change";
    } else {
        found.why = "its locks become Holdfast's under 'holdfast run'";
    }
}

} // namespace

namespace {

path interpreter_at(const std::string &place, const std::string &script) {
    if (!has_program(place))
        throw failure(
            fmt::format("'{}' can't be executed: the interpreter that it names, {}, is not there", script, place),
            exit_not_executable);
    return find_program(place);
}

// A script's interpreter in its place. Of scripts that scripts interpret the kernel follows five.
program_examination located(const std::string &name) {
    program_examination found;
    found.program = find_program(name);
    if (found.program.filename() != path(name).filename())
        found.called = name;
    for (int depth = 0; depth < 5; depth++) {
        std::string interpreter = interpreter_of_script(found.program);
        if (interpreter.empty())
            break;
        if (found.script.empty())
            found.script = found.program;
        std::string next = program_handed_over_to(found.program, interpreter);
        found.program = interpreter_at(next.empty() ? interpreter : next, name);
    }
    if (!interpreter_of_script(found.program).empty())
        throw failure(fmt::format("'{}' can't be executed: the interpreters that it names lead to no program", name),
                      exit_not_executable);
    return found;
}

// Its dynamic linker ends a program that it can't preload a library into, which glibc's does not.
bool asks_for_musl(const elf_file &file) {
    return file.is_musls && !file.interpreter.empty();
}

constexpr const char *of_musl = "is linked with musl, whose locks are other ones than those that Holdfast replaces";

// Empty: it can be preloaded.
std::string why_not_preloaded(const elf_file &file, const path &program) {
    if (!file.native)
        return "it is for another machine or word size, for which there is no interposer";
    if (file.interpreter.empty())
        return "it is linked statically, so nothing can be preloaded: link it dynamically, or with libholdfast.a";
    if (asks_for_musl(file))
        return fmt::format("it {}: 'holdfast run' starts it as it is", of_musl);
    if (!is_our_dynamic_linker(file.interpreter))
        return fmt::format("it asks for the dynamic linker {}, not this system's: libholdfast-preload.so is for that",
                           file.interpreter);
    if (gains_rights(program))
        return "it gains rights when it starts (set-user-ID, set-group-ID or file capabilities), so the dynamic linker "
               "preloads nothing from outside";
    return "";
}

} // namespace

const char *name_of(verdict is) {
    switch (is) {
    case verdict::helped: return "helped";
    case verdict::helped_now: return "helped now";
    case verdict::blocks_now: return "blocks now";
    case verdict::no_locks: return "no locks";
    case verdict::not_preloaded: return "not preloaded";
    case verdict::passed_on: return "passed on";
    }
    return "unknown";
}

std::string why_interposer_stops(const std::string &name) {
    try {
        path program = located(name).program;
        std::optional<elf_file> file = read_elf_head(program);
        if (file && asks_for_musl(*file))
            return fmt::format("{} {}", program.string(), of_musl);
    } catch (const failure &) { // starting it will say what is wrong
    }
    return {};
}

program_examination examine_program(const std::string &name) {
    program_examination found = located(name);
    std::optional<elf_file> file = read_elf(found.program);
    if (!file)
        throw failure(fmt::format("{} can't be examined: {}", found.program.string(),
                                  access(found.program.c_str(), R_OK) == 0 ? "it is no ELF program or script"
                                                                           : std::strerror(errno)),
                      exit_not_executable);
    found.is = verdict::not_preloaded;
    found.why = why_not_preloaded(*file, found.program);
    if (found.why.empty()) {
        found.is = verdict::helped;
        std::set<path> libraries = libraries_of(found.program, file->interpreter);
        if (path machine = java_machine_beside(found.program); !machine.empty()) {
            libraries.insert(machine);
            found.notes.emplace_back("Java's monitors and java.util.concurrent queue in Java and sleep by pthread "
                                     "condition variables, which become Holdfast's; who is next stays Java's choice");
        }
        conclude(found, found.program, libraries);
    }
    return found;
}

std::vector<std::string> sockets_of(pid_t pid) {
    std::string monitor = HF_SERVICE_SOCKET, statistics;
    std::ifstream file(fmt::format("/proc/{}/environ", pid), std::ios::binary);
    for (std::string each; std::getline(file, each, '\0');) {
        for (auto &[variable, value] : {std::pair<std::string_view, std::string &>{HF_SOCKET_VARIABLE "=", monitor},
                                        {HF_STATS_VARIABLE "=", statistics}}) {
            if (each.starts_with(variable))
                value = each.substr(variable.size());
        }
    }
    if (statistics.empty())
        return {monitor};
    return {monitor, statistics};
}

namespace {

// How it runs under Holdfast.
std::pair<verdict, std::string> present_state(const service_report &monitor) {
    using enum service_report::state;
    if (monitor.is == running)
        return {verdict::helped_now, "it runs under Holdfast"};
    if (monitor.is == expected)
        return {verdict::helped_now, "it runs under Holdfast; its threads hardly wait for locks: 'holdfast run' loads "
                                     "a monitor when they do"};
    return {verdict::blocks_now, "it runs under Holdfast, but nobody tells it of preempted holders, so its waiters "
                                 "block: " +
                                     monitor.sentence};
}

[[noreturn]] void cant_examine(pid_t pid, const std::error_code &error) {
    if (!std::filesystem::exists(fmt::format("/proc/{}", pid)))
        throw failure(fmt::format("there is no process {}: check the number", pid));
    std::string why = error.message() + "; run as root";
    if (error == std::errc::no_such_file_or_directory)
        why = "it has no program, as the kernel's own threads and what has ended";
    else if (geteuid() == 0)
        why = error.message() + "; a security module or a container's rules keep it from root, too";
    throw failure(fmt::format("process {} can't be examined: {}", pid, why));
}

} // namespace

program_examination examine_process(pid_t pid) {
    program_examination found;
    std::error_code error;
    found.program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", pid), error);
    if (error)
        cant_examine(pid, error);
    auto [mapped, c_libraries] = code_mapped_by(pid);
    conclude(found, fmt::format("/proc/{}/exe", pid), mapped);
    if (c_libraries > 1)
        found.notes.push_back(
            fmt::format("it has {} C libraries (dlmopen): reader-writer locks that are shared between them "
                        "need --conf rwlock:glibc",
                        c_libraries));
    bool interposed =
        std::ranges::any_of(mapped, [](const path &file) { return file.filename() == preload_library().filename(); });
    if (found.is != verdict::helped)
        return found;
    std::optional<elf_file> file = read_elf_head(fmt::format("/proc/{}/exe", pid));
    std::string why_not = interposed || !file ? "" : why_not_preloaded(*file, fmt::format("/proc/{}/exe", pid));
    if (interposed) {
        std::tie(found.is, found.why) = present_state(ask_service(sockets_of(pid).front()));
    } else if (!why_not.empty()) {
        found.is = verdict::not_preloaded;
        found.why = why_not;
    } else {
        found.why = "it runs without Holdfast: start it again by 'holdfast run'";
    }
    return found;
}

} // namespace holdfast::cli
