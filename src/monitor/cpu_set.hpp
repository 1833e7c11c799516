// SPDX-License-Identifier: MIT OR Apache-2.0
// Sets of CPUs, as the monitor knows them.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

#include "hint/hint_page.h"

namespace holdfast {

using cpu_set = std::bitset<HF_HINT_CPUS>;

cpu_set cpus_of_words(const std::uint64_t (&words)[HF_HINT_CPUS / 64]);
void to_words(const cpu_set &cpus, std::uint64_t (&words)[HF_HINT_CPUS / 64]);

// As Linux writes it: "0-3,8". Empty for no CPU.
std::string to_list(const cpu_set &cpus);
// Nothing for what is no such list, or names a CPU that a set can't hold.
std::optional<cpu_set> cpus_of_list(const std::string &list);

// That can run programs now. Nothing where /sys does not say, or where there may ever be more than a set can hold.
std::optional<cpu_set> online_cpus();
// That this thread, the first of its process, may use now. Nothing when it has ended.
std::optional<cpu_set> allowed_cpus(pid_t thread);

} // namespace holdfast
