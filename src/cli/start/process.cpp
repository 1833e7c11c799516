// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/descriptor.hpp"
#include "cli/start/launch.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli {
namespace {

constexpr std::size_t kept_bytes_max = 64 << 20;
constexpr std::chrono::seconds grace{2}; // from being asked to end to being killed

descriptor opened(int fd) {
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), "can't prepare to start a program");
    return descriptor(fd);
}

struct pipe_ends {
    descriptor reading;
    descriptor writing;
};

pipe_ends make_pipe() {
    std::array<int, 2> fds{-1, -1};
    if (pipe2(fds.data(), O_CLOEXEC) < 0)
        fds = {-1, -1};
    return {opened(fds[0]), opened(fds[1])};
}

// A sandbox may have no /dev: then what is empty is memory, too.
descriptor make_input(const std::string &text) {
    int null = text.empty() ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
    if (null >= 0)
        return descriptor(null);
    descriptor memory = opened(memfd_create("input", MFD_CLOEXEC));
    if (write(memory.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        throw std::system_error(errno, std::generic_category(), "can't prepare a program's input");
    lseek(memory.get(), 0, SEEK_SET);
    return memory;
}

// The state is what follows the name, which may contain anything, in proc(5)'s stat.
char state_of_thread(const std::filesystem::path &directory) {
    std::ifstream file(directory / "stat");
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::size_t after_name = text.rfind(") ");
    return after_name == std::string::npos ? '?' : text[after_name + 2];
}

std::string describe_threads(pid_t pid) {
    unsigned all = 0, running = 0;
    std::error_code gone;
    for (const auto &thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), gone)) {
        all++;
        running += state_of_thread(thread.path()) == 'R';
    }
    return fmt::format("{}, {} of them running", format_number_of(all, "thread"), running);
}

double seconds(const timeval &time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

} // namespace

std::string last_line(std::string text) {
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    std::size_t before = text.find_last_of('\n');
    return before == std::string::npos ? text : text.substr(before + 1);
}

std::string process_end::sentence() const {
    switch (why) {
    case cause::exited: return fmt::format("exited with status {}", number);
    case cause::signalled: return fmt::format("was killed by signal {} ({})", number, strsignal(number));
    case cause::timed_out:
        return fmt::format("had not ended after {:.1f} s ({}; {:.1f} s of CPU time)", wall_s, threads, cpu_s);
    case cause::interrupted: return "was interrupted";
    }
    return "ended";
}

process::process(const program &what) {
    descriptor input = make_input(what.input);
    pipe_ends output = make_pipe();
    pipe_ends errors = make_pipe();
    int error_output = what.one_output ? output.writing.get() : errors.writing.get();
    started_ = clock::now();
    pid_ = start({.arguments = what.arguments,
                  .variables = what.variables,
                  .user = what.user,
                  .standard = {input.get(), output.writing.get(), error_output},
                  .captive = true});
    pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)); // glibc 2.36 has it for C only
    if (pidfd_ < 0) {
        int error = errno;
        signal_group(SIGKILL);
        waitpid(pid_, nullptr, 0);
        throw std::system_error(error, std::generic_category(), "can't watch a process (pidfd_open)");
    }
    fcntl(output.reading.get(), F_SETFL, O_NONBLOCK);
    fcntl(errors.reading.get(), F_SETFL, O_NONBLOCK);
    output_.fd = output.reading.release();
    errors_.fd = errors.reading.release();
}

process::~process() {
    if (pid_ > 0) {
        signal_group(SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    if (pidfd_ >= 0)
        close(pidfd_);
    output_.close();
    errors_.close();
}

void process::stream::close() {
    if (fd >= 0)
        ::close(fd);
    fd = -1;
}

// False when there is no more for now, or for good.
bool process::stream::read_some() {
    std::array<char, 65536> buffer;
    if (fd < 0)
        return false;
    ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got > 0) {
        std::size_t kept = std::min(static_cast<std::size_t>(got), kept_bytes_max - text.size());
        text.append(buffer.data(), kept);
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR))
        close();
    return false;
}

void process::read_output() {
    while (output_.read_some())
        continue;
    while (errors_.read_some())
        continue;
}

process::event process::wait_for_event(std::optional<clock::time_point> deadline, const interruption *interrupted) {
    for (;;) {
        int timeout_ms = -1;
        if (deadline) {
            auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - clock::now());
            timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
        }
        std::array<pollfd, 4> all = {{{pidfd_, POLLIN, 0},
                                      {interrupted ? interrupted->fd() : -1, POLLIN, 0},
                                      {output_.fd, POLLIN, 0},
                                      {errors_.fd, POLLIN, 0}}};
        int ready = poll(all.data(), all.size(), timeout_ms);
        if (ready < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "can't watch a process (poll)");
        if (ready == 0 && deadline && clock::now() >= *deadline)
            return event::timeout;
        if (ready <= 0)
            continue;
        if (all[0].revents)
            return event::ended;
        if (all[1].revents)
            return event::interrupted;
        output_.read_some();
        errors_.read_some();
        return event::output;
    }
}

bool process::wait_for_output(std::chrono::duration<double> timeout, const interruption &interrupted) {
    auto deadline = clock::now() + std::chrono::duration_cast<clock::duration>(timeout);
    while (output_.text.empty()) {
        if (wait_for_event(deadline, &interrupted) != event::output)
            break;
    }
    return !output_.text.empty();
}

// False when it goes on; `end` then says why we don't wait any longer.
bool process::wait_for_end(std::optional<clock::time_point> deadline, const interruption *interrupted,
                           process_end &end) {
    for (;;) {
        switch (wait_for_event(deadline, interrupted)) {
        case event::output: break;
        case event::ended: return true;
        case event::interrupted: end.why = process_end::cause::interrupted; return false;
        case event::timeout: end.why = process_end::cause::timed_out; return false;
        }
    }
}

process_end process::wait(std::optional<std::chrono::duration<double>> timeout, const interruption *interrupted) {
    std::optional<clock::time_point> deadline;
    if (timeout)
        deadline = started_ + std::chrono::duration_cast<clock::duration>(*timeout);
    process_end end;
    bool by_itself = wait_for_end(deadline, interrupted, end);
    end.wall_s = std::chrono::duration<double>(clock::now() - started_).count();
    process_end ignored;
    if (end.why == process_end::cause::timed_out)
        end.threads = describe_threads(pid_);
    if (!by_itself) {
        signal_group(SIGTERM);
        if (!wait_for_end(clock::now() + grace, nullptr, ignored)) {
            signal_group(SIGKILL);
            wait_for_end(std::nullopt, nullptr, ignored);
        }
    }
    signal_group(SIGKILL); // what it left running would disturb what comes next
    read_output();
    reap(end);
    end.output = std::move(output_.text);
    end.errors = std::move(errors_.text);
    return end;
}

void process::signal_group(int signal) const {
    kill(-pid_, signal);
}

// Keeps the cause when it was us who ended it.
void process::reap(process_end &end) {
    int status = 0;
    rusage usage{};
    wait4(pid_, &status, 0, &usage);
    pid_ = -1;
    end.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    end.context_switches = static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
    if (end.why != process_end::cause::exited)
        return;
    if (WIFSIGNALED(status)) {
        end.why = process_end::cause::signalled;
        end.number = WTERMSIG(status);
    } else {
        end.number = WEXITSTATUS(status);
    }
}

} // namespace holdfast::cli
