// SPDX-License-Identifier: MIT OR Apache-2.0
// The locks that a workload can run with: "glibc", all of lock_list.def, RW-SCL, and the peers of peer_list.def. Every
// one is called through the same table of function pointers, so that no lock has a call less than another.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "lock/lock_table.h"

namespace holdfast::bench {

// RW-SCL's name. Where there are no readers, it is a mutex that only writers take.
inline constexpr const char *rwscl_name = "rwscl";

// Why a lock of peer_list.def is not in this build.
class lock_left_out : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws lock_left_out, or std::invalid_argument with a sentence that lists the known names or says why this kernel is
// not enough for a lock. A peer's trylock may be nullptr.
const hf_lock_kind &find_lock(const std::string &name);

// Whether polls of that lock's waiters are counted (peers/poll_count.h): not those of the libraries' locks.
bool counts_polls(const std::string &name);

// Free locks of one kind, each on cache lines of its own.
class lock_array {
public:
    lock_array(const hf_lock_kind &kind, std::size_t count);

    void *operator[](std::size_t index) const noexcept { return memory_.get() + index * stride_; }

private:
    struct free_memory {
        void operator()(std::byte *memory) const noexcept;
    };
    std::size_t stride_;
    std::unique_ptr<std::byte[], free_memory> memory_;
};

} // namespace holdfast::bench
