// SPDX-License-Identifier: MIT OR Apache-2.0
// Which kinds of objects can be Holdfast's in programs that run with this system's C library.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "config/policy_text.h"

namespace holdfast::cli {

// As HOLDFAST_CONF names them: is there room in the C library's objects of that kind?
using object_fits = std::map<std::string, bool>;

object_fits find_object_fits(const std::function<bool(hf_object)> &fits);
object_fits find_object_fits(); // of the library that runs

// "glibc 2.36"
std::string name_of_c_library();

// One sentence about the kinds that stay the C library's, for --stats and doctor; empty when there is none.
std::string about_objects_left(const object_fits &fits);

} // namespace holdfast::cli
