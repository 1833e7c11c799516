// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/reader_writer_lock.hpp"

#include <pthread.h>

#include "holdfast/rwscl.h"
#include "lock/posix/read_write_lock.h"

namespace holdfast::bench {
namespace {

class alignas(HF_CACHE_LINE_BYTES) glibc_lock final : public reader_writer_lock {
    void read_lock() override { pthread_rwlock_rdlock(&native_); }
    void read_unlock() override { pthread_rwlock_unlock(&native_); }
    void write_lock() override { pthread_rwlock_wrlock(&native_); }
    void write_unlock() override { pthread_rwlock_unlock(&native_); }

    pthread_rwlock_t native_ = PTHREAD_RWLOCK_INITIALIZER;
};

// As the interposer uses it.
class alignas(HF_CACHE_LINE_BYTES) flexguard_lock final : public reader_writer_lock {
    void read_lock() override { hf_rw_read_acquire(&native_, hf_self(), nullptr); }
    void read_unlock() override { hf_rw_read_release(&native_, hf_self()); }
    void write_lock() override { hf_rw_write_acquire(&native_, hf_self(), nullptr); }
    void write_unlock() override { hf_rw_write_release(&native_, hf_self()); }

    hf_rw_lock native_{};
};

class rwscl_lock final : public reader_writer_lock {
public:
    explicit rwscl_lock(const reader_writer_slices &slices) {
        hf_rwscl_set_ratio(&native_, slices.readers, slices.writers);
        if (slices.slice_us >= 0)
            hf_rwscl_set_slice(&native_, static_cast<std::uint32_t>(slices.slice_us));
    }

private:
    void read_lock() override { hf_rwscl_read_lock(&native_); }
    void read_unlock() override { hf_rwscl_read_unlock(&native_); }
    void write_lock() override { hf_rwscl_write_lock(&native_); }
    void write_unlock() override { hf_rwscl_write_unlock(&native_); }

    hf_rwscl_t native_ = HF_RWSCL_INIT;
};

class mutex_lock final : public reader_writer_lock {
public:
    explicit mutex_lock(const hf_lock_kind &kind) : kind_(kind), locks_(kind, 1) {}

private:
    void read_lock() override { kind_.lock(locks_[0]); }
    void read_unlock() override { kind_.unlock(locks_[0]); }
    void write_lock() override { kind_.lock(locks_[0]); }
    void write_unlock() override { kind_.unlock(locks_[0]); }

    const hf_lock_kind &kind_;
    lock_array locks_;
};

} // namespace

std::unique_ptr<reader_writer_lock> make_reader_writer_lock(const hf_lock_kind &kind,
                                                            const reader_writer_slices &slices) {
    std::string name = kind.name;
    if (name == "glibc")
        return std::make_unique<glibc_lock>();
    if (name == "flexguard")
        return std::make_unique<flexguard_lock>();
    if (name == rwscl_name)
        return std::make_unique<rwscl_lock>(slices);
    return std::make_unique<mutex_lock>(kind);
}

} // namespace holdfast::bench
