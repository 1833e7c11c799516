// SPDX-License-Identifier: MIT OR Apache-2.0
// A thread that ends in a wait, by pthread_exit in a signal handler, after each instruction that the wait has: step by
// step (single_steps.hpp), some more each time. Its stack is unwound from there: the frames' clean-up functions run,
// whatever of the frame has been written so far, and so do those in the C library's list. A thread that ends in a wait
// for a condition has the mutex then.
//
// Shown able to fail: hf_left_wait_unwound that knows a wait by what it has to undo, in a frame without an initializer
// (SIGSEGV); one that pops whatever is there (SIGSEGV); hf_left_wait_begin that leaves the entry as it is (clean-up
// functions of frames further out do not run).
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <string>

#include "objects_to_wait_for.hpp"
#include "single_steps.hpp"
#include "threads_and_processes.hpp"

// glibc's; pthread.h does not declare them any more. C programs of old, and those built without -fexceptions, have them
// in pthread_cleanup_push.
extern "C" void _pthread_cleanup_push(_pthread_cleanup_buffer *buffer, void (*function)(void *), void *argument);
extern "C" void _pthread_cleanup_pop(_pthread_cleanup_buffer *buffer, int runs_it);

namespace holdfast::test {
namespace {

struct wait_row {
    const char *name;
    void (*prepare)(objects &); // by the waiter
    void (*hold)(objects &);    // by another thread, which keeps it: so that there is something to wait for
    void (*wait)(objects &);
};

const wait_row every_wait[] = {
    {"cond_wait", lock_mutex, nothing, [](objects &o) { pthread_cond_wait(&o.cond, &o.mutex); }},
    {"mutex_lock", nothing, lock_mutex, [](objects &o) { pthread_mutex_lock(&o.mutex); }},
    {"rdlock", nothing, lock_to_write, [](objects &o) { pthread_rwlock_rdlock(&o.rwlock); }},
    {"wrlock", nothing, lock_to_read, [](objects &o) { pthread_rwlock_wrlock(&o.rwlock); }},
    {"rdlock_writers_first", nothing, lock_to_write, [](objects &o) { pthread_rwlock_rdlock(&o.writers_first); }},
    {"wrlock_writers_first", nothing, lock_to_read, [](objects &o) { pthread_rwlock_wrlock(&o.writers_first); }},
};

// What lies on the stack where the wait's frames come to be: no address of anything. The handlers' frames come to lie
// further out on the same stack, where the C library sees that they are left first.
__attribute__((noinline)) void paint_stack() {
    alignas(64) char stack[196608];
    stack_t handlers = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof(stack) / 2};
    sigaltstack(&handlers, nullptr);
    std::memset(stack, 0x5a, sizeof(stack));
    asm volatile("" ::"r"(stack) : "memory");
}

struct outcome {
    bool has_mutex = false;
    int cleaned_up = 0;
};

// One thread's wait, up to so many steps.
struct waiter {
    const wait_row &row;
    objects &o;
    outcome &out;

    ~waiter() { out.has_mutex = pthread_mutex_trylock(&o.mutex) == EBUSY; }

    // Not inlined: a frame without clean-up of its own may be left at each of its instructions.
    __attribute__((noinline)) void wait() {
        _pthread_cleanup_buffer pushed;
        _pthread_cleanup_push(
            &pushed, [](void *argument) { static_cast<outcome *>(argument)->cleaned_up++; }, &out);
        paint_stack();
        begin_steps();
        row.wait(o);
        end_steps();
        ADD_FAILURE() << row.name << " returned";
        _pthread_cleanup_pop(&pushed, 1);
    }
};

outcome end_after(const wait_row &row, long last) {
    auto *o = new objects; // leaked: some of it is held for ever
    outcome out;
    in_thread([&] { row.hold(*o); });
    in_thread([&] {
        row.prepare(*o);
        steps.begin(last, true);
        waiter{row, *o, out}.wait();
    });
    return out;
}

// Up to where a wait has begun nearly each step is tried, then ever fewer: each is a signal, of 20 us in a virtual
// machine. A wait has begun when its clean-up function is in the C library's list.
#ifdef __OPTIMIZE__
constexpr long stride = 1;
#else
constexpr long stride = 7;
#endif
constexpr long most = 20'000;

long next_tried(long last, long begun_at) {
    return last < begun_at + 60 ? last + stride : last + last / 4;
}

class EndedAnywhere : public testing::TestWithParam<wait_row> {};

TEST_P(EndedAnywhere, CleansUp) {
    const wait_row &row = GetParam();
    steps_end_in([] { pthread_exit(nullptr); });
    steps.end_before_sleep = true;
    steps.landmark = reinterpret_cast<greg_t>(dlsym(RTLD_NEXT, "_pthread_cleanup_push"));
    stay_on_one_cpu();
    end_after(row, most); // what is bound or made at the first call
    end_after(row, most);
    long begun_at = steps.landmark_at, all = steps.count;
    ASSERT_GT(begun_at, 0) << "not in the C library's list";
    for (long last = 0; last < all; last = next_tried(last, begun_at)) {
        outcome out = end_after(row, last);
        ASSERT_EQ(out.cleaned_up, 1) << "after " << last << " steps of " << all;
        if (row.prepare == lock_mutex)
            ASSERT_TRUE(out.has_mutex) << "after " << last << " steps of " << all;
    }
}

INSTANTIATE_TEST_SUITE_P(Of, EndedAnywhere, testing::ValuesIn(every_wait),
                         [](const testing::TestParamInfo<wait_row> &info) { return std::string(info.param.name); });

} // namespace
} // namespace holdfast::test
