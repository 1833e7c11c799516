// SPDX-License-Identifier: MIT OR Apache-2.0
// Test cases for each lock of lock_list.def.
#pragma once

#include <gtest/gtest.h>
#include <string>

#include "lock/lock_table.h"

namespace holdfast::test {

class every_lock : public testing::TestWithParam<const hf_lock_kind *> {
protected:
    const hf_lock_kind &kind = *GetParam();

    void lock() { kind.lock(memory_); }
    bool trylock() { return kind.trylock(memory_); }
    void unlock() { kind.unlock(memory_); }
    int clocklock(clockid_t clock, const timespec &deadline) { return kind.clocklock(memory_, clock, &deadline); }

private:
    alignas(64) char memory_[64] = {};
};

inline std::string lock_name(const testing::TestParamInfo<const hf_lock_kind *> &info) {
    return info.param->name;
}

inline auto all_locks() {
    std::vector<const hf_lock_kind *> kinds;
    for (std::size_t i = 0; i < hf_lock_kind_count; i++)
        kinds.push_back(&hf_lock_kinds[i]);
    return testing::ValuesIn(kinds);
}

inline timespec from_now(clockid_t clock, long ms) {
    timespec at{};
    clock_gettime(clock, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += ms % 1000 * 1'000'000;
    if (at.tv_nsec >= 1'000'000'000) {
        at.tv_nsec -= 1'000'000'000;
        at.tv_sec++;
    }
    return at;
}

} // namespace holdfast::test
