// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/wait_loop_reader.hpp"

#include <algorithm>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cstring>
#include <span>

#include "monitor/bpf/wait_evidence.h"
#include "monitor/wait_loop.hpp"

namespace holdfast {

wait_loop_reader::wait_loop_reader(int known, int seen)
    : known_(known), seen_(ring_buffer__new(seen, answer, this, nullptr)) {}

wait_loop_reader::~wait_loop_reader() = default;

void wait_loop_reader::freed::operator()(ring_buffer *one) const {
    ring_buffer__free(one);
}

int wait_loop_reader::fd() const {
    return ring_buffer__epoll_fd(seen_.get());
}

void wait_loop_reader::answer_all() {
    ring_buffer__consume(seen_.get());
}

// For each instruction of the loop, so that the next sample need not ask.
int wait_loop_reader::answer(void *self, void *data, std::size_t size) {
    if (size < sizeof(hf_code_seen)) // for whoever let this run
        return 0;
    const auto &asked = *static_cast<const hf_code_seen *>(data);
    auto *reader = static_cast<wait_loop_reader *>(self);
    for (std::size_t offset : find_wait_loop(std::span(asked.code), HF_CODE_BEFORE)) {
        hf_code_known waits{.first_bytes = 0, .waits = 1, .reserved = 0};
        std::size_t bytes = std::min(sizeof(waits.first_bytes), HF_CODE_BYTES - offset);
        std::memcpy(&waits.first_bytes, asked.code + offset, bytes);
        hf_code_place place = asked.place;
        place.address += offset - HF_CODE_BEFORE;
        bpf_map_update_elem(reader->known_, &place, &waits, BPF_ANY);
        reader->loops_++;
    }
    return 0;
}

} // namespace holdfast
