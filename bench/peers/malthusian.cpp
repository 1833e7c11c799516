// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiters spin, then park.
#include "peers/malthusian.hpp"

#include "peers/parking_word.hpp"
#include "peers/peer.hpp"

HF_PEER_IS(malthusian, holdfast::bench::malthusian<holdfast::bench::parking_word>)
