// SPDX-License-Identifier: MIT OR Apache-2.0
// std::mutex: glibc's, by way of libstdc++.
#include <mutex>

#include "peers/peer.hpp"

HF_PEER_IS(std_mutex, std::mutex)
