// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/server/reception.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <list>
#include <map>
#include <span>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <utility>

#include "base/descriptor_passing.h"
#include "base/signals_blocked.hpp"
#include "monitor/prompt_thread.hpp"

namespace holdfast {
namespace {

using clock = std::chrono::steady_clock;

// Before those that are in are looked at again: all that may wait in the kernel's queue. Each may be another user's
// than those before it, and it costs little to say no.
constexpr int let_in_at_once = 4096;

// Of one that is ready, its request has come, or its end.
struct visitor {
    descriptor connection;
    peer who;
    clock::time_point patience_ends;
    bool ready = false;
};

// Those of one user are in the order of their coming. So patience ends in this order.
struct queue {
    std::list<visitor> visitors;
    std::size_t ready = 0;
};

void send_answer(const descriptor &connection, const answer &what) {
    // A client that has gone meanwhile needs no answer.
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
    descriptor events{epoll_create1(EPOLL_CLOEXEC)};
    descriptor spare = spare_descriptor();
    std::map<uid_t, queue> queues; // none is empty
    std::size_t inside = 0;
    std::thread thread;

    // In rounds: each lets in the waiters outside, and attends to one visitor of each user. So a user waits for one
    // request of each of the others, however many they send.
    void serve() {
        std::array<epoll_event, 1024> happened{}; // so that a round knows of all
        be_prompt(); // the programs that ask do not wait for long (HF_REGISTRATION_PATIENCE_MS)
        for (;;) {
            int ms = ms_to_wait();
            auto asked_at = clock::now();
            int count = epoll_wait(events.get(), happened.data(), static_cast<int>(happened.size()), ms);
            bool somebody_outside = false;
            for (const epoll_event &each : std::span(happened.data(), static_cast<std::size_t>(std::max(count, 0)))) {
                if (each.data.ptr == &stop)
                    return;
                if (each.data.ptr == &listener)
                    somebody_outside = true;
                else
                    becomes_ready(*static_cast<visitor *>(each.data.ptr));
            }
            for (int i = 0; somebody_outside && i < let_in_at_once && let_in(); i++)
                ;
            attend_to_one_of_each_user();
            show_out_silent_ones(asked_at);
        }
    }

    bool watch(int fd, std::uint32_t what, void *whose) {
        epoll_event event{};
        event.events = what;
        event.data.ptr = whose;
        return epoll_ctl(events.get(), EPOLL_CTL_ADD, fd, &event) == 0;
    }

    // By name: a child that is about to call exec may have the connection, too, and would keep it in the set.
    void stop_watching(const visitor &each) const {
        epoll_ctl(events.get(), EPOLL_CTL_DEL, each.connection.get(), nullptr);
    }

    void becomes_ready(visitor &each) {
        each.ready = true;
        queues.find(each.who.uid)->second.ready++;
    }

    int ms_to_wait() const {
        std::int64_t ms = -1;
        auto now = clock::now();
        for (const auto &[user, queue] : queues) {
            if (queue.ready > 0)
                return 0;
            auto left = std::chrono::ceil<std::chrono::milliseconds>(queue.visitors.front().patience_ends - now);
            ms = ms < 0 ? std::max<std::int64_t>(left.count(), 0) : std::clamp<std::int64_t>(left.count(), 0, ms);
        }
        return static_cast<int>(ms);
    }

    void attend_to_one_of_each_user() {
        for (auto next = queues.begin(); next != queues.end();) {
            auto user = next++;
            queue &its = user->second;
            if (its.ready == 0)
                continue;
            auto first = std::ranges::find_if(its.visitors, &visitor::ready);
            stop_watching(*first);
            visitor attended = std::move(*first);
            remove(user, first);
            attend_to(attended);
        }
    }

    // Those whose patience had ended when the kernel was asked, and that had said nothing. The server may have been
    // kept from its CPU since then, for longer than a patience lasts, and they may have spoken.
    void show_out_silent_ones(clock::time_point asked_at) {
        for (auto next = queues.begin(); next != queues.end();) {
            auto user = next++;
            for (bool left = true; left;) {
                auto silent = std::ranges::find_if_not(user->second.visitors, &visitor::ready);
                if (silent == user->second.visitors.end() || silent->patience_ends > asked_at)
                    break;
                left = !remove(user, silent);
            }
        }
    }

    // Says whether it was the user's last one: then its queue is gone, too.
    bool remove(std::map<uid_t, queue>::iterator user, std::list<visitor>::iterator whom) {
        user->second.ready -= whom->ready;
        if (whom->connection)
            stop_watching(*whom);
        user->second.visitors.erase(whom);
        inside--;
        if (!user->second.visitors.empty())
            return false;
        queues.erase(user);
        return true;
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
        if (has_too_many_waiting(user_of(connection.get()))) {
            send_answer(connection, answer_of(HF_REPLY_OVER_LIMIT));
            return true;
        }
        peer who = peer_of(connection.get());
        if (!who.process) {
            at_work.makes_room();
            send_answer(connection, answer_of(HF_REPLY_UNKNOWN));
            return true;
        }
        admit(std::move(connection), std::move(who));
        return true;
    }

    void admit(descriptor &&connection, peer &&who) {
        if (inside >= limits.visitors_max)
            show_out_one_of_the_most();
        queue &its = queues[who.uid];
        int fd = connection.get();
        its.visitors.push_back({.connection = std::move(connection),
                                .who = std::move(who),
                                .patience_ends = clock::now() + limits.patience});
        inside++;
        if (!watch(fd, EPOLLIN | EPOLLONESHOT, &its.visitors.back()))
            becomes_ready(its.visitors.back()); // without memory for that: as it is
    }

    // A client with something to say has said it when it connected, or soon after: the oldest has had its chance. Of
    // the user that has the most of them, so that no number of users with many each is in the way of one with few.
    void show_out_one_of_the_most() {
        auto most = std::ranges::max_element(queues, {}, [](const auto &each) { return each.second.visitors.size(); });
        auto silent = std::ranges::find_if_not(most->second.visitors, &visitor::ready);
        remove(most, silent != most->second.visitors.end() ? silent : most->second.visitors.begin());
    }

    bool has_too_many_waiting(uid_t user) const {
        auto its = queues.find(user);
        return user != 0 && its != queues.end() && its->second.visitors.size() >= limits.visitors_of_a_user_max;
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
    if (!door_->stop || !door_->events || !door_->watch(door_->stop.get(), EPOLLIN, &door_->stop) ||
        !door_->watch(listener, EPOLLIN, &door_->listener))
        throw std::system_error(errno, std::generic_category(), "no descriptor for a server");
    signals_blocked quiet; // the process's signals are for its other threads
    door_->thread = std::thread([this] { door_->serve(); });
}

reception::~reception() {
    eventfd_write(door_->stop.get(), 1);
    door_->thread.join();
}

} // namespace holdfast
