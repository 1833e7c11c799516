// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/client/service_report.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/descriptor.hpp"
#include "base/descriptor_passing.h"
#include "hint/service_socket.h"
#include "hint/trust.h"

namespace holdfast {
namespace {

service_report report_of(service_report::state is, const std::string &sentence) {
    return {.is = is, .sentence = sentence};
}

// An abstract one begins with @ and has no file.
bool may_be_a_socket(const std::string &socket_name) {
    struct stat file {};
    return socket_name.starts_with("@") || stat(socket_name.c_str(), &file) != 0 || S_ISSOCK(file.st_mode);
}

service_report why_not_connected(const std::string &socket_name, int error) {
    using enum service_report::state;
    switch (error) {
    case ENOENT:
    case ENAMETOOLONG: // the empty name, too
        return report_of(absent, "there is no service on " + socket_name + ": start one by 'holdfast monitor" +
                                     (socket_name == HF_SERVICE_SOCKET ? "" : " --socket " + socket_name) + "'");
    case ECONNREFUSED:
        if (!may_be_a_socket(socket_name))
            return report_of(absent, socket_name + " is no socket: name the one of a service");
        return report_of(dead, "the service on " + socket_name + " has ended: start it again");
    case EACCES:
    case EPERM:
        return report_of(forbidden, "the service on " + socket_name + " is not for this user: join the socket's group");
    default: return report_of(silent, "the service on " + socket_name + " can't be reached: " + std::strerror(error));
    }
}

service_report what_it_says(const std::string &socket_name, const hf_monitor_status &status, ssize_t received) {
    using enum service_report::state;
    if (received < static_cast<ssize_t>(offsetof(hf_reply, group))) // what replies of all versions begin with
        return report_of(silent, "the service on " + socket_name + " does not answer: start it again");
    if (status.reply.version != HF_REGISTRATION_VERSION || status.reply.status == HF_REPLY_OTHER_VERSION)
        return report_of(other_version, "the service on " + socket_name +
                                            " is of another version of Holdfast: restart it after an upgrade");
    if (status.reply.status == HF_REPLY_NO_MONITOR)
        return report_of(without_monitor, "what serves " + socket_name + " has no monitor: see its messages");
    if (status.reply.status == HF_REPLY_LATER)
        return report_of(expected, "what serves " + socket_name +
                                       " loads a monitor when threads of its programs have slept for locks");
    if (status.reply.status != HF_REPLY_DONE || received != sizeof(status))
        return report_of(forbidden, "the service on " + socket_name + " does not serve this user");
    service_report report = report_of(running, "a service runs on " + socket_name);
    report.status = status;
    return report;
}

} // namespace

const char *name_of(service_report::state is) {
    using enum service_report::state;
    switch (is) {
    case running: return "running";
    case without_monitor: return "without monitor";
    case expected: return "expected";
    case absent: return "absent";
    case dead: return "dead";
    case forbidden: return "forbidden";
    case silent: return "silent";
    case other_version: return "other version";
    }
    return "unknown";
}

service_report ask_service(const std::string &socket_name, int patience_ms) {
    descriptor connection(hf_connect(socket_name.c_str(), patience_ms));
    if (!connection)
        return why_not_connected(socket_name, errno);
    hf_request request{};
    request.version = HF_REGISTRATION_VERSION;
    request.kind = HF_REQUEST_STATUS;
    hf_monitor_status status{};
    ssize_t received = -1;
    if (hf_send_message(connection.get(), &request, sizeof(request), -1))
        received = recv(connection.get(), &status, sizeof(status), 0);
    status.holdfast_version[sizeof(status.holdfast_version) - 1] = '\0';
    service_report report = what_it_says(socket_name, status, received);
    report.trusted = hf_trusts_listener(connection.get(), socket_name.c_str());
    return report;
}

std::string service_socket() {
    const char *named = std::getenv(HF_SOCKET_VARIABLE);
    return named ? named : HF_SERVICE_SOCKET;
}

} // namespace holdfast
