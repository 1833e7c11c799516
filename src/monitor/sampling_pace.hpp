// SPDX-License-Identifier: MIT OR Apache-2.0
// When the fast clock of busy-waiting detection runs beside the slow one:
//
//              a thread seems to spin
//     slow ------------------------------> fast
//      ^                                    |  after each phase that brought no detection
//      |   the rest is over                 v
//      +----------------------------------- rest
//
// The rest doubles with each phase in vain that follows another, and is short again after one that was not.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace holdfast {

class sampling_pace {
public:
    using milliseconds = std::chrono::milliseconds;
    using time_point = std::chrono::steady_clock::time_point;

    static constexpr milliseconds phase{20}, shortest_rest{20}, longest_rest{640};

    // Goes on to the state of `now`, and says for how long it holds if nothing is suspected.
    milliseconds next(time_point now, bool suspected, std::uint64_t detections) {
        if (state_ == state::slow && suspected) {
            enter(state::fast, now + phase);
        } else if (state_ == state::fast && now >= until_) {
            bool in_vain = detections == detections_before_;
            enter(in_vain ? state::rest : state::fast, now + (in_vain ? rest_ : phase));
            rest_ = in_vain ? std::min(2 * rest_, longest_rest) : shortest_rest;
        } else if (state_ == state::rest && now >= until_) {
            enter(state::slow, time_point::max());
        } else {
            return remaining(now);
        }
        detections_before_ = detections;
        return remaining(now);
    }

    bool is_fast() const { return state_ == state::fast; }
    bool would_hear() const { return state_ == state::slow; }

private:
    enum class state : std::uint8_t { slow, fast, rest };

    void enter(state entered, time_point until) {
        state_ = entered;
        until_ = until;
    }
    milliseconds remaining(time_point now) const {
        return state_ == state::slow ? milliseconds::max() : std::chrono::ceil<milliseconds>(until_ - now);
    }

    state state_ = state::slow;
    time_point until_ = time_point::max();
    milliseconds rest_ = shortest_rest;
    std::uint64_t detections_before_ = 0;
};

} // namespace holdfast
