// SPDX-License-Identifier: MIT OR Apache-2.0
#include "peers/peer_table.hpp"

#include "peers/peer.h"

extern "C" {
#define HF_PEER(name, source, summary) extern const hf_peer hf_peer_##name;
#include "measure/peer_list.def"
#undef HF_PEER
}

namespace holdfast::bench {
namespace {

enum class source { OWN, LIBRARY };

peer row(const char *name, source from, const char *summary, const hf_peer &made) {
    return {.kind = {.name = name,
                     .summary = summary,
                     .bytes = made.bytes,
                     .lock = made.lock,
                     .trylock = made.trylock,
                     .unlock = made.unlock,
                     .clocklock = nullptr},
            .is_library = from == source::LIBRARY,
            .available = !made.available || made.available()};
}

} // namespace

const std::vector<peer> &peers() {
    static const std::vector<peer> all = {
#define HF_PEER(name, from, summary) row(#name, source::from, summary, hf_peer_##name),
#include "measure/peer_list.def"
#undef HF_PEER
    };
    return all;
}

} // namespace holdfast::bench
