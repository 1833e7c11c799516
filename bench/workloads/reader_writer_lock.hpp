// SPDX-License-Identifier: MIT OR Apache-2.0
// The reader-writer locks that can be measured: glibc's, Holdfast's, RW-SCL. Any other name is a mutex, which readers
// take one by one.
#pragma once

#include <memory>
#include <string>

#include "harness/measured_lock.hpp"

namespace holdfast::bench {

// A ratio of readers' time to writers', and the shorter slice (below 0: as it is by default); of RW-SCL.
struct reader_writer_slices {
    unsigned readers, writers;
    double slice_us;
};

// Called through one table for all, so that no lock has a call less than another.
class reader_writer_lock {
public:
    virtual ~reader_writer_lock() = default;
    virtual void read_lock() = 0;
    virtual void read_unlock() = 0;
    virtual void write_lock() = 0;
    virtual void write_unlock() = 0;
};

std::unique_ptr<reader_writer_lock> make_reader_writer_lock(const hf_lock_kind &kind,
                                                            const reader_writer_slices &slices);

} // namespace holdfast::bench
