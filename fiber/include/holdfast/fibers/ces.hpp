// SPDX-License-Identifier: MIT OR Apache-2.0
// ces<ALGORITHM>: the program's scheduling algorithm, under which holdfast's mutexes exchange fibers.
//
//     boost::fibers::use_scheduling_algorithm<holdfast::fibers::ces<boost::fibers::algo::shared_work>>(true);
//
// on each thread, where Boost's own algorithm was used before; its arguments are passed on. The mutexes work without
// it, and beside threads without it: as Boost's own then, first come, first served.
#pragma once

#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/context.hpp>
#include <chrono>
#include <type_traits>
#include <utility>

#include "holdfast/fibers/detail/group.hpp"

namespace holdfast::fibers {

// Does the algorithm move fibers between the threads that run it? Specialise it for one of your own that does: a
// fiber that waits for a lock may then go on on another of these threads. What it says of one that does not is false.
template <class Algorithm>
struct moves_fibers : std::bool_constant<std::is_base_of_v<boost::fibers::algo::shared_work, Algorithm> ||
                                         std::is_base_of_v<boost::fibers::algo::work_stealing, Algorithm>> {};

template <class Algorithm>
class ces final : public boost::fibers::algo::algorithm {
    using context = boost::fibers::context;

public:
    template <class... Args>
    explicit ces(Args &&...args) : here_(new Algorithm(std::forward<Args>(args)...), home()) {
        if (here_.home)
            here_.home->enter(here_);
        detail::worker_slot::here() = &here_;
    }
    ces(const ces &) = delete;
    ces &operator=(const ces &) = delete;
    // On its own thread, whose first fiber runs: Boost's scheduler alone keeps it.
    ~ces() override {
        if (here_.home)
            here_.home->leave(here_);
        if (detail::worker_slot::here() == &here_) // use_scheduling_algorithm() makes the new before the old ends
            detail::worker_slot::here() = nullptr;
    }

    void awakened(context *fiber) noexcept override {
        if (detail::waiter *own = std::exchange(here_.suspending, nullptr))
            if (here_.detached(*own))
                return;
        here_.algorithm->awakened(fiber);
    }

    context *pick_next() noexcept override {
        here_.chain = 0;
        if (!here_.home)
            return here_.algorithm->pick_next();
        bool others_first = std::exchange(here_.others_first, false);
        if (!others_first)
            if (context *brought = take_brought())
                return brought;
        context *next = here_.algorithm->pick_next();
        return next || !others_first ? next : take_brought();
    }

    bool has_ready_fibers() const noexcept override {
        return here_.algorithm->has_ready_fibers() || (here_.home && here_.home->has_any());
    }

    // fiber.G1.
    void suspend_until(const std::chrono::steady_clock::time_point &until) noexcept override {
        here_.sleeping.store(true, std::memory_order_seq_cst);
        if (!here_.home || !here_.home->has_any())
            here_.algorithm->suspend_until(until);
        here_.sleeping.store(false, std::memory_order_relaxed);
    }

    void notify() noexcept override { here_.algorithm->notify(); }

private:
    static detail::group *home() {
        if constexpr (moves_fibers<Algorithm>::value)
            return &detail::group_of<Algorithm>::get();
        else
            return nullptr;
    }

    context *take_brought() noexcept {
        context *brought = here_.home->take();
        here_.others_first = brought; // fiber.G2
        return brought;
    }

    detail::worker here_;
};

} // namespace holdfast::fibers
