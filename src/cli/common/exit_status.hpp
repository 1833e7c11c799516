// SPDX-License-Identifier: MIT OR Apache-2.0
// How holdfast ends, for scripts: 0 done; 1 done, but a cell or a program failed; 2 the command line was wrong; 125
// holdfast itself failed; 126 and 127 as env(1): the program can't be executed, or is not found.
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace holdfast::cli {

enum exit_status : int {
    exit_ok = 0,
    exit_some_failed = 1,
    exit_usage = 2,
    exit_holdfast_failed = 125,
    exit_not_executable = 126,
    exit_not_found = 127,
};

// The command line was wrong: one sentence, printed after "holdfast: ".
class usage_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Something that holdfast needs failed: one sentence, and the status to exit with.
class failure : public std::runtime_error {
public:
    failure(const std::string &sentence, int status = exit_holdfast_failed)
        : std::runtime_error(sentence), status_(status) {}
    int status() const { return status_; }

private:
    int status_;
};

// What has happened, and what to do where a limit is in the way. One sentence.
inline std::string sentence_of(const std::exception &error) {
    if (dynamic_cast<const std::bad_alloc *>(&error))
        return "there is not enough memory: raise the limit of address space (ulimit -v) or of the cgroup";
    auto *refused = dynamic_cast<const std::system_error *>(&error);
    if (refused && std::string(error.what()).starts_with("cannot write to file")) // fmt's, of what is printed
        return "not all that was printed could be written to standard output: see that there is room for it";
    bool by_limit = refused && refused->code() == std::error_code(EMFILE, std::generic_category());
    return std::string(error.what()) + (by_limit ? "; raise the limit of open descriptors (ulimit -n)" : "");
}

} // namespace holdfast::cli
