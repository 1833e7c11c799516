// SPDX-License-Identifier: MIT OR Apache-2.0
// Any answer to a process that registers, with any kind of descriptor: it goes on without a monitor and without
// statistics, has no descriptor more than before, and lives.
//
// Shown able to fail: hf_is_frozen_map true for all (a page in memory is listened to); hf_is_memory_for_statistics true
// for all (memory that can be taken away is noted in).
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "base/descriptor_passing.h"
#include "hint/hint.h"
#include "hint/registration.h"
#include "observe/observation.h"

extern "C" bool hf_registers_at_start;
bool hf_registers_at_start = false;

namespace {

[[noreturn]] void wrong(const char *what) {
    std::fprintf(stderr, "reply_fuzz: %s\n", what);
    std::abort();
}

// As good as such memory can look at its beginning.
int memory_of(off_t bytes, std::uint32_t version) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || ftruncate(fd, bytes) != 0)
        wrong("no memory for a descriptor to send");
    hf_hint_page page{};
    page.version = version;
    page.monitor_state = HF_MONITOR_ALIVE;
    std::size_t begin = std::min<std::size_t>(sizeof(page), static_cast<std::size_t>(bytes));
    if (pwrite(fd, &page, begin, 0) != static_cast<ssize_t>(begin))
        wrong("memory that can't be written");
    return fd;
}

int sealed(int fd, unsigned seals) {
    fcntl(fd, F_ADD_SEALS, seals);
    return fd;
}

int descriptor_for(std::uint8_t choice) {
    const auto expected = static_cast<off_t>(HF_STATISTICS_BYTES);
    switch (choice % 12) {
    case 0: return memory_of(expected, HF_STATISTICS_VERSION);
    case 1: return memory_of(choice, HF_STATISTICS_VERSION);
    case 2: return sealed(memory_of(choice, HF_STATISTICS_VERSION), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    case 3: return sealed(memory_of(expected, HF_STATISTICS_VERSION), F_SEAL_GROW | F_SEAL_SEAL);
    case 4: return sealed(memory_of(expected, ~0u), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    case 5: return memory_of(sizeof(hf_hint_page), HF_HINT_VERSION);
    case 6: return sealed(memory_of(sizeof(hf_hint_page), HF_HINT_VERSION), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    case 7: return open("/dev/zero", O_RDWR | O_CLOEXEC);
    case 8: return open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    case 9: return eventfd(0, EFD_CLOEXEC);
    case 10: return open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    default: return -1;
    }
}

// Each input: how often a message is cut off, which descriptors come along, then the messages' bytes.
struct hostile_server {
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    hostile_server() {
        std::string name = "@holdfast-fuzz-" + std::to_string(getpid());
        sockaddr_un address{};
        socklen_t length = hf_socket_address(name.c_str(), &address);
        if (bind(listener, reinterpret_cast<sockaddr *>(&address), length) != 0 || listen(listener, 8) != 0)
            wrong("no socket to listen on");
        setenv(HF_SOCKET_VARIABLE, name.c_str(), 1);
    }

    // A client that has waited too long, on a busy machine, asks for no more: until `over` there may be somebody.
    void answer(std::span<const std::uint8_t> message, std::uint8_t choice, const std::atomic<bool> &over) const {
        pollfd somebody = {.fd = listener, .events = POLLIN, .revents = 0};
        while (poll(&somebody, 1, 1) <= 0)
            if (over)
                return;
        int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        hf_request request{};
        if (!hf_receive_message(connection, &request, sizeof(request), nullptr))
            wrong("a request of another size, or none");
        if (request.version != HF_REGISTRATION_VERSION)
            wrong("a request of another version");
        int along = descriptor_for(choice);
        hf_send_message(connection, message.data(), message.size(), along);
        if (along >= 0)
            close(along);
        close(connection);
    }
};

int open_descriptors() {
    constexpr int looked_at = 256;
    int open = 0;
    for (int fd = 0; fd < looked_at; fd++)
        open += fcntl(fd, F_GETFD) >= 0;
    return open;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    static const hostile_server server;
    if (bytes < 3)
        return 0;
    // Asked anew each time: between inputs the fuzzer may start a symboliser, and keep its pipes.
    const int open_before = open_descriptors();
    std::span<const std::uint8_t> input(data, bytes), rest = input.subspan(3);
    std::size_t first = std::min<std::size_t>(input[0] % 64, rest.size());
    std::span<const std::uint8_t> to_first = rest.first(first), to_second = rest.subspan(first);
    std::atomic<bool> over = false;
    std::thread answering([&] {
        server.answer(to_first, input[1], over);
        server.answer(to_second, input[2], over);
    });
    hf_register();
    over = true;
    answering.join();
    static bool is_first = true; // and may open what it keeps
    if (open_descriptors() != open_before && !is_first)
        wrong("a descriptor is left open");
    is_first = false;
    if (hf_hint_has_monitor() || hf_hint->version != HF_HINT_VERSION)
        wrong("it listens to a page that is no frozen map");
    if (hf_statistics_are_on())
        wrong("it notes in memory that can be taken away");
    return 0;
}
