// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/monitor_programs.hpp"

#include <algorithm>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "monitor/left_out.hpp"
#include "monitor/pins_place.hpp"
#include "monitor/prompt_thread.hpp"

#include "preemption_monitor.skel.h"

namespace holdfast {
namespace {

constexpr const char *whole = "the Preemption Monitor";

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

// Pinned there, and as this version makes it?
bool is_like(const std::string &path, const bpf_map *map) {
    descriptor pinned(bpf_obj_get(path.c_str()));
    bpf_map_info info{};
    __u32 bytes = sizeof(info);
    return pinned && bpf_obj_get_info_by_fd(pinned.get(), &info, &bytes) == 0 && info.type == bpf_map__type(map) &&
           info.key_size == bpf_map__key_size(map) && info.value_size == bpf_map__value_size(map) &&
           info.max_entries == bpf_map__max_entries(map) && info.map_flags == bpf_map__map_flags(map);
}

const hf_hint_page *map_read_only(int map) {
    void *mapped = mmap(nullptr, sizeof(hf_hint_page), PROT_READ, MAP_SHARED, map, 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<const hf_hint_page *>(mapped);
}

// A page that nothing was written to yet has version 0.
bool is_of_this_version(const std::string &path_of_page) {
    descriptor pinned(bpf_obj_get(path_of_page.c_str()));
    const hf_hint_page *page = pinned ? map_read_only(pinned.get()) : nullptr;
    if (!page)
        return false;
    bool is = page->version == HF_HINT_VERSION || page->version == 0;
    munmap(const_cast<hf_hint_page *>(page), sizeof(*page));
    return is;
}

// Beats in place of the kernel's timer, until it is told to stop. Signals are for other threads.
void beat_until_stopped(const std::stop_token &stop, const bpf_program *beat) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    be_prompt();
    std::mutex alone;
    std::condition_variable_any stopped;
    std::unique_lock guard(alone);
    do
        run_program(beat);
    while (!stopped.wait_for(guard, stop, std::chrono::nanoseconds(HF_HEARTBEAT_NS), [] { return false; }) &&
           !stop.stop_requested());
}

// Or would be, once it is made: nothing is made elsewhere.
bool is_in_bpf_file_system(const std::filesystem::path &directory) {
    std::error_code error;
    std::filesystem::path there = std::filesystem::absolute(directory, error);
    while (!std::filesystem::exists(there, error) && there != there.parent_path())
        there = there.parent_path();
    struct statfs where {};
    return statfs(there.c_str(), &where) == 0 && where.f_type == BPF_FS_MAGIC;
}

} // namespace

monitor_pins::monitor_pins(const std::string &directory) {
    if (directory.empty())
        return;
    if (!is_in_bpf_file_system(directory)) {
        why_none_ = directory + " is in no BPF file system: mount -t bpf bpf /sys/fs/bpf";
        return;
    }
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    lock_ = descriptor(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock_)
        why_none_ = directory + " can't be used: " + (error ? error.message() : std::strerror(errno));
    else if (std::string why = why_pins_are_anybodys(lock_.get(), directory); !why.empty())
        why_none_ = why;
    else if (flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
        throw monitor_unavailable("another monitor uses " + directory + ": end it, or choose other --pins");
    else
        directory_ = directory;
}

namespace {

// A program that was running on another CPU when it was detached may still write into the page: a count, a storm. It
// runs with interrupts off, and so has ended when this one runs there. Of a CPU that is offline nothing is expected.
void run_on_each_cpu(const bpf_program *program) {
    for (long cpu = 0, cpus = sysconf(_SC_NPROCESSORS_CONF); cpu < cpus; cpu++) {
        LIBBPF_OPTS(bpf_test_run_opts, options, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = static_cast<__u32>(cpu));
        bpf_prog_test_run_opts(bpf_program__fd(program), &options);
    }
}

} // namespace

monitor_programs::monitor_programs(const monitor_pins &pins, monitor_sight seen, std::uint32_t parts) {
    bpf_log log;
    skeleton_ = preemption_monitor__open();
    if (!skeleton_)
        throw log.refusal("to read the Preemption Monitor's BPF programs", errno);
    try {
        choose(parts, seen);
        skeleton_->rodata->page_is_new = pins.directory().empty();
        if (!pins.directory().empty())
            plan_pins(pins.directory());
        load(log);
        begin(log, parts);
    } catch (...) {
        release();
        throw;
    }
}

monitor_programs::~monitor_programs() {
    heart_ = {};
    preemption_monitor__detach(skeleton_);
    run_on_each_cpu(skeleton_->progs.retire);
    release();
}

void monitor_programs::release() {
    heart_ = {};
    if (page_)
        munmap(const_cast<hf_hint_page *>(page_), sizeof(*page_));
    preemption_monitor__destroy(skeleton_);
}

// Maps, too: a kernel may lack the kind.
void monitor_programs::choose(std::uint32_t parts, monitor_sight seen) const {
    skeleton_->rodata->parts = parts;
    skeleton_->rodata->refused_parts = parts_refused_for_tests();
    skeleton_->rodata->blind_to_others = seen == monitor_sight::from_followed;
    if (seen == monitor_sight::slow_storms)
        skeleton_->rodata->storm_samples = 1;
    skeleton_->rodata->cpus_online = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    bpf_program__set_autoattach(skeleton_->progs.retire, false); // it is no tracepoint's
    bpf_program__set_autoload(skeleton_->progs.walk, parts & HF_PART_CENSUS);
    bpf_program__set_autoload(skeleton_->progs.start_heart, parts & HF_PART_HEART);
    bpf_map__set_autocreate(skeleton_->maps.heart, parts & HF_PART_HEART);
    bpf_map__set_autocreate(skeleton_->maps.absences, parts & HF_PART_ABSENCES);
    bpf_map__set_autocreate(skeleton_->maps.storm_watches, parts & HF_PART_STORMS);
}

std::array<bpf_map *, 2> monitor_programs::kept_maps() const {
    return {skeleton_->maps.hint, skeleton_->maps.followed};
}

// What is pinned may be of another version: programs that know it go on with their page, which nobody keeps, and block.
void monitor_programs::plan_pins(const std::string &directory) {
    bool all_alike = true;
    for (bpf_map *map : kept_maps()) {
        std::string path = directory + "/" + bpf_map__name(map);
        bpf_map__set_pin_path(map, path.c_str());
        bool is_there = access(path.c_str(), F_OK) == 0;
        taken_over_ = taken_over_ || is_there;
        all_alike = all_alike && (!is_there || is_like(path, map));
        if (map == skeleton_->maps.hint)
            all_alike = all_alike && (!is_there || is_of_this_version(path));
    }
    if (!all_alike)
        unpin();
    taken_over_ = taken_over_ && all_alike;
}

void monitor_programs::load(const bpf_log &log) {
    if (int error = preemption_monitor__load(skeleton_))
        throw log.refusal(whole, -error);
    map_page(log);
    if (bpf_map__fd(skeleton_->maps.absences) >= 0)
        absences_.emplace(bpf_map__fd(skeleton_->maps.absences));
}

void monitor_programs::map_page(const bpf_log &log) {
    page_fd_ = bpf_map__fd(skeleton_->maps.hint);
    if (!is_frozen(page_fd_) && bpf_map_freeze(page_fd_))
        throw log.refusal("to freeze the hint page", errno);
    page_ = map_read_only(page_fd_);
    if (!page_)
        throw log.refusal("to map the hint page", errno);
}

// Attached before it says that it is alive: a process must not trust a count that nobody keeps yet.
void monitor_programs::begin(const bpf_log &log, std::uint32_t parts) {
    if (int failed = run_program(skeleton_->progs.reset))
        throw log.refusal("to let BPF write the hint page", failed);
    if (int failed = preemption_monitor__attach(skeleton_))
        throw log.refusal("to attach the Preemption Monitor to the scheduler's tracepoints", -failed);
    if (parts & HF_PART_HEART) {
        if (int failed = run_program(skeleton_->progs.start_heart))
            throw log.refusal("to start a timer of BPF's", failed);
    }
    if (int failed = run_program(skeleton_->progs.start))
        throw log.refusal("to start the Preemption Monitor", failed);
    if (!(parts & HF_PART_HEART))
        heart_ = std::jthread(beat_until_stopped, skeleton_->progs.beat_once);
}

int monitor_programs::followed_map() const {
    return bpf_map__fd(skeleton_->maps.followed);
}

void monitor_programs::unpin() const {
    for (bpf_map *map : kept_maps()) {
        if (const char *path = bpf_map__pin_path(map))
            unlink(path);
    }
}

std::optional<census> monitor_programs::walk() {
    std::lock_guard guard(walking_);
    if (!skeleton_->links.walk || !sees_all_processes())
        return std::nullopt;
    descriptor walk(bpf_iter_create(bpf_link__fd(skeleton_->links.walk)));
    auto *found = skeleton_->bss;
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

void monitor_programs::correct(std::int64_t by, std::uint32_t scope, std::uint32_t repairs) const {
    struct {
        std::int64_t by;
        std::uint32_t scope, repairs;
    } correction{by, scope, repairs};
    run_program(skeleton_->progs.correct, &correction, sizeof(correction));
}

void monitor_programs::move_group(std::uint32_t group, std::uint32_t reads, std::uint32_t counts_in) const {
    std::uint32_t order[] = {group, reads, counts_in};
    run_program(skeleton_->progs.move_group, order, sizeof(order));
}

void monitor_programs::grant_cpu(std::uint32_t cpu, std::uint32_t scope) const {
    std::uint32_t order[] = {cpu, scope};
    run_program(skeleton_->progs.grant_cpu, order, sizeof(order));
}

} // namespace holdfast
