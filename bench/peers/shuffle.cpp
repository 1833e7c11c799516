// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiters spin, then park.
#include "peers/shuffle.hpp"

#include "peers/parking_word.hpp"
#include "peers/peer.hpp"

HF_PEER_IS(shuffle, holdfast::bench::shuffle<holdfast::bench::parking_word>)
