// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/object_fit.hpp"

#include <array>
#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <vector>

#include "preload/glibc_layout.h"

namespace holdfast::cli {
namespace {

struct object_name {
    hf_object object;
    const char *name, *several;
};
constexpr std::array<object_name, HF_OBJECTS> object_names{{
    {HF_OBJECT_MUTEX, "mutex", "mutexes"},
    {HF_OBJECT_COND, "cond", "condition variables"},
    {HF_OBJECT_RWLOCK, "rwlock", "reader-writer locks"},
    {HF_OBJECT_SPIN, "spin", "spinlocks"},
    {HF_OBJECT_BARRIER, "barrier", "barriers"},
}};

} // namespace

object_fits find_object_fits(const std::function<bool(hf_object)> &fits) {
    object_fits found;
    for (const object_name &each : object_names)
        found[each.name] = fits(each.object);
    return found;
}

object_fits find_object_fits() {
    return find_object_fits([](hf_object object) { return hf_object_fits(object); });
}

std::string name_of_c_library() {
    return std::string("glibc ") + gnu_get_libc_version();
}

std::string about_objects_left(const object_fits &fits) {
    std::vector<std::string> left;
    for (const object_name &each : object_names)
        if (!fits.at(each.name))
            left.emplace_back(each.several);
    if (left.empty())
        return {};
    std::string kinds = left.front();
    for (std::size_t i = 1; i < left.size(); i++)
        kinds += (i + 1 == left.size() ? " and " : ", ") + left[i];
    return fmt::format(
        "{} stay glibc's: {} lays them out in a way that this Holdfast does not know; look for a newer one", kinds,
        name_of_c_library());
}

} // namespace holdfast::cli
