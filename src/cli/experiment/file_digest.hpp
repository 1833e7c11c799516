// SPDX-License-Identifier: MIT OR Apache-2.0
// Tells builds of a program apart: figures of two of them do not belong in one file.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast::cli {

// 64-bit FNV-1a of the file's content, in hexadecimal; not for anything that somebody may want to forge. Throws failure
// when the file can't be read.
std::string digest_of(const std::filesystem::path &file);

} // namespace holdfast::cli
