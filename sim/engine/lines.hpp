// SPDX-License-Identifier: MIT OR Apache-2.0
// Cache lines: who has which, and when it can be had next.
//
//               a load of another                   a store, or a read-modify-write
//     OWNED ----------------------> SHARED by some -------------------------------> OWNED
//
// A load of a line that its owner has changed may take it along instead (`machine::load_takes`): OWNED by another.
//
// A request goes to the line's home, from there to whoever has the line, and the line to the one that asked: three
// trips. The home serves one request after the other, in the order in which they arrive (`busy_until`): the second trip
// begins when the one before has told the home that it has the line. During the first two the owner may go on using it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/cpu_set.hpp"
#include "engine/duration.hpp"
#include "engine/machine.hpp"

namespace holdfast::sim {

struct line {
    std::uint64_t number = 0; // of its address, and one; 0: none
    int owner = -1;           // the CPU that may store to it; set when the line is first looked at
    bool is_changed = false;  // by its owner
    int pending_stores = 0;   // that others do not see yet (store_buffer.hpp)
    picoseconds busy_until = 0;
    picoseconds used_at = 0; // last, by anybody
    cpu_set sharers;         // its owner too
};

class line_table {
public:
    line_table();
    line &at(const volatile void *address);

private:
    static constexpr std::size_t bits = 16, size = std::size_t(1) << bits;
    struct free_memory {
        void operator()(line *memory) const noexcept;
    };
    std::unique_ptr<line[], free_memory> lines_; // zero bytes where nobody has looked: pages that cost nothing
    std::size_t used_ = 0;
};

// How far CPUs are from each other.
class topology {
public:
    explicit topology(const machine &of);

    int socket_of(int cpu) const { return cpu / cpus_a_socket_; }
    int complex_of(int cpu) const { return cpu / cpus_a_complex_; }
    const cpu_set &complex_with(int cpu) const { return complexes_[static_cast<std::size_t>(complex_of(cpu))]; }
    const cpu_set &socket_with(int cpu) const { return sockets_[static_cast<std::size_t>(socket_of(cpu))]; }

    // How long a CPU waits for the line.
    picoseconds to_load(const line &of, int cpu) const;
    picoseconds to_own(const line &of, int cpu) const;

private:
    int cpus_a_socket_, cpus_a_complex_;
    picoseconds complex_, socket_, remote_, memory_;
    std::vector<cpu_set> complexes_, sockets_;
};

} // namespace holdfast::sim
