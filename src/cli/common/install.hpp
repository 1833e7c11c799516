// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the parts of this installation are, found from where the holdfast command itself is: bin, lib and
// libexec/holdfast lie side by side, installed or in the build tree.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast::cli {

// libholdfast-preload.so. Throws failure when it is not there.
std::filesystem::path preload_library();

// The same. Throws failure also where programs can't be made to load it.
std::filesystem::path preloadable_library();

// The workload program of that name. Throws failure when it is not there.
std::filesystem::path workload_program(const std::string &name);

} // namespace holdfast::cli
