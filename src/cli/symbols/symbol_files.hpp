// SPDX-License-Identifier: MIT OR Apache-2.0
// The symbols of files, read once and kept for as long as somebody has them, however many processes have a file mapped
// and by whatever paths: links to one file could make it any number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "cli/symbols/elf_file.hpp"

namespace holdfast::cli {

class symbol_files {
public:
    // What is kept at once takes so many bytes at most.
    explicit symbol_files(std::size_t bytes_max = 4 * elf_bytes_max);

    // Nothing if it is no ELF file. Reads no more than bytes_left and takes that from it; what was left out of a file
    // for this is left out for this caller alone.
    std::shared_ptr<const elf_symbols> of(const descriptor &file, std::size_t &bytes_left);

private:
    std::map<file_identity, std::weak_ptr<const elf_symbols>> known_;
    std::shared_ptr<std::size_t> bytes_left_; // what is kept may outlive this
};

} // namespace holdfast::cli
