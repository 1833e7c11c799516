// SPDX-License-Identifier: MIT OR Apache-2.0
// Registration on a machine that may keep us waiting.
#pragma once

#include "hint/hint.h"
#include "hint/registration.h"
#include "patience.hpp"

namespace holdfast::test {

// Registers this process as programs do; again if the machine kept it waiting for longer than programs, or the server
// with silent visitors, have patience.
inline bool registers() {
    return comes_true([] {
        hf_register();
        return hf_hint_has_monitor();
    });
}

} // namespace holdfast::test
