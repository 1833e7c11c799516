// SPDX-License-Identifier: MIT OR Apache-2.0
// What an ELF file says of itself to the dynamic linker.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::cli {

struct elf_file {
    bool native = false;           // for this machine, and of this word size
    bool dynamic = false;          // the dynamic linker has work with it
    std::string interpreter;       // the dynamic linker that it asks for; empty for libraries, and static programs
    std::set<std::string> imports; // names of symbols that others have to bring
    std::set<std::string> exports; // and of those that it brings
    std::size_t pauses = 0;        // bytes in its code that look like x86's PAUSE, which spinning loops have
};

// Nothing if it can't be read or is no ELF file. Nothing but regular files is opened, and what goes beyond a quarter of
// a gigabyte of a file's tables is left out: any process may have named it.
std::optional<elf_file> read_elf(const std::filesystem::path &path);

struct elf_symbol {
    std::uint64_t address;
    std::uint64_t bytes;
    std::string name;
};

// What of it lies in memory once it is loaded, by the addresses that the file itself uses.
struct elf_symbols {
    std::uint64_t first = 0;         // where its first page begins
    std::uint64_t end = 0;           // behind its last byte
    std::vector<elf_symbol> symbols; // of data and functions, in ascending order
};

// As read_elf. A file without symbols has none.
std::optional<elf_symbols> read_elf_symbols(const std::filesystem::path &path);

} // namespace holdfast::cli
