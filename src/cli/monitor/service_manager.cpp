// SPDX-License-Identifier: MIT OR Apache-2.0
// The protocol of sd_notify(3), "Notes": a datagram to a socket that the environment names. Not by libsystemd: that and
// the six libraries that it needs are a tenth of the time that any 'holdfast' takes to start.
#include "cli/monitor/service_manager.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/descriptor.hpp"

namespace holdfast::cli {
namespace {

// Of a socket in the file system, or with an @ in place of the zero before an abstract name.
socklen_t address_of(std::string_view name, sockaddr_un &address) {
    if (name.size() < 2 || name.size() >= sizeof(address.sun_path) || (name.front() != '/' && name.front() != '@'))
        return 0;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name.front() == '@')
        address.sun_path[0] = '\0';
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name.front() == '/' ? 1 : 0));
}

} // namespace

void tell_service_manager(const char *state) {
    const char *name = std::getenv("NOTIFY_SOCKET");
    sockaddr_un address{};
    socklen_t size = name ? address_of(name, address) : 0;
    if (size == 0)
        return;
    descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (socket)
        sendto(socket.get(), state, std::strlen(state), MSG_NOSIGNAL, reinterpret_cast<const sockaddr *>(&address),
               size);
}

} // namespace holdfast::cli
