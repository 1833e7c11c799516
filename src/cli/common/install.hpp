// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the parts of this installation are, found from where the holdfast command itself is: bin, lib,
// libexec/holdfast and share/holdfast lie side by side, installed or in the build tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::cli {

// libholdfast-preload.so. Throws failure when it is not there.
std::filesystem::path preload_library();

// The same. Throws failure also where programs can't be made to load it.
std::filesystem::path preloadable_library();

// The workload program of that name. Throws failure when it is not there.
std::filesystem::path workload_program(const std::string &name);

// The file of a machine that comes with the simulator. Empty when there is none of that name.
std::filesystem::path machine_file(const std::string &name);
std::vector<std::string> machine_names();

} // namespace holdfast::cli
