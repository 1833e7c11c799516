// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/reception.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <list>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <vector>

#include "base/descriptor_passing.h"
#include "base/signals_blocked.hpp"

namespace holdfast {
namespace {

using clock = std::chrono::steady_clock;

constexpr int let_in_at_once = 64; // before those that are in are looked at again

struct visitor {
    descriptor connection;
    peer who;
    clock::time_point patience_ends;
};

void send_answer(const descriptor &connection, const answer &what) {
    // Who has gone meanwhile needs no answer.
    hf_send_message(connection.get(), what.message.data(), what.message.size(), what.attached);
}

descriptor spare_descriptor() {
    return descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

} // namespace

answer answer_of(hf_reply_status status, int attached, std::uint32_t group) {
    hf_reply reply = {.version = HF_REGISTRATION_VERSION,
                      .status = static_cast<std::uint32_t>(status),
                      .group = group,
                      .reserved = 0};
    return {.message = std::string(reinterpret_cast<const char *>(&reply), sizeof(reply)), .attached = attached};
}

struct reception::open_door {
    int listener;
    clerk at_work;
    reception_limits limits;
    descriptor stop{eventfd(0, EFD_CLOEXEC)};
    descriptor spare = spare_descriptor();
    std::list<visitor> visitors; // who came first is first, so patience ends in this order
    std::thread thread;

    void serve() {
        for (;;) {
            std::vector<pollfd> waited = what_to_wait_for();
            // Without memory for so many: look at what is certain to fit, and try again.
            if (poll(waited.data(), waited.size(), ms_to_wait()) < 0)
                poll(waited.data(), 1, 10);
            if (waited[0].revents)
                return;
            attend_to_visitors(waited);
            for (int i = 0; waited[1].revents && i < let_in_at_once && let_in(); i++)
                ;
        }
    }

    std::vector<pollfd> what_to_wait_for() const {
        std::vector<pollfd> waited{{.fd = stop.get(), .events = POLLIN, .revents = 0},
                                   {.fd = listener, .events = POLLIN, .revents = 0}};
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
        // No descriptor comes along (listening_socket.cpp): to drop one could take for ever.
        bool whole = hf_receive_message(each.connection.get(), &request, sizeof(request), nullptr);
        send_answer(each.connection,
                    at_work.answers(whole ? &request : nullptr, std::move(each.who), each.connection.get()));
    }

    // Says whether there may be more to let in.
    bool let_in() {
        descriptor connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!connection) {
            if (errno != EAGAIN)
                turn_away();
            return false;
        }
        peer who = peer_of(connection.get());
        if (!who.process) {
            at_work.makes_room();
            send_answer(connection, answer_of(HF_REPLY_UNKNOWN));
        } else if (has_too_many_waiting(who.uid)) {
            send_answer(connection, answer_of(HF_REPLY_OVER_LIMIT));
        } else {
            // Who means to say something has said it when it connected, or soon after: the oldest has had its chance.
            if (visitors.size() >= limits.visitors_max)
                visitors.pop_front();
            visitors.push_back({.connection = std::move(connection),
                                .who = std::move(who),
                                .patience_ends = clock::now() + limits.patience});
        }
        return true;
    }

    bool has_too_many_waiting(uid_t user) const {
        auto of_user = [user](const visitor &each) { return each.who.uid == user; };
        return user != 0 &&
               std::ranges::count_if(visitors, of_user) >= static_cast<std::ptrdiff_t>(limits.visitors_of_a_user_max);
    }

    // There is no descriptor left for the next visitor: it is closed at once, rather than kept waiting.
    void turn_away() {
        at_work.makes_room();
        spare = descriptor();
        descriptor closed_at_once(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
        bool had_none = !closed_at_once;
        closed_at_once = descriptor();
        spare = spare_descriptor();
        if (had_none) // of something else than descriptors: don't ask again and again
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
};

reception::reception(int listener, clerk at_work, const reception_limits &limits)
    : door_(std::make_unique<open_door>()) {
    door_->listener = listener;
    door_->at_work = std::move(at_work);
    door_->limits = limits;
    if (!door_->stop)
        throw std::system_error(errno, std::generic_category(), "no descriptor for a server");
    signals_blocked quiet; // the process's signals are for its other threads
    door_->thread = std::thread([this] { door_->serve(); });
}

reception::~reception() {
    eventfd_write(door_->stop.get(), 1);
    door_->thread.join();
}

} // namespace holdfast
