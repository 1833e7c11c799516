// SPDX-License-Identifier: MIT OR Apache-2.0
#include "oversub/scheduler.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "base/end_signal.hpp"
#include "base/signals_blocked.hpp"
#include "monitor/bpf_refusal.hpp"
#include "monitor/wait_loop_reader.hpp"
#include "oversub/implicit_argument.hpp"

#include "oversub.skel.h"

namespace holdfast {
namespace {

constexpr int policy_sched_ext = 7;
constexpr __u32 flag_link = 1 << 13;                // BPF_F_LINK
constexpr int attach_struct_ops = 44;               // BPF_STRUCT_OPS
constexpr std::uint64_t code_restarts = 1ull << 48; // SCX_ECODE_ACT_RESTART
constexpr const char *whole = "the oversubscription scheduler";

// What the kernel's type information says.
struct kernel_functions {
    std::string yield;             // the one of the system call: compilers and processors differ in its name
    std::string described_wrongly; // one that this scheduler calls; empty: none is
};

std::string function_of_yield(const btf *kernel) {
    std::string found = "do_sched_yield";
    for (const char *name : {"__x64_sys_sched_yield", "__arm64_sys_sched_yield", "__do_sys_sched_yield"}) {
        if (kernel && btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC) > 0)
            found = name;
    }
    return found;
}

kernel_functions read_kernel_functions() {
    std::size_t bytes = 0;
    const void *elf = oversub__elf_bytes(&bytes);
    bpf_object *program = bpf_object__open_mem(elf, bytes, nullptr);
    btf *kernel = btf__load_vmlinux_btf();
    kernel_functions read{function_of_yield(kernel),
                          function_with_implicit_argument(program ? bpf_object__btf(program) : nullptr, kernel)};
    btf__free(kernel);
    bpf_object__close(program);
    return read;
}

// Read once: it would be a good part of what a restart takes.
const kernel_functions &functions_of_kernel() {
    static const kernel_functions read = read_kernel_functions();
    return read;
}

bool links_by_itself() {
    return libbpf_major_version() > 1 || libbpf_minor_version() >= 2;
}

// Libbpf before 1.2 knows of no link for a table of operations, and without one it would outlive us.
int link_operations(int map) {
    union bpf_attr attributes {};
    attributes.link_create.prog_fd = static_cast<__u32>(map);
    attributes.link_create.attach_type = attach_struct_ops;
    return static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes)));
}

// The kernel's own measure, which libc's sysconf(_SC_CLK_TCK) is not: 100 to 1000 a second. The coarse clock moves once
// in each.
std::uint32_t jiffies_in_a_tenth_of_a_second() {
    timespec step{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &step);
    constexpr long tenth_ns = 100 * 1000 * 1000;
    return static_cast<std::uint32_t>(step.tv_nsec > 0 ? tenth_ns / step.tv_nsec : 25);
}

std::string first_line(const char *path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

} // namespace

struct scheduler::loaded {
    oversub *skeleton = nullptr;
    bpf_link *table = nullptr;
    int link = -1;

    std::optional<end_signal> ends; // given: this object is being destroyed
    std::unique_ptr<wait_loop_reader> wait_loops;
    std::jthread reader;

    loaded(reach whose, spinners which, holders treated) {
        bpf_log log;
        try {
            load(whose, which, treated, log);
        } catch (const bpf_refusal &refusal) {
            destroy();
            throw scheduler_unavailable(refusal.sentence(), refusal.log);
        }
    }
    ~loaded() { destroy(); }
    loaded(const loaded &) = delete;
    loaded &operator=(const loaded &) = delete;

    void destroy() {
        if (link >= 0)
            close(link); // first: no waiter is blocked any more when the rest goes
        bpf_link__destroy(table);
        if (reader.joinable()) {
            ends->give();
            reader.join();
        }
        oversub__destroy(skeleton);
    }

    // Throws bpf_refusal.
    void load(reach whose, spinners which, holders treated, bpf_log &log) {
        auto need = [&log](int error) {
            if (error)
                throw log.refusal(whole, std::abs(error));
        };
        skeleton = oversub__open();
        need(skeleton ? 0 : errno);
        skeleton->rodata->most_jiffies = jiffies_in_a_tenth_of_a_second();
        skeleton->rodata->overdue_jiffies = 10 * jiffies_in_a_tenth_of_a_second();
        skeleton->rodata->detects_spinning = which == spinners::are_detected;
        skeleton->rodata->favours_holders = treated == holders::go_on;
        bool partial = whose == reach::asking_threads;
        bpf_map *operations = partial ? skeleton->maps.for_asking_threads : skeleton->maps.for_all_threads;
        bpf_map *others = partial ? skeleton->maps.for_all_threads : skeleton->maps.for_asking_threads;
        need(bpf_map__set_autocreate(others, false));
        need(bpf_map__set_map_flags(operations, bpf_map__map_flags(operations) | flag_link));
        need(bpf_program__set_attach_target(skeleton->progs.yields, 0, functions_of_kernel().yield.c_str()));
        need(bpf_program__set_flags(skeleton->progs.oversub_init, BPF_F_SLEEPABLE));
        need(oversub__load(skeleton));
        if (which == spinners::are_detected)
            need(read_wait_loops());
        skeleton->links.yields = bpf_program__attach(skeleton->progs.yields);
        need(skeleton->links.yields ? 0 : errno);
        skeleton->links.wakes = bpf_program__attach(skeleton->progs.wakes);
        need(skeleton->links.wakes ? 0 : errno);
        skeleton->links.is_signalled = bpf_program__attach(skeleton->progs.is_signalled);
        need(skeleton->links.is_signalled ? 0 : errno);
        table = bpf_map__attach_struct_ops(operations);
        need(table ? 0 : errno);
        if (links_by_itself())
            return;
        link = link_operations(bpf_map__fd(operations));
        need(link >= 0 ? 0 : errno);
    }

    // Returns an errno.
    int read_wait_loops() {
        if (!ends.emplace().is_there())
            return errno;
        wait_loops =
            std::make_unique<wait_loop_reader>(bpf_map__fd(skeleton->maps.known), bpf_map__fd(skeleton->maps.seen));
        if (!wait_loops->is_there())
            return errno;
        signals_blocked in_the_thread;
        reader = std::jthread([this] { read_until_end(); });
        return 0;
    }

    void read_until_end() {
        while (!ends->comes_within(end_signal::no_limit, wait_loops->fd()))
            wait_loops->answer_all();
    }
};

scheduler::scheduler(reach whose, spinners which, holders treated)
    : loaded_(std::make_unique<loaded>(whose, which, treated)) {}
scheduler::~scheduler() = default;

std::string scheduler::why_thrown_out() const {
    const hf_scheduler_exit &left = loaded_->skeleton->bss->left;
    if (*const_cast<const volatile std::uint32_t *>(&left.kind) == 0)
        return "";
    std::string why = left.reason, message = left.message;
    return message.empty() ? why : why + " (" + message + ")";
}

bool scheduler::wants_restart() const {
    return loaded_->skeleton->bss->left.code & code_restarts;
}

hf_scheduler_totals scheduler::totals() const {
    return loaded_->skeleton->bss->totals;
}

spin_totals scheduler::spinning() const {
    return {loaded_->skeleton->bss->counts, loaded_->wait_loops ? loaded_->wait_loops->loops() : 0};
}

std::string why_sched_ext_is_of_no_use() {
    if (access("/sys/kernel/sched_ext", F_OK) != 0)
        return "this kernel has no sched_ext: use Linux 6.13 or later with it (Debian's from 6.16 on)";
    const std::string &function = functions_of_kernel().described_wrongly;
    if (function.empty())
        return "";
    return "no scheduler can call this kernel's " + function +
           ", which its type information describes wrongly: use a kernel "
           "built with pahole 1.31 or later (Debian's 7.3)";
}

std::string scheduler_in_place() {
    return first_line("/sys/kernel/sched_ext/root/ops");
}

bool is_oversubscription_scheduler_in_place() {
    return scheduler_in_place().rfind("holdfast_oversub", 0) == 0;
}

bool is_under_oversubscription_scheduler() {
    bool is_asking = sched_getscheduler(0) == policy_sched_ext;
    return is_oversubscription_scheduler_in_place() &&
           (is_asking || first_line("/sys/kernel/sched_ext/switch_all") == "1");
}

bool ask_for_scheduler(int thread) {
    sched_param none{};
    return sched_setscheduler(thread, policy_sched_ext, &none) == 0;
}

} // namespace holdfast
