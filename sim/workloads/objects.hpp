// SPDX-License-Identifier: MIT OR Apache-2.0
// What simulated programs are made of: mutexes, condition variables and barriers as the interposer makes them of a lock
// of lock_list.def, or as the C library has them; reader-writer locks. A mutex sees that two threads are never inside,
// and tells the trace who waits for it and who has it.
#pragma once

#include <functional>
#include <new>
#include <utility>

#include "engine/simulation.hpp"
#include "workloads/lock_kinds.hpp"

extern "C" {
#include "lock/posix/condition.h"
}

namespace holdfast::sim {

// An object on lines of its own, at the same address in each run; for ever.
template <typename type, typename... arguments>
type &placed(arguments &&...told) {
    return *new (locks_at(1, sizeof(type))) type(std::forward<arguments>(told)...);
}

class mutex {
public:
    explicit mutex(const hf_lock_kind &kind);

    void lock();
    void unlock();

private:
    friend class condition;
    void got_it(picoseconds asked);
    void gives_it_back();

    const hf_lock_kind &kind_;
    void *memory_;
    hf_permits_owed permits_owed_ = 0;
    int inside_ = 0;
    picoseconds got_ = 0;
};

class condition {
public:
    // Its mutex is the caller's.
    void wait(mutex &with);
    void signal(mutex &with);
    void broadcast(mutex &with);

private:
    void give_permit(mutex &with, hf_waiter *chosen);

    hf_condition ours_{};
    // The C library's, without its two groups: each signal is another number.
    std::uint32_t signals_ = 0, waiters_ = 0;
};

// As programs build it of the two. The last thread to come runs a function before all leave.
class cond_barrier {
public:
    cond_barrier(const hf_lock_kind &kind, unsigned threads) : threads_(threads), mutex_(kind) {}
    void wait(const std::function<void()> &at_last = [] {});

private:
    unsigned threads_, arrived_ = 0;
    std::uint64_t round_ = 0;
    mutex mutex_;
    condition all_here_;
};

class reader_writer_lock {
public:
    virtual ~reader_writer_lock() = default;
    virtual void read_lock() = 0;
    virtual void read_unlock() = 0;
    virtual void write_lock() = 0;
    virtual void write_unlock() = 0;
};

// The one that programs get where their mutexes are of that kind: glibc's, FlexGuard's, or a mutex for both.
reader_writer_lock &make_reader_writer_lock(const hf_lock_kind &kind);

} // namespace holdfast::sim
