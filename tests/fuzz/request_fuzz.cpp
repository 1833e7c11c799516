// SPDX-License-Identifier: MIT OR Apache-2.0
// Any message to a server without a monitor, with any kind of descriptor where the kernel lets that in: it is answered
// by a message of this version, the connection is closed, and the server goes on.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor_passing.h"
#include "hint/registration.h"
#include "monitor/server/monitor_server.hpp"
#include "monitor/server/reception.hpp"
#include "observe/statistics_memory.h"

namespace {

[[noreturn]] void wrong(const char *what) {
    std::fprintf(stderr, "request_fuzz: %s\n", what);
    std::abort();
}

int memory_of(off_t bytes, unsigned flags) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC | flags);
    if (fd < 0 || ftruncate(fd, bytes) != 0)
        wrong("no memory for a descriptor to send");
    return fd;
}

// The first byte of the input says what comes along.
int descriptor_for(std::uint8_t choice) {
    const auto expected = static_cast<off_t>(HF_STATISTICS_BYTES);
    switch (choice % 6) {
    case 0: return memory_of(expected, MFD_ALLOW_SEALING);
    case 1: return memory_of(expected, 0);
    case 2: return memory_of(choice, MFD_ALLOW_SEALING);
    case 3: return open("/dev/null", O_RDWR | O_CLOEXEC);
    case 4: return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    default: return -1;
    }
}

union any_reply {
    hf_reply reply;
    hf_monitor_status status;
    hf_observed_processes processes;
};

// libFuzzer's watch interrupts now and then.
ssize_t receive(int connection, any_reply &reply) {
    ssize_t received;
    do
        received = recv(connection, &reply, sizeof(reply), 0);
    while (received < 0 && errno == EINTR);
    return received;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    static holdfast::monitor_server server(nullptr, holdfast::listening_socket(), holdfast::household_of(getuid()));
    if (bytes < 2)
        return 0;
    std::uint64_t began_ns = hf_monotonic_ns();
    int connection = hf_connect(server.socket_name().c_str(), 5000);
    if (connection < 0)
        wrong("nobody listens");
    int brought = descriptor_for(data[0]);
    bool sent = hf_send_message(connection, data + 1, bytes - 1, brought);
    if (!sent && errno == EPERM && brought >= 0) // no descriptors
        sent = hf_send_message(connection, data + 1, bytes - 1, -1);
    // A visitor that is silent for too long is shown out.
    bool late = std::chrono::nanoseconds(hf_monotonic_ns() - began_ns) >= holdfast::reception_limits().patience;
    if (!sent && !late)
        wrong("the message can't be sent");
    any_reply reply{};
    ssize_t received = receive(connection, reply);
    bool is_answer = received == sizeof(hf_reply) || received == sizeof(hf_monitor_status) ||
                     received == sizeof(hf_observed_processes);
    if (!is_answer && !late) {
        std::fprintf(stderr, "request_fuzz: received %zd (%s) after %llu us\n", received, std::strerror(errno),
                     static_cast<unsigned long long>(hf_monotonic_ns() - began_ns) / 1000);
        wrong("no answer, or one of another size");
    }
    if (is_answer && (reply.reply.version != HF_REGISTRATION_VERSION || reply.reply.status > HF_REPLY_ABSENT))
        wrong("an answer of another version");
    if (is_answer && receive(connection, reply) != 0)
        wrong("the connection is not closed");
    if (brought >= 0)
        close(brought);
    close(connection);
    return 0;
}
