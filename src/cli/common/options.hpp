// SPDX-License-Identifier: MIT OR Apache-2.0
// Options of the kinds that several verbs have: a number, several numbers, a file, a program.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "cli/common/not_empty.hpp"
#include "measure/number_range.hpp"

namespace holdfast::cli {

// What a number is of, as --help shows it, and from where to where it goes.
template <class Number>
struct number_kind {
    const char *name;
    Number low, high;
};

// `value` holds the default.
template <class Number>
CLI::Option *add_number(CLI::App &verb, const char *name, Number &value, const char *help,
                        std::type_identity_t<number_kind<Number>> kind) {
    return verb.add_option(name, value, help)
        ->type_name(kind.name)
        ->check(from_to(kind.low, kind.high))
        ->capture_default_str();
}

template <class Number>
CLI::Option *add_number(CLI::App &verb, const char *name, std::optional<Number> &value, const char *help,
                        std::type_identity_t<number_kind<Number>> kind) {
    return verb.add_option(name, value, help)->type_name(kind.name)->check(from_to(kind.low, kind.high));
}

// Separated by commas. `values` holds the default, if there is one.
template <class Number>
CLI::Option *add_numbers(CLI::App &verb, const char *name, std::vector<Number> &values, const char *help,
                         std::type_identity_t<number_kind<Number>> kind) {
    CLI::Option *added = verb.add_option(name, values, help)
                             ->type_name(kind.name)
                             ->delimiter(',')
                             ->allow_extra_args(false)
                             ->check(from_to(kind.low, kind.high));
    return values.empty() ? added : added->capture_default_str();
}

inline CLI::Option *add_file(CLI::App &verb, const char *name, std::string &path, const char *help) {
    return verb.add_option(name, path, help)->type_name("FILE")->check(not_empty());
}

// Last of all: the program that the verb runs, and as whom.
inline void add_program(CLI::App &verb, bool &as_root, std::vector<std::string> &program) {
    verb.add_flag("--as-root", as_root, "Under sudo: run the program as root, not as the user who called sudo");
    verb.add_option("program", program, "The program and its arguments")->type_name("PROG ARG...");
}

} // namespace holdfast::cli
