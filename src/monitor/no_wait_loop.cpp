// SPDX-License-Identifier: MIT OR Apache-2.0
// In wait_loop.cpp's place on other machines than x86-64, and where Zydis is missing.
#include "monitor/wait_loop.hpp"

#include <elf.h>

#include "machine_code.h"

namespace holdfast {

std::vector<std::size_t> find_wait_loop(std::span<const std::uint8_t>, std::size_t) {
    return {};
}

std::optional<std::string> why_no_wait_loops() {
    if (HF_ELF_MACHINE != EM_X86_64)
        return "busy-waiting detection knows the machine code of x86-64 alone";
    return "this holdfast can't detect busy waiting, since it was built without Zydis: install the library and build "
           "again";
}

} // namespace holdfast
