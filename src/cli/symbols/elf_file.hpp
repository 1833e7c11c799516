// SPDX-License-Identifier: MIT OR Apache-2.0
// What an ELF file says of itself to the dynamic linker.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <tuple>
#include <vector>

#include "base/descriptor.hpp"

namespace holdfast::cli {

// Files are named by processes that may want to harm their reader, which may be root. So nothing but a
// regular file is opened, which is none of the kernel's: opening a FIFO waits, opening a device may do anything.
descriptor open_regular_file(const std::filesystem::path &path);

// Which file it is, whatever its paths: device and number, with the time of its last change, since another file may
// have the number next. Nothing if there is none.
using file_identity = std::tuple<dev_t, ino_t, std::int64_t, std::int64_t>;
std::optional<file_identity> identity_of(const descriptor &file);

// What is read of one file at most: tables, code, and names, of which many may be one long one. A sparse file says that
// it has any number of gigabytes. The symbols of a browser fit several times.
constexpr std::size_t elf_bytes_max = std::size_t{256} << 20;

struct elf_file {
    bool native = false;           // for this machine, and of this word size
    bool dynamic = false;          // the dynamic linker has work with it
    std::string interpreter;       // the dynamic linker that it asks for; empty for libraries, and static programs
    bool is_musls = false;         // of a program: musl is its C library
    std::set<std::string> imports; // names of symbols that others have to bring
    std::set<std::string> exports; // and of those that it brings
    std::size_t pauses = 0;        // bytes in its code that look like PAUSE or its like, which spinning loops have
};

// The first four of these alone, at the price of a page of the file.
std::optional<elf_file> read_elf_head(const std::filesystem::path &path);

// Nothing if it can't be read or is no ELF file. What goes beyond elf_bytes_max is left out.
std::optional<elf_file> read_elf(const std::filesystem::path &path);

struct elf_symbol {
    std::uint64_t address;
    std::uint64_t bytes;
    std::string name;
};

// What of it lies in memory once it is loaded, by the addresses that the file itself uses.
struct elf_symbols {
    std::uint64_t first = 0; // where its first page begins
    std::uint64_t end = 0;   // behind its last byte
    // Where functions begin, in ascending order, by the table that unwinding looks them up in (.eh_frame_hdr): stripped
    // programs have it, too.
    std::vector<std::uint64_t> functions;
    std::vector<elf_symbol> symbols; // of data and functions, in ascending order
    bool complete = true;            // nothing was left out for want of bytes
    bool is_gos = false;             // Go's linker has made it; a stripped one says so, too
};

// As read_elf, but of so many bytes, from which it takes what it reads. A file without symbols has none.
std::optional<elf_symbols> read_elf_symbols(const descriptor &from, std::size_t &bytes_left);

} // namespace holdfast::cli
