// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/file_digest.hpp"

#include <array>
#include <cstdint>
#include <fmt/core.h>
#include <fstream>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {

std::string digest_of(const std::filesystem::path &file) {
    constexpr std::uint64_t basis = 0xcbf29ce484222325u, prime = 0x100000001b3u;
    std::ifstream content(file, std::ios::binary);
    std::uint64_t digest = basis;
    std::array<char, 1 << 16> block;
    while (content.read(block.data(), block.size()) || content.gcount() > 0) {
        for (std::streamsize i = 0; i < content.gcount(); i++)
            digest = (digest ^ static_cast<unsigned char>(block[static_cast<std::size_t>(i)])) * prime;
    }
    if (!content.eof())
        throw failure(fmt::format("can't read '{}'", file.string()));
    return fmt::format("{:016x}", digest);
}

} // namespace holdfast::cli
