// SPDX-License-Identifier: MIT OR Apache-2.0
#include "engine/lines.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/address_hash.h"
#include "base/cpu.h"

namespace holdfast::sim {

line_table::line_table() : lines_(static_cast<line *>(std::calloc(size, sizeof(line)))) {
    if (!lines_)
        throw std::bad_alloc();
}

void line_table::free_memory::operator()(line *memory) const noexcept {
    std::free(memory);
}

line &line_table::at(const volatile void *address) {
    std::uint64_t number = reinterpret_cast<std::uintptr_t>(address) / HF_CACHE_LINE_BYTES + 1;
    for (std::size_t i = hf_address_hash(number, bits);; i = (i + 1) % size) {
        line &one = lines_[i];
        if (one.number == number)
            return one;
        if (one.number == 0) {
            if (++used_ > size / 4 * 3) {
                std::fprintf(stderr, "simulator: more lines are used than it has room for (line_table::bits)\n");
                std::abort();
            }
            one.number = number;
            one.owner = -1;
            return one;
        }
    }
}

namespace {

picoseconds ps(double ns) {
    return static_cast<picoseconds>(ns * static_cast<double>(ps_a_ns));
}

int at_least_one(double number) {
    return number < 1 ? 1 : static_cast<int>(number);
}

} // namespace

topology::topology(const machine &of)
    : cpus_a_socket_(at_least_one(of.cpus / of.sockets)), cpus_a_complex_(at_least_one(of.cpus / of.complexes)),
      complex_(ps(of.transfer_complex_ns)), socket_(ps(of.transfer_socket_ns)), remote_(ps(of.transfer_remote_ns)),
      memory_(ps(of.memory_ns)) {
    auto cpus = static_cast<int>(of.cpus);
    complexes_.resize(static_cast<std::size_t>(complex_of(cpus - 1)) + 1);
    sockets_.resize(static_cast<std::size_t>(socket_of(cpus - 1)) + 1);
    for (int cpu = 0; cpu < cpus; cpu++) {
        complexes_[static_cast<std::size_t>(complex_of(cpu))].add(cpu);
        sockets_[static_cast<std::size_t>(socket_of(cpu))].add(cpu);
    }
}

// From the nearest of those that have it.
picoseconds topology::to_load(const line &of, int cpu) const {
    if (of.sharers.empty())
        return memory_;
    if (of.sharers.meets(complex_with(cpu)))
        return complex_;
    return of.sharers.meets(socket_with(cpu)) ? socket_ : remote_;
}

// The farthest of those that have it has to say that it has given it up.
picoseconds topology::to_own(const line &of, int cpu) const {
    if (of.sharers.empty())
        return memory_;
    if (of.sharers.is_within(complex_with(cpu)))
        return complex_;
    return of.sharers.is_within(socket_with(cpu)) ? socket_ : remote_;
}

} // namespace holdfast::sim
