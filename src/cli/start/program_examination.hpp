// SPDX-License-Identifier: MIT OR Apache-2.0
// What `holdfast run` would do for a program, and what not: told from its files, without running it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::cli {

struct program_examination {
    enum class verdict {
        helped,        // its locks become Holdfast's
        helped_now,    // and are already
        blocks_now,    // they are, but its monitor is gone
        no_locks,      // it calls no function that the interposer replaces
        not_preloaded, // nothing can be preloaded into it
        passed_on,     // a sanitizer that has to see every lock keeps its functions
    };

    std::filesystem::path program; // that is examined: of a script, its interpreter, or what it hands over to
    std::string called;            // the name that leads to the program, if the program's own is another one
    std::string script;            // that leads to it, or none
    std::size_t libraries = 0;     // that it is linked with, or has loaded
    // By kind of object ("mutex"), the functions that it and its libraries import and the interposer replaces.
    std::map<std::string, std::vector<std::string>> replaced;
    std::vector<std::string> notes; // each a sentence: what stays glibc's and why, and what else to know
    verdict is = verdict::helped;
    std::string why; // a sentence, with what to do
};

const char *name_of(program_examination::verdict is);

// A path, or a name to look up in PATH. Throws failure when there is no such program or it can't be read.
program_examination examine_program(const std::string &name);

// Where the process was told to find its monitor, and who keeps its statistics; the service's where nothing was said,
// or that can't be read.
std::vector<std::string> sockets_of(pid_t pid);

// Why the program, a path or a name to look up in PATH, would not even start with the interposer preloaded. Empty: it
// would, or it can't be started in any way.
std::string why_interposer_stops(const std::string &name);

// A process that runs. Throws failure when there is none, or it is another user's.
program_examination examine_process(pid_t pid);

} // namespace holdfast::cli
