// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/process_symbols.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cli/symbols/elf_file.hpp"
#include "cli/symbols/process_map.hpp"
#include "cli/symbols/symbol_name.hpp"

namespace holdfast::cli {
namespace {

std::string with_offset(const std::string &name, std::uint64_t offset) {
    return offset == 0 ? name : fmt::format("{}+{:#x}", name, offset);
}

// The symbol that the address lies in.
std::optional<std::string> symbol_at(const elf_symbols &file, std::uint64_t address) {
    auto next = std::ranges::upper_bound(file.symbols, address, {}, &elf_symbol::address);
    if (next == file.symbols.begin())
        return std::nullopt;
    // Of several names of one thing the plainest: "free", not "cfree" or "__libc_free".
    auto plainness = [](const elf_symbol &each) {
        return std::pair(each.name.starts_with('_') && !each.name.starts_with("_Z"), each.name.size());
    };
    const elf_symbol *best = nullptr;
    for (auto each = std::prev(next);; --each) {
        if (each->address != std::prev(next)->address)
            break;
        if (address - each->address < std::max<std::uint64_t>(each->bytes, 1) &&
            (!best || plainness(*each) < plainness(*best)))
            best = &*each;
        if (each == file.symbols.begin())
            break;
    }
    if (!best)
        return std::nullopt;
    return with_offset(plain_symbol_name(best->name), address - best->address);
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

    const elf_symbols *symbols_of(const mapping &begin) {
        auto [found, is_new] = read.try_emplace(begin.file);
        if (is_new)
            found->second = files->of(open_mapped_file(process, begin), bytes_left);
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

    const mapping *begin_of_file(std::uint64_t address) {
        const mapping *begin = nullptr;
        for (const mapping &each : mappings()) {
            if (each.from > address)
                break;
            if (each.is_of_file() && each.offset == 0)
                begin = &each;
        }
        return begin;
    }

    bool is_gos(std::uint64_t address) {
        const mapping *begin = begin_of_file(address);
        const elf_symbols *file = begin ? symbols_of(*begin) : nullptr;
        return file && file->is_gos && address - begin->from < file->end - file->first;
    }

    std::uint64_t begin_of_function(std::uint64_t address) {
        const mapping *begin = begin_of_file(address);
        const elf_symbols *file = begin ? symbols_of(*begin) : nullptr;
        if (!file || address - begin->from >= file->end - file->first)
            return address;
        std::uint64_t inside = address - begin->from + file->first;
        auto next = std::ranges::upper_bound(file->functions, inside);
        return next == file->functions.begin() ? address : *std::prev(next) - file->first + begin->from;
    }

    std::string name_of(std::uint64_t address) {
        const mapping *around = nullptr, *begin = nullptr;
        for (const mapping &each : mappings()) {
            if (each.from > address)
                break;
            if (each.is_of_file() && each.offset == 0)
                begin = &each;
            if (address < each.to)
                around = &each;
        }
        if (!around)
            return "";
        if (auto name = begin ? name_in_file(*begin, address) : std::nullopt)
            return *name;
        if (around->is_of_file())
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

std::uint64_t process_symbols::begin_of_function(std::uint64_t address) const {
    return tables_->begin_of_function(address);
}

bool process_symbols::is_gos(std::uint64_t address) const {
    return tables_->is_gos(address);
}

std::string process_symbols::file_of(std::uint64_t address) const {
    for (const mapping &each : tables_->mappings()) {
        if (address >= each.from && address < each.to)
            return each.path;
    }
    return "";
}

} // namespace holdfast::cli
