// SPDX-License-Identifier: MIT OR Apache-2.0
#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptor_passing.h"

namespace {

struct descriptor_passing : testing::Test {
    int pair[2];
    descriptor_passing() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0); }
    ~descriptor_passing() override {
        close(pair[0]);
        close(pair[1]);
    }
};

TEST_F(descriptor_passing, BringsBytesAlone) {
    int number = 42, got = 0, descriptor = 0;
    ASSERT_TRUE(hf_send_message(pair[0], &number, sizeof(number), -1));
    ASSERT_TRUE(hf_receive_message(pair[1], &got, sizeof(got), &descriptor));
    EXPECT_EQ(got, 42);
    EXPECT_EQ(descriptor, -1);
}

TEST_F(descriptor_passing, BringsADescriptorThatExecCloses) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    char byte = 'x';
    int descriptor = -1;
    ASSERT_TRUE(hf_send_message(pair[0], &byte, 1, ends[0]));
    ASSERT_TRUE(hf_receive_message(pair[1], &byte, 1, &descriptor));
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
    ASSERT_EQ(write(ends[1], "y", 1), 1);
    ASSERT_EQ(read(descriptor, &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    for (int fd : {ends[0], ends[1], descriptor})
        close(fd);
}

TEST_F(descriptor_passing, LeavesNoDescriptorBehindWhenTooManyAreSent) {
    char byte = 0;
    iovec payload = {.iov_base = &byte, .iov_len = 1};
    union {
        char bytes[CMSG_SPACE(8 * sizeof(int))];
        cmsghdr align;
    } control{};
    msghdr message{};
    message.msg_iov = &payload;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(8 * sizeof(int)); // eight times standard input, which is 0
    int lowest_free = dup(0);
    close(lowest_free);
    ASSERT_EQ(sendmsg(pair[0], &message, 0), 1);
    int descriptor = -1;
    EXPECT_TRUE(hf_receive_message(pair[1], &byte, 1, &descriptor));
    close(descriptor);
    int lowest_free_now = dup(0);
    close(lowest_free_now);
    EXPECT_EQ(lowest_free_now, lowest_free);
}

TEST_F(descriptor_passing, RefusesAnotherLengthAndAnEnd) {
    char bytes[8] = {};
    int descriptor = 0;
    for (size_t length : {size_t(1), size_t(8)}) {
        ASSERT_TRUE(hf_send_message(pair[0], bytes, length, -1));
        EXPECT_FALSE(hf_receive_message(pair[1], bytes, 4, &descriptor));
        EXPECT_EQ(errno, EPROTO);
    }
    shutdown(pair[0], SHUT_RDWR);
    EXPECT_FALSE(hf_receive_message(pair[1], bytes, 4, &descriptor));
    EXPECT_FALSE(hf_send_message(pair[0], bytes, 4, -1)) << "and no SIGPIPE";
}

} // namespace
