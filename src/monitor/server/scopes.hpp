// SPDX-License-Identifier: MIT OR Apache-2.0
// Which count a program's waiters ask. Programs that no CPU is allowed to both can't preempt each other: what one does
// to its lock holders does not matter to the other, so each asks a count of its own, a scope of the hint page. Programs
// that may meet, directly or through others, share a scope; in doubt, and when there are no scopes left, it is the
// machine's, which is 0 and has everybody.
//
// Processes are moved between scopes by the group (hint/hint_page.h). How a group gets from one to another:
//
//                        it, or one that it may meet,
//     reads 0            comes to have CPUs of its own            reads 0
//     counts in 0  -------------------------------------------->  counts in S
//          ^                                                          |  every switch that began before has ended
//          |                                                          |  (membarrier), and then a walk over all threads
//          |    may meet others than those of S                       |  finds none behind, and the CPUs as they were
//          |    (reads first)                                         v
//          +----------------------------------------------------- reads S
//                                                                 counts in S
//
// scope.S1 (hint/hint_page.h) follows: a thread's mark is made with the `counts_in` that its switch has read. While the
// group reads S that is S: a switch that read another has ended before the walk, and its mark was looked for. A mark
// that is there for long, a sleeping holder's, keeps a group in the machine's scope; it would keep the count of S above
// 0, too. A group that is new has no marks, and enters a scope at once. Modelled in verify/monitor/scope.pml.
//
// CPUs are looked at when a program registers and at each audit. Between two looks they may be changed. A waiter's own
// holders are in its count all the same; of another's it hears when one is preempted on a CPU of its scope
// (`intruded_on`), and of the rest at the next look.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "hint/registration.h"
#include "monitor/cpu_set.hpp"
#include "monitor/monitor.hpp"

namespace holdfast {

enum class scoping {
    machine, // everybody listens to everybody
    cpus,    // programs that can't meet do not
    users,   // nor do programs of different users, whether they meet or not: nobody can lie to another user's
};

// What is known of a group, and what of that decides with whom it shares a scope.
struct group_of_processes {
    bool in_use = false;
    cpu_set cpus;
    std::uint32_t user = 0;
};
using groups_of_processes = std::array<group_of_processes, HF_HINT_GROUPS>;

// The groups in use, by who may meet whom, directly or through others.
std::vector<std::vector<std::uint32_t>> who_may_meet(const groups_of_processes &groups, scoping by);

// Not to be used by several threads at once.
class scopes {
public:
    // `kernel_monitor` must outlive it.
    scopes(monitor &kernel_monitor, scoping by);
    ~scopes();
    scopes(const scopes &) = delete;
    scopes &operator=(const scopes &) = delete;

    // The group of a process that registers, and may use these CPUs. It has no other threads yet, and no marks. The
    // process must be followed, if at all, before anything else here is called. Looks at the others first, unless that
    // was done a moment ago.
    std::uint32_t admit(std::uint32_t user, const cpu_set &allowed);

    // Looks at the CPUs of all registered threads and moves groups as they need it. What has to wait goes on next time.
    void reconsider();

    // Fills in what there is to tell of each scope.
    void tell(hf_scope_status (&told)[HF_HINT_SCOPES], const census &now) const;

private:
    struct books;
    std::unique_ptr<books> books_;
};

} // namespace holdfast
