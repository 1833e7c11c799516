// SPDX-License-Identifier: MIT OR Apache-2.0
// page.html, which CMake puts into the command: there is no file to find at run time.
#pragma once

namespace holdfast::cli::report {

extern const char *const page_template;

} // namespace holdfast::cli::report
