// SPDX-License-Identifier: MIT OR Apache-2.0
// The peers of peer_list.def as a table.
#pragma once

#include <string>
#include <vector>

#include "lock/lock_table.h"

namespace holdfast::bench {

struct peer {
    hf_lock_kind kind; // trylock may be nullptr, clocklock is
    bool is_library;   // somebody's, so that sanitizers may not see into it
    bool available;    // on this kernel; where not, it can still be used, without what makes it special
};

const std::vector<peer> &peers();

} // namespace holdfast::bench
