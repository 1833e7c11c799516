// SPDX-License-Identifier: MIT OR Apache-2.0
// RFC 4648, section 4.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli::report {

std::string base64(std::string_view bytes);

} // namespace holdfast::cli::report
