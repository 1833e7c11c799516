// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/symbols/process_map.hpp"

#include <fmt/core.h>
#include <fstream>
#include <sstream>
#include <utility>

#include "cli/symbols/elf_file.hpp"

namespace holdfast::cli {

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
        each.executable = rights.find('x') != std::string::npos;
        each.file = fmt::format("{} {} {}", device, inode, each.path);
        all.push_back(each);
    }
    return all;
}

bool runs_on_musl(pid_t process) {
    return read_elf_head(fmt::format("/proc/{}/exe", process)).value_or(elf_file{}).is_musls;
}

descriptor open_mapped_file(pid_t process, const mapping &where) {
    descriptor itself = open_regular_file(fmt::format("/proc/{}/map_files/{:x}-{:x}", process, where.from, where.to));
    return itself ? std::move(itself) : open_regular_file(fmt::format("/proc/{}/root{}", process, where.path));
}

} // namespace holdfast::cli
