// SPDX-License-Identifier: MIT OR Apache-2.0
// Names for addresses in a running process, from /proc/PID/maps and the symbol tables of the files mapped there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>

#include "cli/symbols/symbol_files.hpp"

namespace holdfast::cli {

class process_symbols {
public:
    // Reads the process's map when asked the first time. Files are read when an address in them is asked for, of all of
    // them no more than elf_bytes_max.
    explicit process_symbols(pid_t process, std::shared_ptr<symbol_files> files = std::make_shared<symbol_files>());
    process_symbols(process_symbols &&) noexcept;
    process_symbols &operator=(process_symbols &&) noexcept;
    ~process_symbols();

    // Reads the process's map once more when it is asked the next time.
    void look_again();

    // "queue_lock", "table+0x40" inside an object, "server+0x1234" (file and offset) for what has no symbol, "[heap]"
    // or "[anonymous]" for memory that no file is behind; empty when nothing is mapped there or the map can't be read
    // (the process has ended, or is another user's).
    std::string name_of(std::uint64_t address) const;

    // The address at which the function begins that the address lies in, for code without a symbol: by the tables that
    // all programs have for unwinding. The address itself where that is not known.
    std::uint64_t begin_of_function(std::uint64_t address) const;

    // The path of what is mapped there, as the map has it; may be empty.
    std::string file_of(std::uint64_t address) const;

    // Is it code, or data, of a program that Go's linker has made?
    bool is_gos(std::uint64_t address) const;

private:
    struct tables;
    std::unique_ptr<tables> tables_;
};

} // namespace holdfast::cli
