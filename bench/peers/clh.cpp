// SPDX-License-Identifier: MIT OR Apache-2.0
// CLH (Craig, Univ. of Washington TR 93-02-02; Landin and Hagersten, IPPS '94): an implicit queue, in which each waiter
// polls its predecessor's node, and keeps that node when it leaves its own behind.
//
//     never taken: tail nullptr     free: tail's node is not held     held: tail is the last waiter's, or the owner's
//
// Exclusion: the exchange on the tail gives each arrival one predecessor, and each node one poller.
#include <cstdint>

#include "peers/peer.hpp"
#include "peers/waiter_queue.hpp"

namespace holdfast::bench {
namespace {

struct clh_node {
    std::uint32_t held = true;
};

class clh {
public:
    void lock() {
        auto *node = take_node<clh_node>();
        clh_node *before = hf_exchange_acq_rel(&tail_, node);
        if (before) {
            while (hf_load_acquire(&before->held)) // pairs with the release in unlock()
                hf_pause();
            give_node(before);
        }
        owner_ = node;
    }

    void unlock() { hf_store_release(&owner_->held, std::uint32_t{false}); }

private:
    clh_node *tail_;
    clh_node *owner_;
};

} // namespace
} // namespace holdfast::bench

HF_PEER_IS(clh, holdfast::bench::clh)
