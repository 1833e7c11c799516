// SPDX-License-Identifier: MIT OR Apache-2.0
// The locks that can be simulated: those of lock_list.def, and glibc's mutex, which is not ours to compile and is
// written down here as its source has it.
#pragma once

#include <string>
#include <vector>

#include "lock/lock_table.h"

namespace holdfast::sim {

// Throws std::invalid_argument with a sentence that lists the known names.
const hf_lock_kind &find_lock(const std::string &name);
std::vector<std::string> lock_names();

bool is_glibc(const hf_lock_kind &kind);
// As a thread takes it again that has waited for a condition variable: others may sleep.
void glibc_lock_as_sleeper(void *lock);

// So many free locks, on lines of their own, at the same addresses in each run.
void *locks_at(std::size_t count, std::size_t bytes);

} // namespace holdfast::sim
