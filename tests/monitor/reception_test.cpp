// SPDX-License-Identifier: MIT OR Apache-2.0
// Whose turn it is when more ask than can be answered at once. Judged by how many were answered before, not by a clock.
// Needs no monitor in the kernel.
//
// Shown able to fail: attend_to_one_of_each_user that attends to all of a user's before the next (both);
// show_out_one_of_the_most that takes the user's who has least (ManyUsersWithManyKeepNobodyOut);
// show_out_silent_ones that judges by the time at which it runs (AServerThatIsLateAnswersWhatIsThere).
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/descriptor_passing.h"
#include "hint/registration.h"
#include "monitor/server/listening_socket.hpp"
#include "monitor/server/reception.hpp"

extern "C" bool hf_registers_at_start;
bool hf_registers_at_start = false;

namespace holdfast {
namespace {

constexpr uid_t innocent = 65534;
constexpr uid_t first_hostile = 65500;

int ask(const std::string &socket) {
    int connection = hf_connect(socket.c_str(), 60'000);
    hf_request request{};
    request.version = HF_REGISTRATION_VERSION;
    request.kind = HF_REQUEST_STATUS;
    if (connection >= 0)
        hf_send_message(connection, &request, sizeof(request), -1);
    return connection;
}

// Children that run the body as that user, say so, and stay.
class users {
public:
    users() { EXPECT_EQ(pipe2(done_, O_CLOEXEC), 0); }
    ~users() {
        for (pid_t each : children_) {
            kill(each, SIGKILL);
            waitpid(each, nullptr, 0);
        }
        close(done_[0]);
        close(done_[1]);
    }
    users(const users &) = delete;
    users &operator=(const users &) = delete;

    void start(uid_t user, const std::function<void()> &body) {
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (setuid(user) != 0)
                _exit(1);
            body();
            [[maybe_unused]] ssize_t said = write(done_[1], "", 1);
            for (;;)
                pause();
        }
        children_.push_back(pid);
    }
    void wait_for_one() {
        char byte;
        EXPECT_EQ(read(done_[0], &byte, 1), 1);
    }

private:
    int done_[2] = {-1, -1};
    std::vector<pid_t> children_;
};

// A clerk who keeps everybody waiting until told to go on, and notes whom it has answered.
class reception_of_many : public testing::Test {
protected:
    listening_socket socket_;
    std::atomic<bool> goes_on_ = false;
    std::mutex list_;
    std::vector<uid_t> answered_;

    reception::clerk clerk() {
        return {.answers =
                    [this](const hf_request *, peer &&who, int) {
                        goes_on_.wait(false);
                        std::lock_guard guard(list_);
                        answered_.push_back(who.uid);
                        return answer_of(HF_REPLY_DONE);
                    },
                .makes_room = [] {}};
    }

    // How many were answered before the first one of that user was.
    std::size_t answered_before(uid_t user) {
        for (int ms = 0; ms < 60'000; ms++) {
            {
                std::lock_guard guard(list_);
                auto found = std::ranges::find(answered_, user);
                if (found != answered_.end())
                    return static_cast<std::size_t>(found - answered_.begin());
            }
            usleep(1000);
        }
        return ~std::size_t{0};
    }

    void besiege(users &all, unsigned hostile, int requests_of_each) {
        for (unsigned i = 0; i < hostile; i++)
            all.start(first_hostile + i, [this, requests_of_each] {
                for (int each = 0; each < requests_of_each; each++)
                    ask(socket_.name());
            });
        for (unsigned i = 0; i < hostile; i++)
            all.wait_for_one();
    }
};

TEST_F(reception_of_many, TakesAUserATurn) {
    if (getuid() != 0)
        GTEST_SKIP() << "needs root to become several users";
    reception open(socket_.fd(), clerk());
    users all;
    besiege(all, 3, 500);
    all.start(innocent, [this] { ask(socket_.name()); });
    all.wait_for_one();
    goes_on_ = true;
    goes_on_.notify_all();
    EXPECT_LE(answered_before(innocent), 12u) << "the one at work, and two rounds or three";
}

TEST_F(reception_of_many, ManyUsersWithManyKeepNobodyOut) {
    if (getuid() != 0)
        GTEST_SKIP() << "needs root to become several users";
    reception open(socket_.fd(), clerk(),
                   {.visitors_max = 16, .visitors_of_a_user_max = 8, .patience = std::chrono::minutes(10)});
    users all;
    all.start(innocent, [this] { ask(socket_.name()); }); // keeps the clerk busy
    all.wait_for_one();
    all.start(innocent - 1, [this] { ask(socket_.name()); });
    all.wait_for_one();
    besiege(all, 4, 20);
    goes_on_ = true;
    goes_on_.notify_all();
    EXPECT_LE(answered_before(innocent - 1), 12u);
}

TEST_F(reception_of_many, AServerThatIsLateAnswersWhatIsThere) {
    goes_on_ = true;
    int connection = ask(socket_.name());
    ASSERT_GE(connection, 0);
    reception open(socket_.fd(), clerk(), {.patience = std::chrono::milliseconds(0)});
    hf_reply reply{};
    EXPECT_TRUE(hf_receive_message(connection, &reply, sizeof(reply), nullptr)) << "shown out with its request unread";
    close(connection);
}

} // namespace
} // namespace holdfast
