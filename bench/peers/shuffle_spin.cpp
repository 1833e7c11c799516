// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiters never sleep.
#include "peers/shuffle.hpp"

#include "peers/peer.hpp"
#include "peers/spinning_word.hpp"

HF_PEER_IS(shuffle_spin, holdfast::bench::shuffle<holdfast::bench::spinning_word>)
