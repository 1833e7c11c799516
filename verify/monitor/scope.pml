// SPDX-License-Identifier: MIT OR Apache-2.0
// A group of threads is moved between the machine's scope (0) and one of its own (1), while they are switched out and
// in, and a waiter polls. C code: src/monitor/server/scopes.hpp (S1), src/monitor/server/scopes.cpp, hf_spinning_pays
// in src/hint/hint.h, src/monitor/bpf/preemption_monitor.bpf.c (M1).
//
// One step is one load or store, or one atomic addition. The threads are all critical whenever they are switched out. A
// thread that has its mark and has been counted, from before a poll begins until after it has ended, must be heard.
//
// S1  What a group reads, all its threads' marks are in.
// M1  When nobody has a mark, each count is 0.
#define THREADS 2
#define SWITCHES 2
#define MOVES 2
#define POLLS 2

bit S1, M1;
#define ASSERT(invariant, condition) assert(invariant || (condition))

byte reads, counts_in;
byte count[2];

bool in_switch[THREADS + 1]; // the BPF program runs: membarrier waits for its end
bool marked[THREADS + 1];
byte mark_scope[THREADS + 1];
bool out[THREADS + 1];   // ghost: counted, and not on its way in
bool heard[THREADS + 1]; // ghost: out since before the poll began
byte finished;

proctype Thread(byte me) {
    byte switches, scope;
    do
    :: switches < SWITCHES ->
       // count_out
       in_switch[me] = true;
       scope = counts_in;
       atomic { marked[me] = true; mark_scope[me] = scope };
       count[0]++;
       if
       :: scope == 1 -> count[1]++
       :: scope == 0
       fi;
       atomic { out[me] = true; in_switch[me] = false; scope = 0 };
       // count_in
       atomic { out[me] = false; heard[me] = false; in_switch[me] = true };
       marked[me] = false;
       count[0]--;
#ifdef MUTANT_MARK_FORGETS_ITS_SCOPE
       scope = counts_in;
#else
       scope = mark_scope[me];
#endif
       if
       :: scope == 1 -> count[1]--
       :: scope == 0
       fi;
       atomic { in_switch[me] = false; scope = 0; switches++ }
    :: switches == SWITCHES -> break
    od;
    finished++
}

proctype Server() {
    byte moves;
    bool behind;
    do
    :: moves < MOVES ->
       // set_out
       counts_in = 1;
#ifndef MUTANT_SWITCHES_NOT_AWAITED
       // wait_for_switches
       !in_switch[1];
       !in_switch[2];
#endif
       // take_census, has_arrived
       behind = marked[1] && mark_scope[1] != 1;
       behind = behind || (marked[2] && mark_scope[2] != 1);
#ifdef MUTANT_NOBODY_LOOKED_AT
       behind = false;
#endif
       if
       :: !behind -> reads = 1
       :: behind
       fi;
       // back_to_machine
#ifdef MUTANT_STOPS_COUNTING_FIRST
       counts_in = 0;
       reads = 0;
#else
       reads = 0;
       counts_in = 0;
#endif
       atomic { behind = false; moves++ }
    :: moves == MOVES -> break
    od;
    finished++
}

proctype Waiter() {
    byte polls, scope;
    do
    :: polls < POLLS ->
       atomic { heard[1] = out[1]; heard[2] = out[2]; scope = reads };
       atomic {
           ASSERT(S1, count[scope] > 0 || !(heard[1] || heard[2]));
           heard[1] = false;
           heard[2] = false;
           scope = 0;
           polls++
       }
    :: polls == POLLS -> break
    od;
    finished++
}

init {
    atomic {
        run Thread(1);
        run Thread(2);
        run Server();
        run Waiter()
    };
    finished == THREADS + 2;
    ASSERT(M1, count[0] == 0 && count[1] == 0)
}
