// SPDX-License-Identifier: MIT OR Apache-2.0
// A machine: how many CPUs, how far they are from each other, what the kernel's calls cost. Read from a file of
// sim/machines, whose comments name each number's source (docs/simulator.md).
#pragma once

#include <string>
#include <vector>

namespace holdfast::sim {

// All times in nanoseconds.
struct machine {
    std::string name;
    double cpus = 2;
    double sockets = 1;
    double complexes = 1; // groups of CPUs that share a last-level cache, of all sockets

    // Memory.
    double hit_ns = 0.5;            // a load or a store in the first cache
    double rmw_ns = 5.5;            // a read-modify-write there
    double transfer_complex_ns = 0; // a line comes from another CPU of the same complex,
    double transfer_socket_ns = 0;  // of another one on the same socket,
    double transfer_remote_ns = 0;  // or of another socket
    double memory_ns = 0;           // from memory
    double travel_share = 0.67;     // of that time passes before whoever has the line gives it away
    double load_takes = 0;          // 1: a load of a line that another CPU has changed takes it along, 0: shares it
    double window_ns = 40;          // work of a CPU's own behind a miss, during which later ones are under way already
    double shared_read_ns = 15;     // from one answer to the next, of a line that several read
    double pause_ns = 0;
    double ticks_ns = 8;
    double clock_ns = 22;

    // The kernel.
    double call_ns = 0;          // half a call that sleeps, or would have
    double wake_call_ns = 0;     // a call that wakes nobody
    double wake_ns = 0;          // each one that it wakes
    double bucket_ns = 0;        // that a futex call keeps its bucket locked
    double switch_ns = 0;        // from one thread to another
    double idle_exit_ns = 0;     // from a wake until an idle CPU runs what was woken
    double interrupt_ns = 0;     // another CPU's, and back
    double slice_ns = 0;         // after which a thread may be preempted, at a tick
    double tick_ns = 0;          // of the scheduler; a slice ends at one
    double wake_preempts_ns = 0; // a woken thread that has had so much less of the CPU preempts
    double timer_slack_ns = 0;   // that a short sleep lasts longer than asked for

    double jitter = 0.25; // by this share transfers and calls differ, up and down

    // What a machine may have besides; files leave it out.
    double stolen_every_ns = 0;     // a virtual CPU loses its physical one, on average; 0: never
    double stolen_ns = 0;           // for so long
    double interrupts_every_ns = 0; // a CPU is interrupted by a device, on average; 0: never
    double interrupts_last_ns = 0;
    double quota_ns = 0; // of CPU time that the program may use in each period (cgroup cpu.max); 0: any
    double quota_period_ns = 100e6;

    std::string described() const; // one line: name, CPUs, sockets
};

// A number that a machine's file or `--set` may have.
struct machine_number {
    const char *name;
    double machine::*member;
    bool may_be_missing = false;
};
const std::vector<machine_number> &machine_numbers();

// Reads a machine's file: a line for each number, `name value # source`. Throws std::invalid_argument with a sentence:
// the file can't be read, or a name is not known, missing, or there twice.
machine read_machine(const std::string &path);

// `name=value`, or `name*factor`. Throws std::invalid_argument.
void change_machine(machine &of, const std::string &change);

} // namespace holdfast::sim
