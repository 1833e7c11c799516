// SPDX-License-Identifier: MIT OR Apache-2.0
// How a verb ended: with an exit status (exit_status.hpp), or by a signal, its program's or its own. A parent of
// holdfast is to see which: a shell or make goes on with its loop after a status of 130, and not after a SIGINT.
#pragma once

namespace holdfast::cli {

class ending {
public:
    ending(int status) : status_(status) {} // not explicit: most verbs know nothing but statuses
    static ending by_signal(int signal) { return {128 + signal, signal}; }

    // Of a process in which a thread is at work that nobody waits for: it is to end at once, with nothing torn down.
    ending at_once() const {
        ending such = *this;
        such.at_once_ = true;
        return such;
    }

    // Ends this process by the signal, if it was one: to be called when all is cleaned up. Otherwise, or where that
    // does not end it (as the first process of a container), returns the status to exit with: 128 + the signal.
    int take() const;

private:
    ending(int status, int signal) : status_(status), signal_(signal) {}

    int status_;
    int signal_ = 0;
    bool at_once_ = false;
};

} // namespace holdfast::cli
