// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/process_symbols.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/symbols/elf_file.hpp"
#include "cli/symbols/symbol_name.hpp"

namespace holdfast::cli {
namespace {

struct mapping {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t offset = 0;
    std::string path; // of a file, a name in brackets, or nothing
    std::string file; // which one it was when it was mapped: another may have that path by now
};

std::vector<mapping> mappings_of(pid_t process) {
    std::vector<mapping> all;
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream fields(line);
        mapping each;
        std::string rights, device, inode;
        char dash = 0;
        fields >> std::hex >> each.from >> dash >> each.to >> rights >> each.offset >> device >> inode >> std::ws;
        std::getline(fields, each.path);
        each.file = fmt::format("{} {} {}", device, inode, each.path);
        all.push_back(each);
    }
    return all;
}

std::string with_offset(const std::string &name, std::uint64_t offset) {
    return offset == 0 ? name : fmt::format("{}+{:#x}", name, offset);
}

// The symbol that the address lies in.
std::optional<std::string> symbol_at(const elf_symbols &file, std::uint64_t address) {
    auto next = std::ranges::upper_bound(file.symbols, address, {}, &elf_symbol::address);
    if (next == file.symbols.begin())
        return std::nullopt;
    const elf_symbol &at = *std::prev(next);
    if (address - at.address >= std::max<std::uint64_t>(at.bytes, 1))
        return std::nullopt;
    return with_offset(plain_symbol_name(at.name), address - at.address);
}

} // namespace

struct process_symbols::tables {
    pid_t process;
    std::optional<std::vector<mapping>> mapped; // in ascending order
    std::shared_ptr<symbol_files> files;
    std::map<std::string, std::shared_ptr<const elf_symbols>> read; // by mapping::file
    std::size_t bytes_left = elf_bytes_max;

    const std::vector<mapping> &mappings() {
        if (!mapped)
            mapped = mappings_of(process);
        return *mapped;
    }

    // The very file, if we may (with CAP_SYS_ADMIN); else what has its path now, seen from the process's root
    // directory: it may have another one than we.
    descriptor open_file(const mapping &where) const {
        descriptor itself =
            open_regular_file(fmt::format("/proc/{}/map_files/{:x}-{:x}", process, where.from, where.to));
        return itself ? std::move(itself) : open_regular_file(fmt::format("/proc/{}/root{}", process, where.path));
    }

    const elf_symbols *symbols_of(const mapping &begin) {
        auto [found, is_new] = read.try_emplace(begin.file);
        if (is_new)
            found->second = files->of(open_file(begin), bytes_left);
        return found->second.get();
    }

    // A file's zeroed memory (.bss) lies in a nameless mapping behind the file's: so what counts is where the file
    // begins, and how far it says that it extends.
    std::optional<std::string> name_in_file(const mapping &begin, std::uint64_t address) {
        const elf_symbols *file = symbols_of(begin);
        if (!file || address - begin.from >= file->end - file->first)
            return std::nullopt;
        std::uint64_t inside = address - begin.from + file->first;
        if (auto symbol = symbol_at(*file, inside))
            return symbol;
        return with_offset(std::filesystem::path(begin.path).filename().string(), address - begin.from);
    }

    std::string name_of(std::uint64_t address) {
        const mapping *around = nullptr, *begin = nullptr;
        for (const mapping &each : mappings()) {
            if (each.from > address)
                break;
            if (each.path.starts_with('/') && each.offset == 0)
                begin = &each;
            if (address < each.to)
                around = &each;
        }
        if (!around)
            return "";
        if (auto name = begin ? name_in_file(*begin, address) : std::nullopt)
            return *name;
        if (around->path.starts_with('/'))
            return with_offset(std::filesystem::path(around->path).filename().string(),
                               address - around->from + around->offset);
        return around->path.empty() ? "[anonymous]" : around->path;
    }
};

process_symbols::process_symbols(pid_t process, std::shared_ptr<symbol_files> files)
    : tables_(std::make_unique<tables>()) {
    tables_->process = process;
    tables_->files = std::move(files);
}

process_symbols::process_symbols(process_symbols &&) noexcept = default;
process_symbols &process_symbols::operator=(process_symbols &&) noexcept = default;
process_symbols::~process_symbols() = default;

void process_symbols::look_again() {
    tables_->mapped.reset();
}

std::string process_symbols::name_of(std::uint64_t address) const {
    return tables_->name_of(address);
}

} // namespace holdfast::cli
