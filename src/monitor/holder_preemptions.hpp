// SPDX-License-Identifier: MIT OR Apache-2.0
// Which locks' holders were not running, read from the monitor's map for one process at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "hint/registration.h"

namespace holdfast {

class holder_preemptions {
public:
    // `map` as holder_preemptions.bpf.h makes it; must outlive this.
    explicit holder_preemptions(int map) : map_(map) {}

    // Fills in all but the reply, for the process that has been followed since then.
    void tell(std::uint64_t followed_since_ns, hf_process_absences &told);

private:
    void read();

    int map_;
    std::uint64_t read_at_ns_ = 0;
    std::vector<hf_absence_key> keys_;
    std::vector<hf_holder_absences> holders_;
};

} // namespace holdfast
