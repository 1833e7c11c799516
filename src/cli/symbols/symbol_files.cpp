// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/symbol_files.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::cli {

symbol_files::symbol_files(std::size_t bytes_max) : bytes_left_(std::make_shared<std::size_t>(bytes_max)) {}

std::shared_ptr<const elf_symbols> symbol_files::of(const descriptor &file, std::size_t &bytes_left) {
    std::optional<file_identity> which = identity_of(file);
    if (!which)
        return nullptr;
    std::erase_if(known_, [](const auto &each) { return each.second.expired(); });
    if (auto found = known_.find(*which); found != known_.end())
        return found->second.lock();

    const std::size_t allowed = std::min(bytes_left, *bytes_left_);
    std::size_t rest = allowed;
    std::optional<elf_symbols> read = read_elf_symbols(file, rest);
    bytes_left -= allowed - rest;
    if (!read)
        return nullptr;
    *bytes_left_ -= allowed - rest;
    auto give_back = [taken = allowed - rest, all = bytes_left_](const elf_symbols *symbols) {
        *all += taken;
        delete symbols;
    };
    std::shared_ptr<const elf_symbols> kept(new elf_symbols(std::move(*read)), give_back);
    if (kept->complete)
        known_.emplace(*which, kept);
    return kept;
}

} // namespace holdfast::cli
