// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that may run on one CPU only is woken from a virtual wait there, while another CPU that has nothing to do
// looks for work: C code: src/oversub/bpf (hand_to_cpu, take, oversub_dispatch, take_from_next). The other CPU takes
// the thread from the list of woken ones, puts it into its own CPU's queue, and may not have it from there. An idle CPU
// looks again when it is told to. A look at a list or a queue is one step, and so is what is done with its lock.
//
// V1  No wake is lost: the thread runs (a deadlock otherwise).
bool is_woken;  // in its CPU's list
bool is_queued; // in its CPU's queue
bool told;      // its CPU is to look
bool ran;

active proctype Waker() {
    is_woken = true;
    told = true
}

active proctype OwnCpu() {
    do
    :: ran -> break
    :: else ->
       if
       :: atomic { is_woken -> is_woken = false; ran = true }
       :: !is_woken ->
          if
          :: atomic { is_queued -> is_queued = false; ran = true }
          :: !is_queued -> atomic { told -> told = false } // idle until then
          fi
       fi
    od
}

active proctype OtherCpu() {
    if
    :: atomic { is_woken -> is_woken = false };
       is_queued = true;
#ifndef MUTANT_OWN_CPU_UNTOLD
       told = true
#endif
    :: true // it has something to do
    fi
}
