// SPDX-License-Identifier: MIT OR Apache-2.0
// The unwinder of a build that lacks libdw.
#include "cli/symbols/unwinder.hpp"

namespace holdfast::cli {

struct unwinder::tables {};

unwinder::unwinder(pid_t) {}
unwinder::unwinder(unwinder &&) noexcept = default;
unwinder &unwinder::operator=(unwinder &&) noexcept = default;
unwinder::~unwinder() = default;

std::vector<std::uint64_t> unwinder::frames_of(const hf_stack &) {
    return {};
}

std::size_t unwinder::walks_kept() const {
    return 0;
}

bool unwinder::is_outdated() const {
    return false;
}

std::optional<code_place> unwinder::place_of(std::uint64_t) const {
    return std::nullopt;
}

std::vector<source_frame> unwinder::source_of(std::uint64_t) {
    return {};
}

std::string unwinder::function_at(std::uint64_t) {
    return "";
}

std::string unwinder::why_not() {
    return "stacks are not read: this holdfast was built without libdw";
}

} // namespace holdfast::cli
