// SPDX-License-Identifier: MIT OR Apache-2.0
#include "peers/array_lock.hpp"

#include "peers/peer.hpp"

HF_PEER_IS(array, holdfast::bench::array_lock<64>)
