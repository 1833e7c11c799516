// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/bpf_refusal.hpp"

#include <bpf/libbpf.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <vector>

#include "base/descriptor.hpp"
#include "monitor/bpf_rights.hpp"

namespace holdfast {
namespace {

// Of the kernel alone: user space has no name for it.
constexpr int not_supported_in_kernel = 524;

// The oldest kernel that has all that counting needs: storage on tasks for tracing programs (5.12), programs that user
// space runs (5.14).
constexpr int oldest_major = 5, oldest_minor = 14;

thread_local std::string heard;

int hear(enum libbpf_print_level level, const char *format, va_list arguments) {
    if (level != LIBBPF_WARN)
        return 0;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (length <= 0)
        return 0;
    std::size_t before = heard.size();
    heard.resize(before + static_cast<std::size_t>(length) + 1);
    vsnprintf(heard.data() + before, static_cast<std::size_t>(length) + 1, format, arguments);
    heard.pop_back();
    return 0;
}

// What a verifier adds to each of its logs.
bool is_of_statistics(std::string_view line) {
    for (std::string_view beginning :
         {"processed ", "verification time ", "stack depth ", "peak_states ", "mark_read "}) {
        if (line.starts_with(beginning))
            return true;
    }
    return line.find_first_not_of(" \t-") == std::string_view::npos;
}

std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

std::string without_prefix(const std::string &line) {
    constexpr std::string_view prefix = "libbpf: ";
    return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
}

// The verifier's last line, where there is a log of its; else the first of libbpf's, which is nearest to the cause.
std::string telling_line(const std::string &log) {
    std::string last;
    bool in_log = false;
    std::vector<std::string> lines = lines_of(log);
    for (const std::string &line : lines) {
        if (line.find("-- BEGIN PROG LOAD LOG --") != std::string::npos)
            in_log = true;
        else if (line.find("-- END PROG LOAD LOG --") != std::string::npos)
            in_log = false;
        else if (in_log && !is_of_statistics(line))
            last = line;
    }
    std::erase_if(lines, [](const std::string &line) { return line.find("Retrying") != std::string::npos; });
    return last.empty() && !lines.empty() ? without_prefix(lines.front()) : last;
}

std::string program_named(const std::string &log) {
    constexpr std::string_view before = "prog '";
    std::size_t begin = log.find(before);
    if (begin == std::string::npos)
        return "";
    begin += before.size();
    return log.substr(begin, log.find('\'', begin) - begin);
}

utsname running_kernel() {
    utsname names{};
    uname(&names);
    return names;
}

bool is_too_old() {
    int major = 0, minor = 0;
    char dot = 0;
    std::istringstream release(running_kernel().release);
    release >> major >> dot >> minor;
    return release && (major < oldest_major || (major == oldest_major && minor < oldest_minor));
}

std::string lockdown() {
    std::ifstream file("/sys/kernel/security/lockdown");
    std::string modes;
    std::getline(file, modes);
    std::size_t begin = modes.find('['), end = modes.find(']');
    return begin == std::string::npos || end == std::string::npos ? "" : modes.substr(begin + 1, end - begin - 1);
}

// For want of rights, or of the kernel's leave.
std::string advice_on_rights() {
    bpf_rights own = own_bpf_rights();
    if (own.in_user_namespace)
        return "rights do not count for BPF in a user namespace, such as a rootless container's: run holdfast outside "
               "of it";
    if (!own.has_capabilities())
        return geteuid() == 0 ? "root lacks CAP_BPF and CAP_PERFMON here: let its container or service have both"
                              : "run as root, or give the holdfast binary CAP_BPF and CAP_PERFMON";
    if (lockdown() == "confidentiality")
        return "the kernel is locked down (/sys/kernel/security/lockdown says confidentiality): boot without it, or "
               "with lockdown=integrity";
    if (own.filtered)
        return "the rights are there, so a filter of system calls (seccomp) refuses it, a container's perhaps: let "
               "bpf(2) through";
    return "the rights are there, so a security module or a container's rules refuse bpf(2): let it through";
}

// libbpf tries another way where a descriptor is refused, and tells of that.
bool may_open_few() {
    constexpr rlim_t needed = 64; // some forty, and a few for others
    rlimit descriptors{};
    return getrlimit(RLIMIT_NOFILE, &descriptors) == 0 && descriptors.rlim_cur < needed;
}

std::string advice(const bpf_refusal &refusal) {
    if (refusal.error == ENOSYS)
        return "use a kernel built with CONFIG_BPF_SYSCALL, and a container that lets bpf(2) through";
    if (refusal.error == EPERM || !own_bpf_rights().suffice())
        return advice_on_rights();
    if (refusal.error == EMFILE || may_open_few())
        return "raise the limit of open descriptors (ulimit -n)";
    if (is_too_old())
        return "use Linux " + std::to_string(oldest_major) + "." + std::to_string(oldest_minor) +
               " or later: before, BPF programs at the scheduler's switch can keep no mark on a thread";
    if (int no_btf = open_btf_error())
        return advice_on_btf(no_btf);
    if (!refusal.program.empty())
        return "please report this, with what 'holdfast doctor --verbose' prints";
    return "see 'holdfast doctor --verbose'";
}

} // namespace

int open_btf_error() {
    descriptor file(open(btf_path, O_RDONLY | O_CLOEXEC));
    return file ? 0 : errno;
}

std::string advice_on_btf(int error) {
    if (error == EACCES || error == EPERM)
        return std::string("let holdfast read ") + btf_path +
               ": a sandbox (Landlock, AppArmor) or a container's rules refuse it";
    return access("/sys/kernel", F_OK) == 0 ? "use a kernel built with CONFIG_DEBUG_INFO_BTF"
                                            : "mount /sys here, by 'mount -t sysfs sysfs /sys'";
}

std::string error_text(int error) {
    return error == not_supported_in_kernel ? "not supported by this kernel" : std::strerror(error);
}

std::string bpf_refusal::cause() const {
    std::string said = program.empty() ? error_text(error) : "its program " + program + ": " + error_text(error);
    return line.empty() ? said : said + " (" + line + ")";
}

std::string bpf_refusal::sentence() const {
    bool by_rights = error == EPERM || !own_bpf_rights().suffice();
    return "Linux " + std::string(running_kernel().release) + " refuses " + what + ": " +
           (by_rights ? error_text(error) : cause()) + "; " + advice(*this);
}

bpf_log::bpf_log() {
    heard.clear();
    libbpf_set_print(hear);
}

bpf_log::~bpf_log() {
    libbpf_set_print(nullptr);
    heard.clear();
    heard.shrink_to_fit();
}

bpf_refusal bpf_log::refusal(const std::string &what, int error) const {
    return {.what = what, .error = error, .program = program_named(heard), .line = telling_line(heard), .log = heard};
}

} // namespace holdfast
