// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/program_search.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/core.h>
#include <sstream>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {
namespace {

using path = std::filesystem::path;

std::vector<path> places_of(const std::string &name) {
    if (name.find('/') != std::string::npos)
        return {name};
    std::vector<path> places;
    const char *search = std::getenv("PATH");
    std::istringstream directories(search ? search : "/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');)
        places.push_back(path(directory.empty() ? "." : directory) / name);
    return places;
}

bool is_executable(const path &place) {
    std::error_code ignored;
    return access(place.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(place, ignored);
}

bool is_there(const path &place) {
    std::error_code ignored;
    return std::filesystem::exists(std::filesystem::symlink_status(place, ignored));
}

std::string why_not(const path &place) {
    std::error_code ignored;
    if (!std::filesystem::exists(place, ignored))
        return "it is a link that leads to no file";
    if (std::filesystem::is_directory(place, ignored))
        return "it is a directory; name a program in it";
    if (!std::filesystem::is_regular_file(place, ignored))
        return "it is no file of a program";
    auto mode = std::filesystem::status(place, ignored).permissions();
    using std::filesystem::perms;
    if ((mode & (perms::owner_exec | perms::group_exec | perms::others_exec)) == perms::none)
        return "it is not executable; if it is a program, make it so by 'chmod +x'";
    return "this user may not execute it";
}

} // namespace

path find_program(const std::string &name) {
    std::vector<path> places = places_of(name);
    auto found = std::find_if(places.begin(), places.end(), is_executable);
    if (found != places.end())
        return std::filesystem::canonical(*found);
    if (std::string why = why_not_executable(name); !why.empty())
        throw failure(fmt::format("'{}' can't be executed: {}", name, why), exit_not_executable);
    throw failure(fmt::format("there is no program '{}': check its name and PATH", name), exit_not_found);
}

std::string why_not_executable(const std::string &name) {
    std::vector<path> places = places_of(name);
    auto there = std::find_if(places.begin(), places.end(), is_there);
    return there == places.end() ? "" : why_not(*there);
}

bool has_program(const std::string &name) {
    std::vector<path> places = places_of(name);
    return std::any_of(places.begin(), places.end(), is_executable);
}

} // namespace holdfast::cli
