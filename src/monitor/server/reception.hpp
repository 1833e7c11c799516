// SPDX-License-Identifier: MIT OR Apache-2.0
// Where requests come in: takes connections on a listening Unix SOCK_SEQPACKET socket, waits for the one request of
// each, has it answered, and closes the connection. In a thread of its own, for as long as it lives.
//
// Nobody can keep the others waiting: users take turns, a request each. A visitor that says nothing is shown out after
// a while, or sooner when the place is full, and a user that sends more of them than may wait at a time gets no further
// in. Descriptors that run out cost the next visitor its answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.hpp"
#include "hint/registration.h"
#include "monitor/server/peer.hpp"

namespace holdfast {

// What is sent back, with a copy of the descriptor unless that is -1.
struct answer {
    std::string message;
    int attached = -1;
    descriptor made_for_it = descriptor(); // closed when the answer is sent
};

answer answer_of(hf_reply_status status, int attached = -1, std::uint32_t group = HF_GROUP_OF_ALL);

struct reception_limits {
    std::size_t visitors_max = 1024;
    std::size_t visitors_of_a_user_max = 128; // root's are not counted
    std::chrono::milliseconds patience{1000};
};

class reception {
public:
    // All are called in the reception's thread, one at a time.
    struct clerk {
        // `request` is nullptr for a message that is none; a process that asks has a pidfd, and waits at the other end
        // of the connection, or does not any more (has_hung_up).
        std::function<answer(const hf_request *request, peer &&who, int connection)> answers;
        // Descriptors have run out: close what is not needed any more.
        std::function<void()> makes_room;
    };

    // `listener` must outlive it. Throws std::system_error when there is no descriptor for it.
    reception(int listener, clerk at_work, const reception_limits &limits = {});
    ~reception();
    reception(const reception &) = delete;
    reception &operator=(const reception &) = delete;

private:
    struct open_door;
    std::unique_ptr<open_door> door_;
};

} // namespace holdfast
