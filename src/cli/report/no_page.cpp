// SPDX-License-Identifier: MIT OR Apache-2.0
// In page.cpp's place where kainjow-mustache is missing.
#include "cli/common/exit_status.hpp"
#include "cli/report/page.hpp"

namespace holdfast::cli::report {

std::string page(const std::vector<source> &, const std::vector<section> &,
                 const std::map<std::string, std::string> &) {
    throw failure(
        "this holdfast makes no reports, since it was built without kainjow-mustache: install the library and "
        "build again");
}

} // namespace holdfast::cli::report
