// SPDX-License-Identifier: MIT OR Apache-2.0
// The Preemption Monitor, loaded into the kernel: one BPF program at the scheduler's switch, and the page that it
// writes.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "hint/hint_page.h"

namespace holdfast {

// Why there is no monitor: one sentence, with what to do about it.
class monitor_unavailable : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class monitor {
public:
    // What it gets to see of the scheduler's switches. `from_followed` is for tests: like a kernel that hides the
    // switches from a protected process, it hides those from every process that is not followed.
    enum class sight { every_switch, from_followed };

    // Loads, attaches and starts it. Throws monitor_unavailable.
    explicit monitor(sight seen = sight::every_switch);
    // Detaches it and leaves the page saying so: count 0, state HF_MONITOR_RETIRED.
    ~monitor();
    monitor(const monitor &) = delete;
    monitor &operator=(const monitor &) = delete;

    // Follows the process behind the pidfd: `tls_offset` as hf_thread_record_tls_offset() tells. Returns 0 or an errno:
    // EEXIST when it has HF_RECORDS_A_THREAD other offsets already, ESRCH when it is gone. Not to be called by several
    // threads for one process.
    int follow(int pidfd, std::int64_t tls_offset);

    // Stops following it; nothing happens if it wasn't followed.
    void forget(int pidfd);

    // The page: read-only, for as long as this object lives; and a descriptor of it to pass to others.
    const hf_hint_page &page() const;
    int page_fd() const;

private:
    struct loaded;
    std::unique_ptr<loaded> loaded_;
};

} // namespace holdfast
