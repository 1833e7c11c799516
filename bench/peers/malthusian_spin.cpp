// SPDX-License-Identifier: MIT OR Apache-2.0
// Waiters never sleep.
#include "peers/malthusian.hpp"

#include "peers/peer.hpp"
#include "peers/spinning_word.hpp"

HF_PEER_IS(malthusian_spin, holdfast::bench::malthusian<holdfast::bench::spinning_word>)
