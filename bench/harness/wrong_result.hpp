// SPDX-License-Identifier: MIT OR Apache-2.0
// A program's result is not what it must be: its locks have not excluded, or work was lost or done twice.
#pragma once

#include <stdexcept>

namespace holdfast::bench {

class wrong_result : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace holdfast::bench
