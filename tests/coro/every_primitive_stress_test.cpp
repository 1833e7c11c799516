// SPDX-License-Identifier: MIT OR Apache-2.0
// Every primitive but mutex and condition variable (stress_test has those), at random and at once: time limits, stop
// requests, exceptions while something is held, when_all and when_any around them; then a pool that ends in the middle.
// Hangs where a wake-up is lost (the test's time limit); each broken promise has a count of its own.
//
// Shown able to fail (one change to a header each; what saw it):
//   semaphore: give() loses one of two permits, or makes one            permits in the end; too many inside
//     one that wants two gets what is there, or takes one               too many inside
//     one that gave up waiting for two looks for nobody behind it       hangs
//   shared_mutex: a writer comes in beside one reader; a reader beside  not alone
//     a writer; the last reader lets nobody in                          hangs
//   channel: get() forgets the sender that waits, close() all receivers hangs
//     but one; get() drops a waiting sender's value; put() ignores      sent and received differ; a value behind the
//     close()                                                           end
//   auto_event: set() lets two through; a wait leaves it set            two behind the turnstile
//   event: set() lets one of all go on                                  hangs
//   latch: it is over one too early                                     not all have counted
//   barrier: take() says false; the last lets one of all go on; a       hangs
//     round ends one too early                                          hangs; not all have come
//   limits: a task that gave up is told that it got there                       the library's checks; without them,
//   hangs
//     who got there is told that it gave up; a task that gave up is not         hangs
//     resumed; no time limit is ever reached; stop requests do nothing  hangs
//   sleep_for: says that it was stopped when it was not                 a limit that nobody set off
//   when_any: does not stop the others; all_of goes on one too early    hangs; crashes
//   a pool's end: no frame is destroyed                                 objects in frames
//     a frame's waiter stays in its list                                AddressSanitizer
#include <array>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "coro/gathering.hpp"
#include "effort.hpp"
#include "holdfast/coro/coro.hpp"

namespace {

using namespace holdfast::coro;
using namespace std::chrono_literals;

using time_limit = std::chrono::microseconds;

constexpr int permits_in_all = 3;

struct given_up : std::exception {};

// One is in each frame: those that are left in the end are in frames that nobody destroyed.
struct in_frame {
    in_frame() { alive++; }
    ~in_frame() { alive--; }
    in_frame(const in_frame &) = delete;
    in_frame &operator=(const in_frame &) = delete;
    static inline std::atomic<int> alive = 0;
};

// A stop source is used once; this one is replaced whenever it was.
class stop_requests {
public:
    std::stop_token token() {
        std::lock_guard held(lock_);
        return next_.get_token();
    }
    void make_one() {
        std::stop_source now(std::nostopstate);
        {
            std::lock_guard held(lock_);
            now = std::exchange(next_, std::stop_source());
        }
        now.request_stop();
    }

private:
    std::mutex lock_;
    std::stop_source next_;
};

struct line {
    explicit line(std::size_t capacity) : values(capacity) {}
    channel<int> values;
    std::atomic<long> sent = 0, sent_sum = 0, received = 0, received_sum = 0;
};

struct scene {
    shared_mutex guard;
    counting_semaphore permits{permits_in_all};
    auto_event turnstile{true}; // set: nobody is behind it
    line with_room{2}, rendezvous{0};
    stop_requests stops;

    std::atomic<int> readers = 0, writers = 0, with_permit = 0, behind_turnstile = 0;
    long written = 0; // under the guard
    std::atomic<long> writes = 0;
    std::atomic<int> values = 0, steps = 0;

    struct {
        std::atomic<int> shared_mutex, semaphore, auto_event, event, latch, barrier, channel, limits, when;
    } broken{};
};

time_limit some_time(std::minstd_rand &random) {
    return time_limit(random() % 201);
}

// For a task beside this one.
std::minstd_rand another(std::minstd_rand &random) {
    return std::minstd_rand(random() * 7919 + 1);
}

task<> linger(std::minstd_rand &random) {
    switch (random() % 16) {
    case 0:
    case 1: co_await yield(); break;
    case 2: {
        bool passed = co_await sleep_for(some_time(random));
        static_cast<void>(passed);
    }
    }
}

// What is got and given back, each in its own way.
struct as_writer {
    static auto get(scene &at) { return at.guard.lock(); }
    static auto get(scene &at, std::stop_token token) { return at.guard.lock(token); }
    static auto get(scene &at, time_limit time, std::stop_token token) { return at.guard.try_lock_for(time, token); }
    static bool try_get(scene &at) { return at.guard.try_lock(); }
    static void come_in(scene &at) {
        at.broken.shared_mutex += at.writers++ != 0 || at.readers != 0;
        at.written++;
        at.writes++;
    }
    static void go_out(scene &at) { at.broken.shared_mutex += at.readers != 0 || --at.writers != 0; }
    static auto give_back(scene &at) { return at.guard.unlock(); }
    static void give_back_unsuspended(scene &at) { at.guard.unlock_unsuspended(); }
};

struct as_reader {
    static auto get(scene &at) { return at.guard.lock_shared(); }
    static auto get(scene &at, std::stop_token token) { return at.guard.lock_shared(token); }
    static auto get(scene &at, time_limit time, std::stop_token token) {
        return at.guard.try_lock_shared_for(time, token);
    }
    static bool try_get(scene &at) { return at.guard.try_lock_shared(); }
    static void come_in(scene &at) {
        at.readers++;
        at.broken.shared_mutex += at.writers != 0 || at.written != at.writes;
    }
    static void go_out(scene &at) {
        at.broken.shared_mutex += at.writers != 0 || at.written != at.writes;
        at.readers--;
    }
    static auto give_back(scene &at) { return at.guard.unlock_shared(); }
    static void give_back_unsuspended(scene &at) { at.guard.unlock_shared_unsuspended(); }
};

template <int Permits>
struct with_permits {
    static auto get(scene &at) { return at.permits.acquire(Permits); }
    static auto get(scene &at, std::stop_token token) { return at.permits.acquire(Permits, token); }
    static auto get(scene &at, time_limit time, std::stop_token token) {
        return at.permits.try_acquire_for(Permits, time, token);
    }
    static bool try_get(scene &at) { return at.permits.try_acquire(Permits); }
    static void come_in(scene &at) { at.broken.semaphore += (at.with_permit += Permits) > permits_in_all; }
    static void go_out(scene &at) { at.with_permit -= Permits; }
    static auto give_back(scene &at) { return at.permits.release(Permits); }
    static void give_back_unsuspended(scene &at) { at.permits.release_unsuspended(Permits); }
};

// An automatic event as a lock: whoever it lets through is alone there, and sets it in the end.
struct through_turnstile {
    static auto get(scene &at) { return at.turnstile.wait(); }
    static auto get(scene &at, std::stop_token token) { return at.turnstile.wait(token); }
    static auto get(scene &at, time_limit time, std::stop_token token) { return at.turnstile.wait_for(time, token); }
    static bool try_get(scene &at) { return at.turnstile.try_wait(); }
    static void come_in(scene &at) { at.broken.auto_event += at.behind_turnstile++ != 0; }
    static void go_out(scene &at) { at.broken.auto_event += --at.behind_turnstile != 0; }
    static auto give_back(scene &at) {
        at.turnstile.set();
        return std::suspend_never();
    }
    static void give_back_unsuspended(scene &at) { at.turnstile.set(); }
};

// Whether it got there, in one of all ways. Where only a stop request could end the wait, one must have.
template <class Place>
task<bool> get_somehow(scene &at, std::minstd_rand &random, std::stop_token token) {
    bool got = true;
    switch (random() % 4) {
    case 0: co_await Place::get(at); break;
    case 1:
        got = co_await Place::get(at, token);
        at.broken.limits += !got && !token.stop_requested();
        break;
    case 2: got = co_await Place::get(at, some_time(random), token); break;
    default: got = Place::try_get(at);
    }
    co_return got;
}

template <class Place>
task<bool> visit(scene &at, std::minstd_rand random, std::stop_token token) {
    in_frame here;
    bool got = co_await get_somehow<Place>(at, random, token);
    if (!got)
        co_return false;
    try {
        Place::come_in(at);
        co_await linger(random);
        Place::go_out(at);
        if (random() % 8 == 0)
            throw given_up();
    } catch (const given_up &) {
        Place::give_back_unsuspended(at);
        throw;
    }
    co_await Place::give_back(at);
    co_return true;
}

// With one permit it waits for a second, within limits: else three could wait for each other.
task<bool> visit_with_a_second_permit(scene &at, std::minstd_rand random, std::stop_token token) {
    in_frame here;
    bool first = co_await get_somehow<with_permits<1>>(at, random, token);
    if (!first)
        co_return false;
    with_permits<1>::come_in(at);
    bool second = co_await at.permits.try_acquire_for(some_time(random), token);
    if (second) {
        with_permits<1>::come_in(at);
        co_await linger(random);
        with_permits<2>::go_out(at);
        co_await with_permits<2>::give_back(at);
    } else {
        with_permits<1>::go_out(at);
        co_await with_permits<1>::give_back(at);
    }
    co_return second;
}

task<bool> send_one(scene &at, line &to, std::minstd_rand random, std::stop_token token) {
    in_frame here;
    int value = at.values++;
    bool sent = false;
    switch (random() % 3) {
    case 0: {
        int copy = value;
        sent = to.values.try_send(copy);
        break;
    }
    case 1: sent = co_await to.values.send_for(value, some_time(random), token); break;
    default:
        sent = co_await to.values.send(value, token);
        at.broken.limits += !sent && !token.stop_requested() && !to.values.closed();
    }
    if (sent) {
        to.sent++;
        to.sent_sum += value;
    }
    co_return sent;
}

void note_received(line &from, int value) {
    from.received++;
    from.received_sum += value;
}

// Always within a time: all of those who send may wait here.
task<bool> receive_one(line &from, std::minstd_rand random, std::stop_token token) {
    in_frame here;
    std::optional<int> value;
    if (random() % 2 == 0)
        value = from.values.try_receive();
    else
        value = co_await from.values.receive_for(some_time(random), token);
    if (value)
        note_received(from, *value);
    co_return value.has_value();
}

// So that a send without limits ends.
task<> receive_until_closed(scene &at, line &from) {
    in_frame here;
    for (;;) {
        std::optional<int> value = co_await from.values.receive();
        if (!value)
            break;
        note_received(from, *value);
    }
    at.broken.channel += !from.values.closed() || from.values.try_receive().has_value();
}

// Some wait for an event that another one sets, which has written something before.
task<> meet_at_an_event(scene &at, std::minstd_rand random, std::stop_token token) {
    in_frame here;
    event happened;
    int written = 0;
    auto wait = [&](time_limit time) -> task<> {
        in_frame child;
        bool got = true;
        if (time < 70us)
            co_await happened.wait();
        else if (time < 140us)
            got = co_await happened.wait_for(time, token);
        else {
            got = co_await happened.wait(token);
            at.broken.limits += !got && !token.stop_requested();
        }
        at.broken.event += got && written != 1;
    };
    auto set = [&](std::minstd_rand own) -> task<> {
        in_frame child;
        co_await linger(own);
        written = 1;
        happened.set();
    };
    std::vector<task<>> all;
    for (int i = 0; i < 3; i++)
        all.push_back(wait(some_time(random)));
    all.push_back(set(another(random)));
    co_await when_all(std::move(all));
    bool set_still = happened.try_wait();
    happened.reset();
    at.broken.event += !set_still || happened.try_wait();
}

task<> meet_at_a_latch(scene &at, std::minstd_rand random, std::stop_token token) {
    constexpr int expected = 3;
    in_frame here;
    latch done(expected);
    std::array<int, expected> counted{};
    auto wait = [&](time_limit time) -> task<> {
        in_frame child;
        bool got = true;
        if (time < 100us)
            co_await done.wait();
        else
            got = co_await done.wait_for(time, token);
        if (got)
            for (int one : counted)
                at.broken.latch += one != 1;
    };
    auto count = [&](int &one, std::minstd_rand own) -> task<> {
        in_frame child;
        co_await linger(own);
        one++;
        done.count_down();
    };
    std::vector<task<>> all;
    for (int &one : counted) {
        all.push_back(wait(some_time(random)));
        all.push_back(count(one, another(random)));
    }
    co_await when_all(std::move(all));
    at.broken.latch += !done.try_wait();
}

task<> meet_at_a_barrier(scene &at, std::minstd_rand random, std::stop_token token) {
    constexpr int tasks = 3, rounds = 8;
    in_frame here;
    barrier together(tasks);
    struct {
        std::atomic<int> coming = 0, gone = 0; // before and after the wait
    } of_round[rounds];
    std::atomic<int> told_so = 0;
    auto come = [&](std::minstd_rand own) -> task<> {
        in_frame child;
        for (auto &round : of_round) {
            round.coming++;
            bool all_came = true;
            if (own() % 2 == 0)
                co_await together.arrive_and_wait();
            else
                all_came = co_await together.arrive_and_wait_for(some_time(own), token);
            told_so += all_came;
            at.broken.barrier += all_came && round.coming < tasks;
            round.gone++;
            while (!all_came && round.gone < tasks) // not twice for the same round
                co_await yield();
        }
    };
    std::vector<task<>> all;
    for (int i = 0; i < tasks; i++)
        all.push_back(come(another(random)));
    co_await when_all(std::move(all));
    at.broken.barrier += told_so < rounds; // the last of each round, at least
}

// A task of when_all or when_any, whose end is counted however it ends.
task<bool> counted(task<bool> one, std::atomic<int> &ended) {
    struct at_end {
        std::atomic<int> &of;
        ~at_end() { of++; }
    } count{ended};
    bool result = co_await std::move(one);
    co_return result;
}

task<> visit_all(scene &at, std::minstd_rand random, std::stop_token token) {
    in_frame here;
    std::atomic<int> ended = 0;
    try {
        auto results = co_await when_all(counted(visit<as_writer>(at, another(random), token), ended),
                                         counted(visit<with_permits<1>>(at, another(random), token), ended),
                                         counted(sleep_for(some_time(random), token), ended));
        at.broken.limits += !std::get<2>(results) && !token.stop_requested();
    } catch (const given_up &) {
        at.broken.when += ended != 3;
        throw;
    }
    at.broken.when += ended != 3;
}

// The last one never ends unless the first that has ended stops it.
task<> visit_any(scene &at, std::minstd_rand random) {
    in_frame here;
    std::atomic<int> ended = 0;
    auto read = [&, own = another(random)](std::stop_token token) {
        return counted(visit<as_reader>(at, own, token), ended);
    };
    auto pass = [&, own = another(random)](std::stop_token token) {
        return counted(visit<through_turnstile>(at, own, token), ended);
    };
    auto sleep = [&](std::stop_token token) { return counted(sleep_for(1h, token), ended); };
    try {
        first_of<bool> won = co_await when_any(read, pass, sleep);
        at.broken.when += won.index > 1;
    } catch (const given_up &) {
        at.broken.when += ended != 3;
        throw;
    }
    at.broken.when += ended != 3;
}

task<> one_step(scene &at, std::minstd_rand &random) {
    std::stop_token token = at.stops.token();
    line &one = random() % 2 == 0 ? at.with_room : at.rendezvous;
    switch (random() % 16) {
    case 0: co_await visit<as_writer>(at, another(random), token); break;
    case 1:
    case 2: co_await visit<as_reader>(at, another(random), token); break;
    case 3:
    case 4: co_await visit<with_permits<1>>(at, another(random), token); break;
    case 5:
        if (random() % 2 == 0)
            co_await visit_with_a_second_permit(at, another(random), token);
        else
            co_await visit<with_permits<2>>(at, another(random), token);
        break;
    case 6: co_await visit<through_turnstile>(at, another(random), token); break;
    case 7:
    case 8: co_await send_one(at, one, another(random), token); break;
    case 9: co_await receive_one(one, another(random), token); break;
    case 10: co_await meet_at_an_event(at, another(random), token); break;
    case 11: co_await meet_at_a_latch(at, another(random), token); break;
    case 12: co_await meet_at_a_barrier(at, another(random), token); break;
    case 13: co_await visit_all(at, another(random), token); break;
    case 14: co_await visit_any(at, another(random)); break;
    default: at.stops.make_one();
    }
}

// `closing`: the step before which it closes both channels; the others still use them.
task<> run_steps(scene &at, unsigned seed, int steps, int closing) {
    in_frame here;
    std::minstd_rand random(seed + 1);
    for (int i = 0; i < steps; i++) {
        if (i == closing) {
            at.with_room.values.close();
            at.rendezvous.values.close();
        }
        try {
            co_await one_step(at, random);
        } catch (const given_up &) {
        }
        at.steps++;
    }
}

void expect_promises_kept(const scene &at) {
    EXPECT_EQ(at.broken.shared_mutex, 0);
    EXPECT_EQ(at.broken.semaphore, 0);
    EXPECT_EQ(at.broken.auto_event, 0);
    EXPECT_EQ(at.broken.event, 0);
    EXPECT_EQ(at.broken.latch, 0);
    EXPECT_EQ(at.broken.barrier, 0);
    EXPECT_EQ(at.broken.channel, 0);
    EXPECT_EQ(at.broken.limits, 0);
    EXPECT_EQ(at.broken.when, 0);
    EXPECT_EQ(in_frame::alive, 0);
}

void expect_all_given_back(scene &at) {
    EXPECT_EQ(at.written, at.writes);
    EXPECT_TRUE(at.guard.try_lock());
    int permits = 0;
    while (at.permits.try_acquire())
        permits++;
    EXPECT_EQ(permits, permits_in_all);
    EXPECT_TRUE(at.turnstile.try_wait());
    EXPECT_FALSE(at.turnstile.try_wait());
}

void expect_all_received_once(line &of) {
    while (std::optional<int> value = of.values.try_receive())
        note_received(of, *value);
    EXPECT_EQ(of.sent, of.received);
    EXPECT_EQ(of.sent_sum, of.received_sum);
    int more = 0;
    EXPECT_FALSE(of.values.try_send(more)); // it is closed
}

TEST(CoroEveryPrimitiveStress, PromisesAreKeptAndNobodyHangs) {
    const auto rounds = static_cast<unsigned>(holdfast::test::effort(40, 8));
    constexpr unsigned tasks = 24;
    constexpr int steps = 60;
    pool on(3u);
    for (unsigned round = 0; round < rounds; round++) {
        scene at;
        gathering walkers, receivers;
        for (line *one : {&at.with_room, &at.rendezvous})
            for (int i = 0; i < 2; i++)
                receivers.add(on, receive_until_closed(at, *one));
        for (unsigned i = 0; i < tasks; i++) {
            bool closes = round % 4 == 3 && i == 0;
            walkers.add(on, run_steps(at, round * 1000 + i, steps, closes ? steps / 2 : -1));
        }
        walkers.wait();
        at.with_room.values.close();
        at.rendezvous.values.close();
        receivers.wait();
        expect_promises_kept(at);
        expect_all_given_back(at);
        expect_all_received_once(at.with_room);
        expect_all_received_once(at.rendezvous);
    }
}

// What destroyed frames had got, and did not give back, is gone; that is as it should be. Another thread requests stops
// meanwhile: it may be at a waiter whose frame is just destroyed.
TEST(CoroEveryPrimitiveStress, APoolEndsWhileTasksUseAll) {
    const auto rounds = static_cast<unsigned>(holdfast::test::effort(40, 8));
    for (unsigned round = 0; round < rounds; round++) {
        scene at;
        pool on(3u);
        for (line *one : {&at.with_room, &at.rendezvous})
            spawn(on, receive_until_closed(at, *one));
        for (unsigned i = 0; i < 24; i++)
            spawn(on, run_steps(at, round * 100 + i, 1 << 30, -1));
        while (at.steps < 30 * static_cast<int>(round % 8))
            std::this_thread::yield();
        std::atomic<bool> ended = false;
        std::thread stopping([&] {
            while (!ended)
                at.stops.make_one();
        });
        on.shutdown();
        ended = true;
        stopping.join();
        expect_promises_kept(at);
    }
}

} // namespace
