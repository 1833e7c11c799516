// SPDX-License-Identifier: MIT OR Apache-2.0
// Two threads that ask for the network addresses of a machine, each in a network namespace of its own: the bully's has
// very many, the victim's has one. The kernel copies them under the RTNL, one lock for all namespaces.
#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "harness/command_line.hpp"
#include "kernel_locks/bully_and_victim.hpp"

namespace {

using holdfast::bench::contender;
using holdfast::bench::fail;

constexpr std::uint32_t first_address = 10u << 24 | 1;

int open_socket(int family, int type, int protocol) {
    int opened = socket(family, type | SOCK_CLOEXEC, protocol);
    if (opened < 0)
        fail("socket");
    return opened;
}

struct add_address {
    nlmsghdr header;
    ifaddrmsg message;
    rtattr attribute;
    std::uint32_t address;
};

// To the namespace's loopback interface, which is its first.
void add(int netlink, std::uint32_t address) {
    add_address request = {};
    request.header = {.nlmsg_len = sizeof(request),
                      .nlmsg_type = RTM_NEWADDR,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK,
                      .nlmsg_seq = 1,
                      .nlmsg_pid = 0};
    request.message = {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_flags = 0, .ifa_scope = 0, .ifa_index = 1};
    request.attribute = {.rta_len = RTA_LENGTH(sizeof(request.address)), .rta_type = IFA_LOCAL};
    request.address = htonl(address);
    struct {
        nlmsghdr header;
        nlmsgerr error;
        char rest[512];
    } answer;
    if (send(netlink, &request, sizeof(request), 0) < 0 || recv(netlink, &answer, sizeof(answer), 0) < 0)
        fail("netlink");
    if (answer.header.nlmsg_type != NLMSG_ERROR || answer.error.error != 0) {
        errno = -answer.error.error;
        fail("an address can't be added");
    }
}

// In a namespace of its own, to which its socket belongs.
contender asker(const std::string &name, std::uint32_t addresses) {
    if (unshare(CLONE_NEWNET) != 0)
        fail("a network namespace can't be made");
    int netlink = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    for (std::uint32_t number = 0; number < addresses; number++)
        add(netlink, first_address + number);
    close(netlink);
    int asked = open_socket(AF_INET, SOCK_DGRAM, 0);
    auto room = std::make_shared<std::vector<ifreq>>(addresses + 1);
    return {.name = name, .call = [asked, room, addresses] {
                ifconf wanted = {};
                wanted.ifc_len = static_cast<int>(room->size() * sizeof(ifreq));
                wanted.ifc_req = room->data();
                if (ioctl(asked, SIOCGIFCONF, &wanted) != 0)
                    return false;
                errno = ENODATA;
                return wanted.ifc_len == static_cast<int>(addresses * sizeof(ifreq));
            }};
}

void measure(std::uint32_t addresses, double seconds) {
    std::array<contender, 2> both{asker("bully", addresses), asker("victim", 1)};
    holdfast::bench::measure(both, "rtnl", seconds);
}

} // namespace

int main(int argc, char **argv) {
    std::uint32_t addresses = 5000;
    double seconds = 5;
    holdfast::bench::command_line line{
        .name = "address-latency",
        .summary = "Two threads that ask for their network namespaces' addresses: one of them has very many.",
        .options = {{"--addresses", addresses, 1, 1 << 20, "Of the bully's namespace"},
                    {"--seconds", seconds, 0.001, 86400, "How long they ask"}},
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return holdfast::bench::run_checked(line.name, [&] { measure(addresses, seconds); });
}
