// SPDX-License-Identifier: MIT OR Apache-2.0
// Where threads wait for locks, and where their holders are: from the stacks of waits that the kernel shows, of all
// processes, since this object was made.
#pragma once

#include <memory>
#include <string>

#include "cli/top/look.hpp"
#include "monitor/older_waits.hpp"

namespace holdfast::cli::top {

class lock_places {
public:
    // What can't be seen is left out.
    lock_places();
    ~lock_places();
    lock_places(const lock_places &) = delete;
    lock_places &operator=(const lock_places &) = delete;

    // Empty: stacks are seen.
    const std::string &why_not() const { return why_not_; }
    // Of waits that began before; also where there is nothing at all.
    older_waits sees_older() const;

    // To be called at the beginning of each look.
    void look();
    // Tells of the process's locks who waits where and who holds it; names those that have no name; and adds Python's
    // GIL, whose sleeps are not known as a lock's otherwise.
    void add_to(process_sample &process);
    void forget_ended();

private:
    struct watched;
    std::unique_ptr<watched> watched_;
    std::string why_not_;
};

} // namespace holdfast::cli::top
