// SPDX-License-Identifier: MIT OR Apache-2.0
// What LevelDB asks of a platform, with locks that coroutines can wait for in place of its own. It is LevelDB's third
// platform, whose file is not part of its source: LEVELDB_PLATFORM_CHROMIUM includes this one.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

// All but the locks is as on any platform of C++; its two locks get other names.
#define Mutex standard_mutex
#define CondVar standard_condition
#include "port/port_stdcxx.h"
#undef Mutex
#undef CondVar

#include "coro/leveldb/inner_locks.hpp"

namespace leveldb::port {

class LOCKABLE Mutex {
public:
    void Lock() EXCLUSIVE_LOCK_FUNCTION() { lock_.lock(); }
    void Unlock() UNLOCK_FUNCTION() { lock_.unlock(); }
    void AssertHeld() ASSERT_EXCLUSIVE_LOCK() {}

private:
    friend class CondVar;
    holdfast::bench::inner_mutex lock_;
};

class CondVar {
public:
    explicit CondVar(Mutex *mutex) : mutex_(mutex->lock_) {}
    void Wait() { condition_.wait(mutex_); }
    void Signal() { condition_.notify_one(); }
    void SignalAll() { condition_.notify_all(); }

private:
    holdfast::bench::inner_mutex &mutex_;
    holdfast::bench::inner_condition condition_;
};

} // namespace leveldb::port
