// SPDX-License-Identifier: MIT OR Apache-2.0
// Functions of the kernel that get an argument from the verifier: which program calls. From Linux 7.1 on many of
// sched_ext's do. Where the kernel's type information shows that argument to callers, as pahole before 1.31 makes it,
// the verifier has no type for a call, and no program can call the function by any name.
#pragma once

#include <string>

struct btf;

namespace holdfast {

// A function that the program calls, and that no program can call in this kernel; empty: there is none. Both may be
// null, of which nothing is known.
std::string function_with_implicit_argument(const btf *program, const btf *kernel);

} // namespace holdfast
