// SPDX-License-Identifier: MIT OR Apache-2.0
// The file that a program's name stands for: itself if there is a slash in it, else what PATH has of that name.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast::cli {

// The first one that can be executed, without symbolic links. Throws failure, with a program's exit status for it,
// where there is none.
std::filesystem::path find_program(const std::string &name);

// What keeps what is there of that name from being executed: a clause, with what to do. Empty when there is nothing.
std::string why_not_executable(const std::string &name);

// Whether there is one, so that a failed exec(2) is about what the file needs.
bool has_program(const std::string &name);

} // namespace holdfast::cli
