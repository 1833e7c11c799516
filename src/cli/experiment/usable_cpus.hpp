// SPDX-License-Identifier: MIT OR Apache-2.0
// The CPUs that this process may run on.
#pragma once

#include <vector>

namespace holdfast::cli {

// Their numbers. Any process that this one starts may run on the same. Empty when the kernel does not say.
std::vector<int> usable_cpus();

} // namespace holdfast::cli
