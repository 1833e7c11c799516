// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers what the kernel's side of busy-waiting detection asks (bpf/wait_evidence.bpf.h): is this a loop that only
// waits? One thread reads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

struct ring_buffer;

namespace holdfast {

class wait_loop_reader {
public:
    // The kernel side's maps. Without memory errno says why, and is_there() is false.
    wait_loop_reader(int known, int seen);
    ~wait_loop_reader();
    wait_loop_reader(const wait_loop_reader &) = delete;
    wait_loop_reader &operator=(const wait_loop_reader &) = delete;

    bool is_there() const { return seen_ != nullptr; }
    // Readable: there is something to be answered.
    int fd() const;
    void answer_all();
    // Instructions of loops that wait, met so far. By any thread.
    std::uint64_t loops() const { return loops_; }

private:
    struct freed {
        void operator()(ring_buffer *one) const;
    };

    static int answer(void *self, void *data, std::size_t size);

    int known_;
    std::unique_ptr<ring_buffer, freed> seen_;
    std::atomic<std::uint64_t> loops_ = 0;
};

} // namespace holdfast
