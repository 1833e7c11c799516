// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/code_map.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <fstream>
#include <map>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.hpp"
#include "cli/symbols/elf_file.hpp"
#include "cli/symbols/symbol_name.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t bytes_max = 64 * 1024 * 1024;
constexpr std::uint64_t looks_apart_ns = 1'000'000'000;

// As the process itself counts: in a container it has another number.
std::string own_number_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/status", process));
    std::string number = std::to_string(process);
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("NSpid:"))
            number = line.substr(line.find_last_of("\t ") + 1);
    }
    return number;
}

// /tmp is everybody's: what another user has put there is not the process's.
descriptor open_map_of(pid_t process) {
    struct stat self {
    }, about{};
    descriptor file = open_regular_file(fmt::format("/proc/{}/root/tmp/perf-{}.map", process, own_number_of(process)));
    if (!file || stat(fmt::format("/proc/{}", process).c_str(), &self) != 0 || fstat(file.get(), &about) != 0 ||
        about.st_uid != self.st_uid)
        return descriptor();
    return file;
}

std::string content_of(const descriptor &file) {
    std::string text(bytes_max, '\0');
    std::size_t bytes = 0;
    for (ssize_t got = 1; got > 0 && bytes < text.size(); bytes += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
        got = pread(file.get(), text.data() + bytes, text.size() - bytes, static_cast<off_t>(bytes));
    text.resize(bytes);
    return text;
}

bool take_number(std::string_view &line, std::uint64_t &number) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.starts_with("0x"))
        line.remove_prefix(2);
    auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, 16);
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    return error == std::errc() && line.starts_with(' ');
}

} // namespace

// Lines of: begin, bytes, name; numbers in hexadecimal.
void code_map::read_again() {
    descriptor file = open_map_of(process_);
    struct stat about {};
    if (!file || fstat(file.get(), &about) != 0 || static_cast<std::size_t>(about.st_size) == bytes_read_)
        return;
    std::string text = content_of(file);
    bytes_read_ = static_cast<std::size_t>(about.st_size);
    std::map<std::uint64_t, function> found;
    for (std::string_view left = text; !left.empty();) {
        std::string_view line = left.substr(0, left.find('\n'));
        left.remove_prefix(std::min(line.size() + 1, left.size()));
        std::uint64_t from = 0, bytes = 0;
        if (!take_number(line, from) || !take_number(line, bytes) || bytes == 0)
            continue;
        line.remove_prefix(1);
        found[from] = {.from = from,
                       .to = from + std::min(bytes, UINT64_MAX - from),
                       .name = std::string(line.substr(0, symbol_name_bytes_max))};
    }
    functions_.clear();
    for (auto &[from, each] : found)
        functions_.push_back(std::move(each));
}

std::string code_map::name_of(std::uint64_t address) {
    if (looked_ns_ == 0 || hf_monotonic_ns() - looked_ns_ > looks_apart_ns) {
        looked_ns_ = hf_monotonic_ns();
        read_again();
    }
    auto next = std::ranges::upper_bound(functions_, address, {}, &function::from);
    if (next != functions_.begin() && address < std::prev(next)->to && !std::prev(next)->name.empty())
        return std::prev(next)->name;
    return "[code made at run time]";
}

} // namespace holdfast::cli
