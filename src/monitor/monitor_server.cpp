// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/monitor_server.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <string>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/descriptor_passing.h"
#include "hint/registration.h"
#include "monitor/descent.hpp"
#include "thread/thread_record.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace holdfast {
namespace {

class descriptor {
public:
    explicit descriptor(int fd = -1) : fd_(fd) {}
    descriptor(descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    descriptor &operator=(descriptor &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~descriptor() {
        if (fd_ >= 0)
            close(fd_);
    }
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

private:
    int fd_;
};

// A process's counters, seen through the memory that it shares. They outlive it.
class counters_view {
public:
    static constexpr std::size_t bytes = HF_SHARED_SLABS * HF_SLAB_COUNTERS_BYTES;

    explicit counters_view(int fd) {
        struct stat status {};
        // A file that is shorter, or can shrink, would fault while it is read. Sealing first: it fails for all but
        // memory, and a file system of the sender's is not asked anything.
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0 || fstat(fd, &status) != 0 ||
            static_cast<std::size_t>(status.st_size) != bytes)
            return;
        void *memory = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED)
            memory_ = static_cast<const char *>(memory);
    }
    counters_view(counters_view &&other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
    counters_view &operator=(counters_view &&other) noexcept {
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~counters_view() {
        if (memory_)
            munmap(const_cast<char *>(memory_), bytes);
    }

    void add_to(lock_counters &sum) const {
        // Slabs are filled in order and each from its start, so a slab that counts nothing ends the walk.
        for (std::size_t slab = 0; memory_ && slab < HF_SHARED_SLABS; slab++) {
            auto *counters = reinterpret_cast<const hf_thread_counters *>(memory_ + slab * HF_SLAB_COUNTERS_BYTES);
            bool any = false;
            for (int i = 0; i < HF_SLAB_RECORDS; i++)
                any |= add_thread(counters[i], sum);
            if (!any)
                return;
        }
    }

private:
    static bool add_thread(const hf_thread_counters &thread, lock_counters &sum) {
        sum.acquisitions += thread.acquisitions;
        sum.contended += thread.contended;
        sum.spun += thread.spun;
        sum.blocked += thread.blocked;
        sum.mode_switches += thread.mode_switches;
        return thread.acquisitions != 0 || thread.contended != 0;
    }

    const char *memory_ = nullptr;
};

// An abstract name that can't be guessed: no file to leave behind, and chroot does not hide it.
std::string new_socket_name() {
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random)))
        throw std::system_error(errno, std::generic_category(), "no random bytes for a socket name");
    std::string name = "@holdfast-";
    for (unsigned char byte : random) {
        name += "0123456789abcdef"[byte >> 4];
        name += "0123456789abcdef"[byte & 15];
    }
    return name;
}

struct request_with_descriptor {
    hf_registration_request request{};
    descriptor counters;
    bool complete = false;
};

request_with_descriptor receive_request(int connection) {
    request_with_descriptor result;
    int counters = -1;
    result.complete = hf_receive_message(connection, &result.request, sizeof(result.request), &counters) &&
                      result.request.version == HF_REGISTRATION_VERSION;
    result.counters = descriptor(counters);
    return result;
}

void send_reply(int connection, hf_registration_status status, int page_fd) {
    hf_registration_reply reply = {.version = HF_REGISTRATION_VERSION, .status = static_cast<std::uint32_t>(status)};
    hf_send_message(connection, &reply, sizeof(reply), page_fd); // who has gone meanwhile needs no answer
}

// Who is at the other end, as the kernel says. The descriptor can't come to mean another process as a number can.
struct peer {
    uid_t uid = static_cast<uid_t>(-1);
    pid_t pid = 0;
    descriptor process;
};

peer peer_of(int connection) {
    peer found;
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 || credentials.pid <= 0)
        return found;
    found.uid = credentials.uid;
    found.pid = credentials.pid;
    int fd = -1;
    length = sizeof(fd);
    if (getsockopt(connection, SOL_SOCKET, SO_PEERPIDFD, &fd, &length) != 0)
        fd = static_cast<int>(syscall(SYS_pidfd_open, credentials.pid, 0));
    found.process = descriptor(fd);
    return found;
}

// The counters of a process that may still be running.
struct counted_process {
    counters_view counters;
    descriptor process;

    bool has_ended() const {
        pollfd ended = {.fd = process.get(), .events = POLLIN, .revents = 0};
        return poll(&ended, 1, 0) > 0;
    }
};

} // namespace

struct monitor_server::serving {
    monitor *kernel_monitor;
    std::string socket_name;
    descriptor listener;
    descriptor stop;
    std::atomic<unsigned> registered{0};
    std::atomic<unsigned> refused{0};
    uid_t program_uid;
    mutable std::mutex counting;
    std::vector<counted_process> counted;
    lock_counters of_ended_processes;
    std::thread thread;

    void serve() {
        pollfd waited[] = {{.fd = listener.get(), .events = POLLIN, .revents = 0},
                           {.fd = stop.get(), .events = POLLIN, .revents = 0}};
        for (;;) {
            int ready = poll(waited, 2, -1);
            if (ready < 0 && errno == EINTR)
                continue;
            if (ready < 0 || waited[1].revents)
                return;
            descriptor connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (connection)
                answer(connection.get());
            else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
                usleep(10 * 1000); // until somebody closes something
        }
    }

    // Anybody can read the socket's name in /proc/net/unix. Strangers are kept out; a program that has changed its user
    // is none.
    bool may_register(const peer &who) const {
        return who.uid == program_uid || who.uid == 0 || descends_from(who.pid, getpid());
    }

    void answer(int connection) {
        // A peer that connects and says nothing must not keep the others waiting.
        timeval patience = {.tv_sec = 1, .tv_usec = 0};
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        peer who = peer_of(connection);
        if (!who.process || !may_register(who)) {
            refused++;
            return send_reply(connection, HF_REGISTRATION_REFUSED, -1);
        }
        auto [request, counters, complete] = receive_request(connection);
        if (!complete)
            return send_reply(connection, HF_REGISTRATION_REFUSED, -1);
        bool followed = kernel_monitor && kernel_monitor->follow(who.process.get(), request.tls_offset) == 0;
        if (counters)
            count(counters_view(counters.get()), std::move(who.process));
        if (!kernel_monitor)
            return send_reply(connection, HF_REGISTRATION_NO_MONITOR, -1);
        if (!followed)
            return send_reply(connection, HF_REGISTRATION_REFUSED, -1);
        registered++;
        send_reply(connection, HF_REGISTERED, kernel_monitor->page_fd());
    }

    // Processes that have ended are added up now: a build may start more of them than there is room for mappings.
    void count(counters_view counters, descriptor process) {
        std::lock_guard guard(counting);
        std::erase_if(counted, [this](const counted_process &each) {
            bool ended = each.has_ended();
            if (ended)
                each.counters.add_to(of_ended_processes);
            return ended;
        });
        counted.push_back({.counters = std::move(counters), .process = std::move(process)});
    }
};

monitor_server::monitor_server(monitor *kernel_monitor, uid_t program_uid) : serving_(std::make_unique<serving>()) {
    serving_->kernel_monitor = kernel_monitor;
    serving_->program_uid = program_uid;
    serving_->socket_name = new_socket_name();
    serving_->listener = descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    serving_->stop = descriptor(eventfd(0, EFD_CLOEXEC));
    sockaddr_un address{};
    socklen_t length = hf_socket_address(serving_->socket_name.c_str(), &address);
    if (!serving_->listener || !serving_->stop ||
        bind(serving_->listener.get(), reinterpret_cast<sockaddr *>(&address), length) != 0 ||
        listen(serving_->listener.get(), 4096) != 0)
        throw std::system_error(errno, std::generic_category(), "no socket for programs to register on");
    // The process's signals are for its other threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    serving_->thread = std::thread([this] { serving_->serve(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

monitor_server::~monitor_server() {
    if (!serving_->thread.joinable())
        return;
    eventfd_write(serving_->stop.get(), 1);
    serving_->thread.join();
}

const std::string &monitor_server::socket_name() const {
    return serving_->socket_name;
}

lock_counters monitor_server::counters() const {
    std::lock_guard guard(serving_->counting);
    lock_counters sum = serving_->of_ended_processes;
    for (const auto &process : serving_->counted)
        process.counters.add_to(sum);
    return sum;
}

unsigned monitor_server::registered_processes() const {
    return serving_->registered;
}

unsigned monitor_server::refused_processes() const {
    return serving_->refused;
}

} // namespace holdfast
