// SPDX-License-Identifier: MIT OR Apache-2.0
// What an ELF file says of itself to the dynamic linker.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

namespace holdfast::cli {

struct elf_file {
    bool native = false;           // for this machine, and of this word size
    bool dynamic = false;          // the dynamic linker has work with it
    std::string interpreter;       // the dynamic linker that it asks for; empty for libraries, and static programs
    std::set<std::string> imports; // names of symbols that others have to bring
    std::set<std::string> exports; // and of those that it brings
    std::size_t pauses = 0;        // bytes in its code that look like x86's PAUSE, which spinning loops have
};

// Nothing if it can't be read or is no ELF file.
std::optional<elf_file> read_elf(const std::filesystem::path &path);

} // namespace holdfast::cli
