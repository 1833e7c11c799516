// SPDX-License-Identifier: MIT OR Apache-2.0
// The Preemption Monitor, loaded into the kernel: one BPF program at the scheduler's switch, and the page that it
// writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hint/registration.h"
#include "monitor/left_out.hpp"
#include "monitor/monitor_types.hpp"

extern "C" {
#include "monitor/bpf/followed_process.h"
}

namespace holdfast {

class monitor {
public:
    // Where a monitor leaves what its successor goes on with: the page, and whom it follows. Then a program need not
    // register again when the service is restarted: it notices that the page is not kept up to date, its waiters block,
    // and it listens again when the page is.
    struct pins {
        std::string directory; // in a BPF file system; made if it is not there. Empty: leave nothing
    };

    using sight = monitor_sight;

    // Loads, attaches and starts it. Throws monitor_unavailable. At most one monitor may use the same pins at a time.
    explicit monitor(sight seen = sight::every_switch) : monitor(pins{}, seen) {}
    explicit monitor(const pins &kept, sight seen = sight::every_switch);
    // Detaches it and leaves the page saying so: count 0, state HF_MONITOR_RETIRED. Pins stay.
    ~monitor();
    monitor(const monitor &) = delete;
    monitor &operator=(const monitor &) = delete;

    // What this kernel did not take, and why.
    const std::vector<left_out_part> &left_out() const;

    // Follows the process behind the pidfd: `tls_offset` as hf_thread_record_tls_offset() tells. One that is followed
    // already stays in its group. Returns 0 or an errno: EEXIST when it has HF_RECORDS_A_THREAD other offsets already,
    // ESRCH when it is gone. Not to be called by several threads for one process.
    int follow(int pidfd, std::int64_t tls_offset, std::uint32_t group = HF_GROUP_OF_ALL, std::uint32_t user = 0);

    // Of a process that is followed.
    std::optional<std::uint32_t> group_of(int pidfd) const;

    // Which locks of a process that is followed had holders that were not running: `told` but for its reply. False for
    // one that is not followed. A moment old: nobody can make us read it all the time.
    bool tell_absences(int pidfd, hf_process_absences &told);

    // Stops following it; nothing happens if it wasn't followed.
    void forget(int pidfd);

    // Moves a group, or says who has a CPU to themselves. The caller keeps scope.S1 (monitor/server/scopes.hpp).
    void move_group(std::uint32_t group, std::uint32_t reads, std::uint32_t counts_in);
    void grant_cpu(std::uint32_t cpu, std::uint32_t scope);
    // Returns when each switch that was under way when it was called has been counted, in whatever scope. False where
    // the kernel can't tell.
    static bool wait_for_switches();

    // Compares the counts with the truth, the numbers of threads that are marked as counted, and sets right what is
    // wrong (which it never should be: page().repairs_total). Tells whether it could: where critical sections are
    // preempted all the time no walk over all threads is quiet enough to tell.
    bool audit();
    std::uint64_t audits_total() const; // those that could tell; to be asked from any thread
    // Makes a count wrong, for the test of the above.
    void spoil_count(std::int64_t by, std::uint32_t scope = HF_SCOPE_MACHINE);

    // Walks over all threads. Nothing from inside a pid namespace, which does not show all.
    std::optional<census> take_census() const;
    // How many processes it follows at this moment: those that registered, their forked children, and those that it has
    // taken over. By a census.
    std::optional<std::uint64_t> followed_processes() const;

    // Did it take over from a monitor that had gone? And, where it was to leave pins: why it can't, or empty.
    bool has_taken_over() const;
    const std::string &why_no_pins() const;
    // Removes the pins: a process that listened to this monitor's page will have to register with the next one.
    void unpin();

    // The page: read-only, for as long as this object lives; and a descriptor of it to pass to others.
    const hf_hint_page &page() const;
    int page_fd() const;

private:
    struct loaded;
    std::unique_ptr<loaded> loaded_;
};

} // namespace holdfast
