// SPDX-License-Identifier: MIT OR Apache-2.0
// The Preemption Monitor's BPF programs, in the kernel and attached, with a chosen set of parts.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/descriptor.hpp"
#include "monitor/bpf_refusal.hpp"
#include "monitor/holder_preemptions.hpp"
#include "monitor/monitor_types.hpp"

struct bpf_map;
struct bpf_program;
struct preemption_monitor;

namespace holdfast {

// What has been planned to be left behind for a successor.
class monitor_pins {
public:
    // Throws monitor_unavailable when another monitor uses them: two that count on one page would count double. There
    // are none where there can be none: a monitor that is not restarted needs none.
    explicit monitor_pins(const std::string &directory);

    // Empty: there are none.
    const std::string &directory() const { return directory_; }
    const std::string &why_none() const { return why_none_; }

private:
    std::string directory_, why_none_;
    descriptor lock_;
};

class monitor_programs {
public:
    // Loads, attaches and starts them. Throws bpf_refusal, or monitor_unavailable.
    monitor_programs(const monitor_pins &pins, monitor_sight seen, std::uint32_t parts);
    // Detaches them and leaves the page saying so.
    ~monitor_programs();
    monitor_programs(const monitor_programs &) = delete;
    monitor_programs &operator=(const monitor_programs &) = delete;

    const hf_hint_page &page() const { return *page_; }
    int page_fd() const { return page_fd_; }
    int followed_map() const;
    bool has_taken_over() const { return taken_over_; }
    holder_preemptions *absences() { return absences_ ? &*absences_ : nullptr; }
    void unpin() const;

    // Visits all threads. Nothing when the kernel does not let it, or shows a pid namespace's threads alone.
    std::optional<census> walk();
    void correct(std::int64_t by, std::uint32_t scope, std::uint32_t repairs) const;
    void move_group(std::uint32_t group, std::uint32_t reads, std::uint32_t counts_in) const;
    void grant_cpu(std::uint32_t cpu, std::uint32_t scope) const;

private:
    void choose(std::uint32_t parts, monitor_sight seen) const;
    void plan_pins(const std::string &directory);
    void load(const bpf_log &log);
    void map_page(const bpf_log &log);
    void begin(const bpf_log &log, std::uint32_t parts);
    void release();
    std::array<bpf_map *, 2> kept_maps() const;

    preemption_monitor *skeleton_ = nullptr;
    const hf_hint_page *page_ = nullptr;
    int page_fd_ = -1;
    bool taken_over_ = false;
    std::mutex walking_; // its findings are in the program's own variables
    std::optional<holder_preemptions> absences_;
    std::jthread heart_; // where the kernel has none
};

} // namespace holdfast
