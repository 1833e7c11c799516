// SPDX-License-Identifier: MIT OR Apache-2.0
#include "holdfast/coro/detail/timer_queue.hpp"

#include <utility>

#include "quiet_thread.hpp"

namespace holdfast::coro {

timer_queue::~timer_queue() {
    close();
}

void timer_queue::close() noexcept {
    {
        std::lock_guard held(lock_);
        over_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable())
        thread_.join();
}

void timer_queue::expire_all() noexcept {
    std::lock_guard held(lock_);
    while (!heap_.empty()) {
        timer *first = heap_.front();
        take_out(0);
        first->fire(*first); // may be gone after this
    }
}

void timer_queue::add(timer &one) {
    std::lock_guard held(lock_);
    if (!thread_.joinable() && !over_) // first: if there can't be one, nothing has been added
        thread_ = start_quiet_thread([this] { run(); });
    heap_.push_back(&one);
    one.place = heap_.size() - 1;
    sift(one.place);
    if (one.place == 0)
        changed_.notify_one();
}

void timer_queue::cancel(timer &one) noexcept {
    std::lock_guard held(lock_);
    if (one.place != timer::nowhere)
        take_out(one.place);
}

void timer_queue::run() noexcept {
    std::unique_lock held(lock_);
    while (!over_) {
        if (heap_.empty()) {
            changed_.wait(held);
        } else if (timer *first = heap_.front(); first->at <= deadline_clock::now()) {
            take_out(0);
            first->fire(*first); // may be gone after this
        } else {
            deadline_clock::time_point until = first->at; // a copy: it may go while this waits
            changed_.wait_until(held, until);
        }
    }
}

void timer_queue::take_out(std::size_t place) noexcept {
    std::size_t last = heap_.size() - 1;
    swap(place, last);
    heap_[last]->place = timer::nowhere;
    heap_.pop_back();
    if (place < heap_.size())
        sift(place);
}

void timer_queue::sift(std::size_t place) noexcept {
    while (place > 0 && earlier(place, (place - 1) / 2)) {
        swap(place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
    for (;;) {
        std::size_t least = place;
        for (std::size_t child = 2 * place + 1; child <= 2 * place + 2 && child < heap_.size(); child++)
            if (earlier(child, least))
                least = child;
        if (least == place)
            return;
        swap(place, least);
        place = least;
    }
}

void timer_queue::swap(std::size_t one, std::size_t other) noexcept {
    std::swap(heap_[one], heap_[other]);
    heap_[one]->place = one;
    heap_[other]->place = other;
}

} // namespace holdfast::coro
