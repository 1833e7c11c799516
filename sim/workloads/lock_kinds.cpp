// SPDX-License-Identifier: MIT OR Apache-2.0
#include "workloads/lock_kinds.hpp"

#include <fmt/core.h>
#include <stdexcept>
#include <sys/mman.h>

#include "base/atomic.h"
#include "park/futex.h"

namespace holdfast::sim {
namespace {

// pthread_mutex_lock of glibc 2.36, for PTHREAD_MUTEX_TIMED_NP: nptl/lowlevellock.c and pthread_mutex_lock.c. The owner
// and the number of users lie on the word's line.
struct glibc_mutex {
    std::uint32_t word, count, owner, users;
};

void glibc_lock(void *lock) {
    auto *mutex = static_cast<glibc_mutex *>(lock);
    if (!hf_cas_acquire(&mutex->word, 0u, 1u)) {
        if (hf_load_relaxed(&mutex->word) == 2)
            hf_futex_wait(&mutex->word, 2, nullptr);
        while (hf_exchange_acquire(&mutex->word, 2u) != 0)
            hf_futex_wait(&mutex->word, 2, nullptr);
    }
    hf_store_own(&mutex->owner, 1u);
}

bool glibc_trylock(void *lock) {
    return hf_cas_acquire(&static_cast<glibc_mutex *>(lock)->word, 0u, 1u);
}

void glibc_unlock(void *lock) {
    auto *mutex = static_cast<glibc_mutex *>(lock);
    hf_store_own(&mutex->owner, 0u);
    if (hf_exchange_release(&mutex->word, 0u) > 1)
        hf_futex_wake(&mutex->word, 1);
}

const hf_lock_kind glibc = {
    "glibc", "the C library's own mutex", sizeof(glibc_mutex), glibc_lock, glibc_trylock, glibc_unlock, nullptr};

} // namespace

bool is_glibc(const hf_lock_kind &kind) {
    return kind.lock == glibc_lock;
}

void glibc_lock_as_sleeper(void *lock) {
    auto *mutex = static_cast<glibc_mutex *>(lock);
    while (hf_exchange_acquire(&mutex->word, 2u) != 0)
        hf_futex_wait(&mutex->word, 2, nullptr);
    hf_store_own(&mutex->owner, 1u);
}

std::vector<std::string> lock_names() {
    std::vector<std::string> names{glibc.name};
    for (std::size_t i = 0; i < hf_lock_kind_count; i++)
        names.emplace_back(hf_lock_kinds[i].name);
    return names;
}

const hf_lock_kind &find_lock(const std::string &name) {
    if (name == glibc.name)
        return glibc;
    if (const hf_lock_kind *found = hf_lock_kind_find(name.c_str()))
        return *found;
    std::string known;
    for (const auto &one : lock_names())
        known += (known.empty() ? "" : ", ") + one;
    throw std::invalid_argument(fmt::format("no lock '{}' is simulated: use one of {}", name, known));
}

void *locks_at(std::size_t count, std::size_t bytes) {
    constexpr std::size_t page = 4096, line = 64;
    static char *next = reinterpret_cast<char *>(std::uintptr_t(0x200000000000));
    std::size_t stride = (bytes + line - 1) / line * line, all = (count * stride + page - 1) / page * page;
    void *memory = mmap(next, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("no memory at the simulator's place for locks");
    next += all;
    return memory;
}

} // namespace holdfast::sim
