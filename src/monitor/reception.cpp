// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/reception.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <list>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <vector>

#include "base/descriptor_passing.h"

namespace holdfast {
namespace {

using clock = std::chrono::steady_clock;

struct visitor {
    descriptor connection;
    peer who;
    clock::time_point patience_ends;
};

void send_answer(const descriptor &connection, const answer &what) {
    // Who has gone meanwhile needs no answer.
    hf_send_message(connection.get(), what.message.data(), what.message.size(), what.descriptor);
}

descriptor spare_descriptor() {
    return descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

} // namespace

answer answer_of(hf_reply_status status, int descriptor) {
    hf_reply reply = {.version = HF_REGISTRATION_VERSION, .status = static_cast<std::uint32_t>(status)};
    return {.message = std::string(reinterpret_cast<const char *>(&reply), sizeof(reply)), .descriptor = descriptor};
}

struct reception::open_door {
    int listener;
    clerk answers;
    reception_limits limits;
    descriptor stop{eventfd(0, EFD_CLOEXEC)};
    descriptor spare = spare_descriptor();
    std::list<visitor> visitors; // who came first is first, so patience ends in this order
    std::thread thread;

    void serve() {
        for (;;) {
            std::vector<pollfd> waited = what_to_wait_for();
            if (poll(waited.data(), waited.size(), ms_to_wait()) < 0 && errno != EINTR)
                return;
            if (waited[0].revents)
                return;
            attend_to_visitors(waited);
            if (waited[1].revents)
                let_in();
        }
    }

    std::vector<pollfd> what_to_wait_for() const {
        bool full = visitors.size() >= limits.visitors_max;
        std::vector<pollfd> waited{{.fd = stop.get(), .events = POLLIN, .revents = 0},
                                   {.fd = full ? -1 : listener, .events = POLLIN, .revents = 0}};
        for (const visitor &each : visitors)
            waited.push_back({.fd = each.connection.get(), .events = POLLIN, .revents = 0});
        return waited;
    }

    int ms_to_wait() const {
        if (visitors.empty())
            return -1;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(visitors.front().patience_ends - clock::now());
        return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }

    void attend_to_visitors(const std::vector<pollfd> &waited) {
        auto now = clock::now();
        auto ready = waited.begin() + 2;
        for (auto each = visitors.begin(); each != visitors.end(); ++ready) {
            if (ready->revents)
                attend_to(*each);
            if (ready->revents || each->patience_ends <= now)
                each = visitors.erase(each);
            else
                ++each;
        }
    }

    void attend_to(visitor &each) {
        hf_request request{};
        int brought = -1;
        bool whole = hf_receive_message(each.connection.get(), &request, sizeof(request), &brought);
        descriptor attachment(brought);
        send_answer(each.connection, answers(whole ? &request : nullptr, std::move(each.who), std::move(attachment)));
    }

    void let_in() {
        descriptor connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!connection)
            return errno == EMFILE || errno == ENFILE ? turn_away() : void();
        peer who = peer_of(connection.get());
        if (!who.process)
            return send_answer(connection, answer_of(HF_REPLY_UNKNOWN));
        if (has_too_many_waiting(who.uid))
            return send_answer(connection, answer_of(HF_REPLY_OVER_LIMIT));
        visitors.push_back({.connection = std::move(connection),
                            .who = std::move(who),
                            .patience_ends = clock::now() + limits.patience});
    }

    bool has_too_many_waiting(uid_t user) const {
        auto of_user = [user](const visitor &each) { return each.who.uid == user; };
        return user != 0 &&
               std::ranges::count_if(visitors, of_user) >= static_cast<std::ptrdiff_t>(limits.visitors_of_a_user_max);
    }

    // There is no descriptor left for the next visitor: it is closed at once, rather than kept waiting.
    void turn_away() {
        spare = descriptor();
        descriptor closed_at_once(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        closed_at_once = descriptor();
        spare = spare_descriptor();
    }
};

reception::reception(int listener, clerk answers, const reception_limits &limits)
    : door_(std::make_unique<open_door>()) {
    door_->listener = listener;
    door_->answers = std::move(answers);
    door_->limits = limits;
    if (!door_->stop)
        throw std::system_error(errno, std::generic_category(), "no descriptor for a server");
    // The process's signals are for its other threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    door_->thread = std::thread([this] { door_->serve(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

reception::~reception() {
    eventfd_write(door_->stop.get(), 1);
    door_->thread.join();
}

} // namespace holdfast
