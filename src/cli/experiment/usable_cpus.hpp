// SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once

#include <vector>

namespace holdfast::cli {

// Numbers of the CPUs that this process, hence any that it starts, may run on. Empty when the kernel does not say.
std::vector<int> usable_cpus();

} // namespace holdfast::cli
