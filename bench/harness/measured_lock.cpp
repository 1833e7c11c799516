// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/measured_lock.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>
#include <stdexcept>

#include "base/cpu.h"
#include "holdfast/rwscl.h"
#include "peers/peer_table.hpp"

namespace holdfast::bench {
namespace {

pthread_mutex_t *as_mutex(void *lock) {
    return static_cast<pthread_mutex_t *>(lock);
}

const hf_lock_kind glibc_kind = {
    .name = "glibc",
    .summary = "the platform's own mutex: pthread_mutex_t",
    .bytes = sizeof(pthread_mutex_t), // zero bytes are PTHREAD_MUTEX_INITIALIZER
    .lock = [](void *lock) { pthread_mutex_lock(as_mutex(lock)); },
    .trylock = [](void *lock) { return pthread_mutex_trylock(as_mutex(lock)) == 0; },
    .unlock = [](void *lock) { pthread_mutex_unlock(as_mutex(lock)); },
    .clocklock = [](void *lock, clockid_t clock,
                    const timespec *deadline) { return pthread_mutex_clocklock(as_mutex(lock), clock, deadline); },
};

hf_rwscl_t *as_rwscl(void *lock) {
    return static_cast<hf_rwscl_t *>(lock);
}

const hf_lock_kind rwscl_kind = {
    .name = rwscl_name,
    .summary = "RW-SCL: a reader-writer lock that shares its time between readers and writers",
    .bytes = sizeof(hf_rwscl_t),
    .lock = [](void *lock) { hf_rwscl_write_lock(as_rwscl(lock)); },
    .trylock = [](void *lock) { return hf_rwscl_write_trylock(as_rwscl(lock)); },
    .unlock = [](void *lock) { hf_rwscl_write_unlock(as_rwscl(lock)); },
    .clocklock = [](void *lock, clockid_t clock,
                    const timespec *deadline) { return hf_rwscl_write_clocklock(as_rwscl(lock), clock, deadline); },
};

} // namespace

const hf_lock_kind &find_lock(const std::string &name) {
    if (name == glibc_kind.name)
        return glibc_kind;
    if (name == rwscl_kind.name)
        return rwscl_kind;
    if (const hf_lock_kind *kind = hf_lock_kind_find(name.c_str()))
        return *kind;
    std::string known = "glibc, default, rwscl";
    for (const peer &one : peers()) {
        if (name == one.kind.name && !one.kind.lock)
            throw lock_left_out("the library of '" + name + "' was missing when holdfast was built");
        if (name == one.kind.name && !one.available)
            throw std::invalid_argument("the lock '" + name + "' needs what this kernel does not have");
        if (name == one.kind.name)
            return one.kind;
        known += std::string(", ") + one.kind.name;
    }
    for (std::size_t i = 0; i < hf_lock_kind_count; i++)
        known += std::string(", ") + hf_lock_kinds[i].name;
    throw std::invalid_argument("there is no lock '" + name + "': use one of " + known);
}

bool counts_polls(const std::string &name) {
    for (const peer &one : peers()) {
        if (name == one.kind.name)
            return !one.is_library;
    }
    return name != glibc_kind.name;
}

lock_array::lock_array(const hf_lock_kind &kind, std::size_t count)
    : stride_((kind.bytes + HF_CACHE_LINE_BYTES - 1) / HF_CACHE_LINE_BYTES * HF_CACHE_LINE_BYTES),
      memory_(static_cast<std::byte *>(std::aligned_alloc(HF_CACHE_LINE_BYTES, stride_ * count))) {
    if (!memory_)
        throw std::bad_alloc();
    std::memset(memory_.get(), 0, stride_ * count);
}

void lock_array::free_memory::operator()(std::byte *memory) const noexcept {
    std::free(memory);
}

} // namespace holdfast::bench
