// SPDX-License-Identifier: MIT OR Apache-2.0
// MCS-TP (He, Scherer and Scott, HiPC '05, "Preemption Adaptivity in Time-Published Queue-Based Spin Locks"), without
// timeouts: waiters publish the time again and again, and the owner passes over those whose time is old, since they
// don't run. Waiters give their CPU away once the owner has been in for long: it may not run either.
//
//     WAITING --- the owner, fresh, or passed over too many ---> GRANTED
//     WAITING --- the owner, the published time is old --------> REMOVED --- the waiter, when it runs: joins again
//
// Nobody is lost: a node leaves the queue only by one of these two, and each is the last touch of it by the owner.
#include <cstdint>
#include <sched.h>

#include "base/clock.h"
#include "peers/peer.hpp"
#include "peers/waiter_queue.hpp"

namespace holdfast::bench {
namespace {

// Ticks: some 20 and 50 microseconds at 2 to 3 GHz.
constexpr std::uint64_t stale_ticks = 50'000;
constexpr std::uint64_t long_inside_ticks = 125'000;
constexpr int passed_over_max = 64; // that many in one go, then the next one is waited for

enum place : std::uint32_t { waiting, granted, removed };

struct tp_node {
    tp_node *next = nullptr;
    std::uint32_t state = place::waiting;
    std::uint64_t published_ticks = hf_ticks();
};

class mcs_tp {
public:
    void lock() {
        auto *node = take_node<tp_node>();
        while (join_queue(&tail_, node) && wait(node) == place::removed)
            *node = tp_node{};
        own(node);
    }

    bool try_lock() {
        tp_node *node = join_empty_queue(&tail_);
        if (node)
            own(node);
        return node;
    }

    void unlock() {
        tp_node *node = owner_, *mine = node;
        for (int passed_over = 0;; passed_over++) {
            tp_node *after = successor_of(node);
            if (!after) {
                if (replace_tail<tp_node>(&tail_, node, nullptr)) {
                    leave(node, mine);
                    return;
                }
                after = wait_for_successor(node);
            }
            leave(node, mine);
            node = after;
            if (passed_over == passed_over_max || is_fresh(node))
                break;
        }
        hf_store_release(&node->state, place::granted); // pairs with the acquire in wait()
    }

private:
    // Of the owner's own node there is nobody to tell.
    static void leave(tp_node *node, tp_node *mine) {
        if (node == mine)
            give_node(node);
        else
            hf_store_release(&node->state, place::removed);
    }

    static bool is_fresh(const tp_node *node) {
        std::uint64_t published = hf_load_relaxed(&node->published_ticks), now = hf_ticks();
        return now < published || now - published < stale_ticks; // counters of two CPUs may differ a little
    }

    std::uint32_t wait(tp_node *node) {
        for (;;) {
            std::uint32_t state = hf_load_acquire(&node->state);
            if (state != place::waiting)
                return state;
            std::uint64_t now = hf_ticks(), entered = hf_load_relaxed(&entered_ticks_);
            hf_store_relaxed(&node->published_ticks, now);
            if (now > entered && now - entered > long_inside_ticks)
                sched_yield();
            else
                hf_pause();
        }
    }

    void own(tp_node *node) {
        owner_ = node;
        hf_store_relaxed(&entered_ticks_, hf_ticks());
    }

    tp_node *tail_;
    tp_node *owner_;
    std::uint64_t entered_ticks_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(mcs_tp, holdfast::bench::mcs_tp)
