// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/install.hpp"

#include <algorithm>
#include <fmt/core.h>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {
namespace {

namespace fs = std::filesystem;

fs::path prefix() {
    std::error_code error;
    fs::path executable = fs::read_symlink("/proc/self/exe", error);
    if (error)
        throw failure(
            fmt::format("holdfast can't find its own files by /proc/self/exe ({}): mount /proc here, by 'mount "
                        "-t proc proc /proc'",
                        error.message()));
    return executable.parent_path().parent_path();
}

fs::path found(const fs::path &path, const std::string &what) {
    std::error_code ignored;
    if (!fs::exists(path, ignored))
        throw failure(fmt::format("{} is missing at {}: build or install holdfast again", what, path.string()));
    return path;
}

constexpr const char *machine_suffix = ".machine";

fs::path machine_directory() {
    return prefix() / "share" / "holdfast" / "machines";
}

} // namespace

fs::path preload_library() {
    // A distribution may put libraries into a directory named for the architecture.
    for (const char *directory : {"lib", "lib64", HF_INSTALL_LIBDIR}) {
        fs::path candidate = prefix() / directory / "libholdfast-preload.so";
        std::error_code ignored;
        if (fs::exists(candidate, ignored))
            return candidate;
    }
    return found(prefix() / "lib" / "libholdfast-preload.so", "the interposer");
}

fs::path preloadable_library() {
    fs::path library = preload_library();
    // ld.so splits LD_PRELOAD there and knows no escape: it would say "ignored", and the program ran without us.
    if (library.native().find_first_of(": ") != std::string::npos)
        throw failure(fmt::format("the interposer '{}' can't be preloaded, as its path has a space or a colon: install "
                                  "holdfast into a path without them",
                                  library.native()));
    return library;
}

fs::path workload_program(const std::string &name) {
    fs::path path = prefix() / "libexec" / "holdfast" / name;
    std::error_code ignored;
    if (!fs::exists(path, ignored))
        throw failure(
            fmt::format("the workload program {} is missing: install the package holdfast-bench, or build with "
                        "-DHF_BENCH=ON (./dev bench does)",
                        path.string()));
    return path;
}

fs::path machine_file(const std::string &name) {
    fs::path path = machine_directory() / (name + machine_suffix);
    std::error_code ignored;
    return fs::exists(path, ignored) ? path : fs::path();
}

std::vector<std::string> machine_names() {
    std::vector<std::string> names;
    std::error_code ignored;
    for (const auto &one : fs::directory_iterator(machine_directory(), ignored)) {
        if (one.path().extension() == machine_suffix)
            names.push_back(one.path().stem());
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace holdfast::cli
