// SPDX-License-Identifier: MIT OR Apache-2.0
// Machine code that only waits: a way round which, gone once more, changes nothing unless another thread does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

// The offsets of all instructions on ways through the instruction at `at` and back to it that only wait: empty where
// there is none. `code` is what is around it; anything unknown in it ends a way.
std::vector<std::size_t> find_wait_loop(std::span<const std::uint8_t> code, std::size_t at);

// Why no machine code is understood, as a sentence; nothing where it is.
std::optional<std::string> why_no_wait_loops();

} // namespace holdfast
