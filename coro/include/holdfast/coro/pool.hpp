// SPDX-License-Identifier: MIT OR Apache-2.0
// A work-stealing executor: as many threads as you say, a queue for each, one queue for all.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "holdfast/coro/executor.hpp"

namespace holdfast::coro {

struct pool_options {
    unsigned workers = 0;               // 0: one for each CPU that may be used
    unsigned chain_max = chain_default; // hand-overs in a row on one worker; then it goes on elsewhere. At least 1
    bool turns = true; // the task that never has to wait is suspended now and then, if others are ready (turn.hpp)
};

// What one worker has done so far.
struct worker_counts {
    std::uint64_t resumed = 0; // coroutines taken from a queue
    std::uint64_t stolen = 0;  // of them, from another worker
    std::uint64_t slept = 0;
};

// Guarantees: whatever is scheduled is resumed once, by one worker, unless the pool ends first; no worker sleeps while
// something is ready (model: verify/coro/mutex.pml); what is scheduled remotely is resumed in the order of its coming,
// or nearly so, and can be taken by any worker.
//
// The end: shutdown(), or the destructor, lets each worker finish what it is running, up to its next suspension. Then
// every coroutine that was spawned on the pool and has not ended is destroyed, wherever it waits. Locks that it holds
// by a guard are released by that; `sync_wait` throws executor_stopped. So primitives that these coroutines wait for,
// or hold, must outlive the pool's end: declare them before the pool, or call shutdown() while they are there.
// Model: verify/coro/end.pml.
class pool final : public executor_base {
public:
    // Throws std::system_error when a thread can't be started.
    explicit pool(pool_options options = {});
    explicit pool(unsigned workers) : pool(pool_options{workers, chain_default}) {}
    ~pool();
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;

    // From any thread. After shutdown() they do nothing.
    void schedule(std::coroutine_handle<> ready) noexcept override;
    void schedule_remote(std::coroutine_handle<> ready) noexcept override;
    void schedule_urgent(std::coroutine_handle<> owner) noexcept override;
    void schedule_rotated(std::coroutine_handle<> ready) noexcept override;
    [[nodiscard]] crowd waiting() const noexcept override;
    timer_queue &timers() noexcept override;
    bool adopt(root &one) noexcept override;
    void disown(root &one) noexcept override;

    // Ends the pool as said above; a second call does nothing. Not from one of its own workers.
    void shutdown() noexcept;

    [[nodiscard]] unsigned workers() const noexcept;
    // Exact once the pool has ended.
    [[nodiscard]] std::vector<worker_counts> counts() const;

private:
    class state;
    std::unique_ptr<state> state_;
};

} // namespace holdfast::coro
