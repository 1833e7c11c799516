// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/monitor_server.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "holdfast/holdfast.h"
#include "monitor/server/ancestry.hpp"
#include "monitor/server/reception.hpp"
#include "monitor/server/registered_processes.hpp"
#include "monitor/server/statistics_keeper.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t walks_apart_ns = 200'000'000;
constexpr std::size_t remembered_max = 10'000;

} // namespace

admission household_of(uid_t user) {
    return [user, head = getpid()](const peer &who, hf_request_kind, std::size_t) {
        // Anybody can read the socket's name. Strangers are kept out; a program that has changed its user is none.
        bool belongs = who.uid == user || who.uid == 0 || (who.pid > 0 && descends_from(who.pid, head));
        return belongs ? HF_REPLY_DONE : HF_REPLY_STRANGER;
    };
}

admission everybody_up_to(std::size_t processes_of_a_user_max) {
    return [processes_of_a_user_max](const peer &who, hf_request_kind, std::size_t registered) {
        return who.uid == 0 || registered < processes_of_a_user_max ? HF_REPLY_DONE : HF_REPLY_OVER_LIMIT;
    };
}

struct monitor_server::serving {
    monitor *kernel_monitor;
    listening_socket socket;
    admission admits;
    std::uint64_t began_ns = hf_monotonic_ns();

    mutable std::mutex books; // all below, and kernel_monitor
    bool expects_monitor = false;
    expectation expected; // no load: it was asked for
    std::set<std::pair<pid_t, std::uint32_t>> came_once;
    registered_processes registered;
    std::uint64_t registrations = 0;
    std::uint64_t refusals = 0;
    statistics_keeper statistics;
    std::optional<scopes> programs; // if there is a monitor
    census last_census;             // for a while: nobody can make us walk all the time
    std::uint64_t walked_at_ns = 0;

    std::unique_ptr<reception> open; // last: it stops before the rest goes

    serving(monitor *its_monitor, listening_socket its_socket, admission its_admission, scoping by)
        : kernel_monitor(its_monitor), socket(std::move(its_socket)), admits(std::move(its_admission)) {
        if (kernel_monitor)
            programs.emplace(*kernel_monitor, by);
        reception::clerk clerk = {
            .answers = [this](const hf_request *request, peer &&who,
                              int connection) { return answer_to(request, std::move(who), connection); },
            .makes_room = [this] { strike_off_ended(); },
        };
        open = std::make_unique<reception>(socket.fd(), std::move(clerk));
    }

    void strike_off_ended() {
        std::lock_guard guard(books);
        registered.strike_off_ended();
        statistics.close_ended();
    }

    answer answer_to(const hf_request *request, peer &&who, int connection) {
        std::lock_guard guard(books);
        hf_reply_status verdict = judge(request, who);
        if (verdict != HF_REPLY_DONE)
            return refuse(verdict);
        std::uint32_t group = HF_GROUP_OF_ALL;
        switch (static_cast<hf_request_kind>(request->kind)) {
        case HF_REQUEST_REGISTER: verdict = follow(*request, std::move(who), connection, group); break;
        case HF_REQUEST_STATUS: return message_of(status());
        case HF_REQUEST_OWN_STATISTICS: return give_memory(*request, std::move(who));
        case HF_REQUEST_PROCESSES: return message_of(processes_for(who, *request));
        case HF_REQUEST_STATISTICS: return let_read(*request, who);
        case HF_REQUEST_ABSENCES: return tell_absences(*request, who);
        }
        if (verdict != HF_REPLY_DONE)
            return refuse(verdict);
        return answer_of(verdict, kernel_monitor->page_fd(), group);
    }

    answer refuse(hf_reply_status verdict) {
        refusals += verdict != HF_REPLY_NO_MONITOR && verdict != HF_REPLY_LATER && verdict != HF_REPLY_ABSENT;
        return answer_of(verdict);
    }

    template <typename T>
    static answer message_of(const T &message) {
        return {.message = std::string(reinterpret_cast<const char *>(&message), sizeof(message))};
    }

    hf_reply_status judge(const hf_request *request, const peer &who) {
        if (!request)
            return HF_REPLY_MALFORMED;
        if (request->version != HF_REGISTRATION_VERSION)
            return HF_REPLY_OTHER_VERSION;
        if (request->kind < HF_REQUEST_REGISTER || request->kind > HF_REQUEST_ABSENCES)
            return HF_REPLY_MALFORMED;
        auto kind = static_cast<hf_request_kind>(request->kind);
        return admits(who, kind, what_counts_for(kind, who.uid));
    }

    // Towards the user's limit. Processes that have ended do not: else a process that has come to the limit once stays
    // there.
    std::size_t what_counts_for(hf_request_kind kind, uid_t user) {
        if (kind == HF_REQUEST_REGISTER) {
            registered.strike_off_ended();
            return registered.of_user(user);
        }
        if (kind != HF_REQUEST_OWN_STATISTICS)
            return 0;
        statistics.close_ended();
        return statistics.kept_for(user);
    }

    // A process may execute many programs, each of which comes once: a shell's children. Too many to be remembered, and
    // those whose number nobody knows, are taken for one that comes again.
    hf_reply_status expect(const hf_request &request, const peer &who) {
        if (!expected.load) {
            if (expected.wait)
                expected.wait();
            return HF_REPLY_LATER;
        }
        bool comes_first =
            who.pid != 0 && came_once.size() < remembered_max && came_once.emplace(who.pid, request.program).second;
        if (!comes_first) {
            came_once.clear();
            std::exchange(expected.load, nullptr)();
        }
        return HF_REPLY_LATER;
    }

    hf_reply_status follow(const hf_request &request, peer &&who, int connection, std::uint32_t &group) {
        if (!kernel_monitor)
            return expects_monitor ? expect(request, who) : HF_REPLY_NO_MONITOR;
        if (who.pid == 0)
            return HF_REPLY_UNKNOWN;
        std::optional<cpu_set> cpus = allowed_cpus(who.pid);
        if (!cpus)
            return HF_REPLY_FAILED;
        // With a library more it stays where it is.
        std::optional<std::uint32_t> known = kernel_monitor->group_of(who.process.get());
        group = known ? *known : programs->admit(who.uid, *cpus);
        if (kernel_monitor->follow(who.process.get(), request.tls_offset, group, who.uid) != 0)
            return HF_REPLY_FAILED;
        // After it: a process that has connected may have become another program since, and of a program with other
        // rights we must not follow what this one says. Nor of one that gave up asking, and has called exec: this one's
        // records are not where the other's were. (An exec from here on makes the kernel forget it, and one since it
        // was followed for another of its libraries would have: then it is still the program that asks.)
        if (!who.is_still_itself() || (!known && has_hung_up(connection))) {
            kernel_monitor->forget(who.process.get());
            return HF_REPLY_FAILED;
        }
        registrations++;
        registered.add(std::move(who));
        return HF_REPLY_DONE;
    }

    answer give_memory(const hf_request &request, peer &&who) {
        if (who.pid == 0)
            return refuse(HF_REPLY_UNKNOWN);
        int memory = statistics.make_for(std::move(who), request.program);
        return memory >= 0 ? answer_of(HF_REPLY_DONE, memory) : refuse(HF_REPLY_FAILED);
    }

    hf_observed_processes processes_for(const peer &who, const hf_request &request) {
        hf_observed_processes told{};
        told.reply.version = HF_REGISTRATION_VERSION;
        told.reply.status = HF_REPLY_DONE;
        for (pid_t each : statistics.readable_by(who, static_cast<pid_t>(request.process), HF_PROCESSES_A_REPLY))
            told.process[told.count++] = static_cast<std::uint32_t>(each);
        return told;
    }

    answer let_read(const hf_request &request, const peer &who) {
        descriptor memory = statistics.open_for(who, static_cast<pid_t>(request.process), request.index);
        if (!memory)
            return refuse(HF_REPLY_ABSENT);
        answer answer = answer_of(HF_REPLY_DONE, memory.get());
        answer.made_for_it = std::move(memory);
        return answer;
    }

    answer tell_absences(const hf_request &request, const peer &who) {
        peer whose = peer_with_pid(static_cast<pid_t>(request.process));
        bool may = whose.process && (who.uid == 0 || who.uid == whose.uid);
        hf_process_absences told{};
        if (!may || !kernel_monitor || !kernel_monitor->tell_absences(whose.process.get(), told))
            return refuse(HF_REPLY_ABSENT);
        told.reply.version = HF_REGISTRATION_VERSION;
        told.reply.status = HF_REPLY_DONE;
        return message_of(told);
    }

    // With the books open.
    hf_monitor_status status() {
        hf_monitor_status told{};
        told.reply.version = HF_REGISTRATION_VERSION;
        told.reply.status = static_cast<std::uint32_t>(kernel_monitor    ? HF_REPLY_DONE
                                                       : expects_monitor ? HF_REPLY_LATER
                                                                         : HF_REPLY_NO_MONITOR);
        std::strncpy(told.holdfast_version, hf_version(), sizeof(told.holdfast_version) - 1);
        told.uptime_ns = hf_monotonic_ns() - began_ns;
        told.registrations_total = registrations;
        told.refusals_total = refusals;
        if (!kernel_monitor)
            return told;
        const hf_hint_page &page = kernel_monitor->page();
        if (told.uptime_ns > walked_at_ns + walks_apart_ns || walked_at_ns == 0) {
            last_census =
                kernel_monitor->take_census().value_or(census{.followed_processes = registered.size(),
                                                              .marks = {},
                                                              .groups = std::vector<hf_group_found>(HF_HINT_GROUPS)});
            walked_at_ns = told.uptime_ns;
        }
        told.registered_processes = last_census.followed_processes;
        programs->tell(told.scope, last_census);
        const hf_scope_status &all = told.scope[HF_SCOPE_MACHINE];
        told.preempted_critical_sections = all.preempted_critical_sections;
        told.preemptions_total = all.preemptions_total;
        told.sleeps_total = all.sleeps_total;
        told.uncounted_total = page.uncounted_total;
        told.unreadable_total = page.unreadable_total;
        told.unseen_switches_total = page.unseen_switches_total;
        told.switch_storms_total = page.switch_storms_total;
        told.audits_total = kernel_monitor->audits_total();
        told.repairs_total = page.repairs_total;
        for (const left_out_part &each : kernel_monitor->left_out())
            told.parts_left_out |= each.part.bit;
        return told;
    }
};

monitor_server::monitor_server(monitor *kernel_monitor, listening_socket socket, admission admits, scoping by)
    : serving_(std::make_unique<serving>(kernel_monitor, std::move(socket), std::move(admits), by)) {}

monitor_server::~monitor_server() = default;

void monitor_server::expect_monitor(expectation of) {
    std::lock_guard guard(serving_->books);
    serving_->expects_monitor = true;
    serving_->expected = std::move(of);
}

void monitor_server::begin(monitor *kernel_monitor) {
    std::lock_guard guard(serving_->books);
    serving_->expects_monitor = false;
    serving_->kernel_monitor = kernel_monitor;
    if (kernel_monitor)
        serving_->programs.emplace(*kernel_monitor, scoping::machine);
}

const std::string &monitor_server::socket_name() const {
    return serving_->socket.name();
}

void monitor_server::reconsider_scopes() {
    std::lock_guard guard(serving_->books);
    if (serving_->programs)
        serving_->programs->reconsider();
}

thread_sums monitor_server::counters() const {
    std::lock_guard guard(serving_->books);
    return serving_->statistics.sum();
}

void monitor_server::watch_rules(const std::vector<std::string> &names) {
    std::lock_guard guard(serving_->books);
    serving_->statistics.watch_rules(names);
}

std::map<std::string, std::uint64_t> monitor_server::rule_matches() const {
    std::lock_guard guard(serving_->books);
    return serving_->statistics.sum_of_rules();
}

hf_monitor_status monitor_server::status() const {
    std::lock_guard guard(serving_->books);
    return serving_->status();
}

std::uint64_t monitor_server::count_registered() const {
    std::lock_guard guard(serving_->books);
    serving_->walked_at_ns = 0;
    return serving_->status().registered_processes;
}

} // namespace holdfast
