// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/monitor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <mutex>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "monitor/descriptor.hpp"
#include "monitor/holder_absences.hpp"

#include "preemption_monitor.skel.h"

namespace holdfast {
namespace {

// What libbpf and the kernel's verifier say while loading; the last error of it goes into the exception.
std::string last_complaint;

int keep_complaint(enum libbpf_print_level level, const char *format, va_list arguments) {
    if (level == LIBBPF_WARN) {
        char line[512];
        vsnprintf(line, sizeof(line), format, arguments);
        last_complaint = line;
        while (!last_complaint.empty() && last_complaint.back() == '\n')
            last_complaint.pop_back();
    }
    return 0;
}

[[noreturn]] void unavailable(const std::string &what, int error) {
    std::string remedy;
    if (error == EPERM || error == EACCES)
        remedy = "run as root, or give the holdfast binary CAP_BPF and CAP_PERFMON";
    else if (error == ESRCH || error == ENOENT)
        remedy = "use a kernel built with CONFIG_DEBUG_INFO_BTF";
    else
        remedy = last_complaint.empty() ? "see 'holdfast doctor'" : "the kernel said: " + last_complaint;
    throw monitor_unavailable(what + ": " + std::strerror(error) + "; " + remedy);
}

// As one that was pinned is.
bool is_frozen(int map) {
    std::ifstream about("/proc/self/fdinfo/" + std::to_string(map));
    for (std::string field; about >> field;) {
        int value = 0;
        if (field == "frozen:" && about >> value)
            return value == 1;
        about.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return false;
}

// The initial pid namespace has this inode number (PROC_PID_INIT_INO in the kernel's sources).
bool sees_all_processes() {
    struct stat space {};
    return stat("/proc/self/ns/pid", &space) == 0 && space.st_ino == 0xEFFFFFFC;
}

int run_program(const bpf_program *program, void *context = nullptr, std::size_t bytes = 0) {
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.ctx_in = context;
    options.ctx_size_in = static_cast<__u32>(bytes);
    int error = bpf_prog_test_run_opts(bpf_program__fd(program), &options);
    if (error)
        return -error;
    return options.retval ? EIO : 0;
}

// All that the page can count.
std::vector<std::uint64_t> counts_of(const hf_hint_page &page) {
    std::vector<std::uint64_t> counts;
    for (const hf_hint_scope &each : page.scope)
        counts.push_back(hf_load_acquire(&each.preempted_critical_sections));
    return counts;
}

} // namespace

struct monitor::loaded {
    preemption_monitor *skeleton = nullptr;
    const hf_hint_page *page = nullptr;
    int page_fd = -1;
    bool taken_over = false;
    std::atomic<std::uint64_t> audits = 0;
    std::mutex walking; // its findings are in the program's own variables
    std::string why_no_pins;
    descriptor pins_lock;
    std::optional<holder_absences> absences;

    ~loaded() {
        if (page)
            munmap(const_cast<hf_hint_page *>(page), sizeof(*page));
        preemption_monitor__destroy(skeleton);
    }

    std::array<bpf_map *, 2> kept_maps() const { return {skeleton->maps.hint, skeleton->maps.followed}; }

    // Says whether it could: what is pinned may be of another version. Throws monitor_unavailable.
    bool load(const pins &kept, sight seen) {
        skeleton = preemption_monitor__open();
        if (!skeleton)
            unavailable("the Preemption Monitor's BPF program can't be read", errno);
        skeleton->rodata->blind_to_others = seen == sight::from_followed;
        skeleton->rodata->cpus_online = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
        if (!kept.directory.empty())
            plan_pins(kept.directory);
        int error = preemption_monitor__load(skeleton);
        if (error == -EINVAL && taken_over)
            return false; // other maps
        if (error)
            unavailable("the kernel refuses the Preemption Monitor", -error);
        map_page();
        absences.emplace(bpf_map__fd(skeleton->maps.absences));
        return page->version == HF_HINT_VERSION || page->version == 0; // 0: new
    }

    void map_page() {
        page_fd = bpf_map__fd(skeleton->maps.hint);
        if (!is_frozen(page_fd) && bpf_map_freeze(page_fd))
            unavailable("the hint page can't be frozen", errno);
        void *mapped = mmap(nullptr, sizeof(hf_hint_page), PROT_READ, MAP_SHARED, page_fd, 0);
        if (mapped == MAP_FAILED)
            unavailable("the hint page can't be mapped", errno);
        page = static_cast<const hf_hint_page *>(mapped);
    }

    // Without pins when there can be none: a monitor that is not restarted needs none. Throws monitor_unavailable when
    // another one uses them: two that count on one page would count double.
    void plan_pins(const std::string &directory) {
        std::error_code error;
        std::filesystem::create_directories(directory, error);
        pins_lock = descriptor(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct statfs where {};
        if (!pins_lock || fstatfs(pins_lock.get(), &where) != 0) {
            why_no_pins = directory + " can't be used: " + (error ? error.message() : std::strerror(errno));
            return;
        }
        if (where.f_type != BPF_FS_MAGIC) {
            why_no_pins = directory + " is in no BPF file system: mount -t bpf bpf /sys/fs/bpf";
            return;
        }
        if (flock(pins_lock.get(), LOCK_EX | LOCK_NB) != 0)
            throw monitor_unavailable("another monitor uses " + directory + ": end it, or choose other --pins");
        for (bpf_map *map : kept_maps()) {
            std::string path = directory + "/" + bpf_map__name(map);
            taken_over = taken_over || access(path.c_str(), F_OK) == 0;
            bpf_map__set_pin_path(map, path.c_str());
        }
    }

    // Visits all threads. Nothing when the kernel does not let it, or shows a pid namespace's threads alone.
    std::optional<census> walk() {
        std::lock_guard guard(walking);
        if (!sees_all_processes())
            return std::nullopt;
        descriptor walk(bpf_iter_create(bpf_link__fd(skeleton->links.walk)));
        auto *found = skeleton->bss;
        std::memset(found, 0, sizeof(*found));
        char nothing[64];
        ssize_t more = walk ? 1 : -1;
        while (walk && (more > 0 || (more < 0 && (errno == EINTR || errno == EAGAIN))))
            more = read(walk.get(), nothing, sizeof(nothing));
        if (more != 0)
            return std::nullopt;
        census taken{.followed_processes = found->followed_found,
                     .marks = {std::begin(found->marks_found), std::end(found->marks_found)},
                     .groups = std::vector<hf_group_found>(HF_HINT_GROUPS)};
        static_assert(sizeof(found->groups_found) == HF_HINT_GROUPS * sizeof(hf_group_found));
        std::memcpy(taken.groups.data(), found->groups_found, sizeof(found->groups_found));
        return taken;
    }

    std::optional<hf_followed_process> followed(int pidfd) const {
        hf_followed_process process{};
        bool known = bpf_map_lookup_elem(bpf_map__fd(skeleton->maps.followed), &pidfd, &process) == 0;
        return known ? std::optional(process) : std::nullopt;
    }

    void correct(std::int64_t by, std::uint32_t scope, std::uint32_t repairs) const {
        struct {
            std::int64_t by;
            std::uint32_t scope, repairs;
        } correction{by, scope, repairs};
        run_program(skeleton->progs.correct, &correction, sizeof(correction));
    }

    void unpin() const {
        for (bpf_map *map : kept_maps()) {
            if (const char *path = bpf_map__pin_path(map))
                unlink(path);
        }
    }
};

monitor::monitor(const pins &kept, sight seen) : loaded_(std::make_unique<loaded>()) {
    last_complaint.clear();
    libbpf_set_print(keep_complaint);

    if (!loaded_->load(kept, seen)) {
        // Programs of another version go on with their page, which nobody keeps: they block.
        loaded_->unpin();
        loaded_ = std::make_unique<loaded>();
        if (!loaded_->load(kept, seen))
            unavailable("what is pinned in " + kept.directory + " can't be replaced", EEXIST);
    }
    preemption_monitor *skeleton = loaded_->skeleton;
    // Attached before it says that it is alive: a process must not trust a count that nobody keeps yet.
    if (int failed = run_program(skeleton->progs.reset))
        unavailable("the hint page can't be written", failed);
    if (int failed = preemption_monitor__attach(skeleton))
        unavailable("the Preemption Monitor can't be attached to the scheduler's tracepoints", -failed);
    if (int failed = run_program(skeleton->progs.start))
        unavailable("the Preemption Monitor can't be started", failed);
}

monitor::~monitor() {
    preemption_monitor__detach(loaded_->skeleton);
    run_program(loaded_->skeleton->progs.retire);
}

int monitor::follow(int pidfd, std::int64_t tls_offset, std::uint32_t group, std::uint32_t user) {
    int map = bpf_map__fd(loaded_->skeleton->maps.followed);
    hf_followed_process process{.tls_offset = {}, .group = group, .user = user, .since_ns = hf_monotonic_ns()};
    if (bpf_map_lookup_elem(map, &pidfd, &process) != 0 && errno != ENOENT)
        return errno;
    for (std::int64_t &known : process.tls_offset) {
        if (known == tls_offset)
            return 0;
        if (known == 0) {
            known = tls_offset;
            return bpf_map_update_elem(map, &pidfd, &process, BPF_ANY) == 0 ? 0 : errno;
        }
    }
    return EEXIST;
}

void monitor::forget(int pidfd) {
    bpf_map_delete_elem(bpf_map__fd(loaded_->skeleton->maps.followed), &pidfd);
}

std::optional<std::uint32_t> monitor::group_of(int pidfd) const {
    auto process = loaded_->followed(pidfd);
    return process ? std::optional(process->group) : std::nullopt;
}

bool monitor::tell_absences(int pidfd, hf_process_absences &told) {
    auto process = loaded_->followed(pidfd);
    if (process)
        loaded_->absences->tell(process->since_ns, told);
    return process.has_value();
}

void monitor::move_group(std::uint32_t group, std::uint32_t reads, std::uint32_t counts_in) {
    std::uint32_t order[] = {group, reads, counts_in};
    run_program(loaded_->skeleton->progs.move_group, order, sizeof(order));
}

void monitor::grant_cpu(std::uint32_t cpu, std::uint32_t scope) {
    std::uint32_t order[] = {cpu, scope};
    run_program(loaded_->skeleton->progs.grant_cpu, order, sizeof(order));
}

// A switch runs with preemption disabled, which is what this barrier waits for on every CPU.
bool monitor::wait_for_switches() {
    return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

namespace {

// What would show that a count has changed meanwhile: it counts up only with one of the totals.
struct snapshot {
    std::vector<std::uint64_t> counts;
    std::uint64_t ups;
    explicit snapshot(const hf_hint_page &page)
        : counts(counts_of(page)), ups(hf_load_acquire(&page.scope[HF_SCOPE_MACHINE].preemptions_total) +
                                       hf_load_acquire(&page.scope[HF_SCOPE_MACHINE].sleeps_total)) {}
    bool operator==(const snapshot &) const = default;
};

// By how much each scope's count should be more.
std::vector<std::int64_t> errors_in(const std::vector<std::uint64_t> &counts, const std::vector<std::uint64_t> &marks) {
    std::vector<std::int64_t> errors;
    for (std::size_t scope = 0; scope < counts.size(); scope++)
        errors.push_back(static_cast<std::int64_t>(marks[scope] - counts[scope]));
    return errors;
}

} // namespace

// Counts and marks do not change in one step, and a CPU may stand still in between for a whole walk: only what two
// quiet walks find alike is taken for the truth.
bool monitor::audit() {
    constexpr int tries = 20;
    const std::vector<std::int64_t> none(HF_HINT_SCOPES);
    std::vector<std::int64_t> found_before;
    for (int i = 0; i < tries; i++) {
        snapshot before(page());
        std::optional<census> found = take_census();
        if (!found)
            return false;
        if (snapshot(page()) != before)
            continue;
        std::vector<std::int64_t> errors = errors_in(before.counts, found->marks);
        if (errors == none || errors == found_before) {
            loaded_->audits++;
            for (std::uint32_t scope = 0; scope < errors.size(); scope++) {
                if (errors[scope] != 0)
                    loaded_->correct(errors[scope], scope, 1);
            }
            return true;
        }
        found_before = errors;
        usleep(1000);
    }
    return false;
}

void monitor::spoil_count(std::int64_t by, std::uint32_t scope) {
    loaded_->correct(by, scope, 0);
}

std::optional<census> monitor::take_census() const {
    return loaded_->walk();
}

std::uint64_t monitor::audits_total() const {
    return loaded_->audits;
}

std::optional<std::uint64_t> monitor::followed_processes() const {
    std::optional<census> found = take_census();
    return found ? std::optional(found->followed_processes) : std::nullopt;
}

bool monitor::has_taken_over() const {
    return loaded_->taken_over;
}

const std::string &monitor::why_no_pins() const {
    return loaded_->why_no_pins;
}

void monitor::unpin() {
    loaded_->unpin();
}

const hf_hint_page &monitor::page() const {
    return *loaded_->page;
}

int monitor::page_fd() const {
    return loaded_->page_fd;
}

} // namespace holdfast
