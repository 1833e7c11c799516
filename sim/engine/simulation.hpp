// SPDX-License-Identifier: MIT OR Apache-2.0
// The simulated machine, its kernel, and the threads on it, all in one thread of the host.
//
// Each simulated thread is a context of its own (context.hpp). It runs until it comes to an access to shared memory, or
// to a call of the kernel, that somebody else comes before: then the first one goes on. The first is:
//
// - measuring: each CPU has a clock of its own, and the one that is behind goes on. What happens later than a thread's
//   clock can't change what it sees now; so it goes on alone as long as nothing is to happen before its clock.
// - exploring: there is one clock, which each access moves by a step, and chance or priorities say (exploration.hpp).
//
// What happens by itself (a slice ends, a timer, somebody is woken on another CPU) is an event, in the same order of
// time. Events are handled on the stack of a thread that has just stopped.
#pragma once

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/duration.hpp"
#include "engine/exploration.hpp"
#include "engine/lines.hpp"
#include "engine/machine.hpp"
#include "engine/random.hpp"
#include "engine/store_buffer.hpp"
#include "engine/trace.hpp"
#include "hint/hint_page.h"
#include "hint/switch_storm.h"

struct hf_thread_record;

namespace holdfast::sim {

enum class thread_state { ready, running, asleep, done };

struct thread {
    int number = 0;
    std::function<void(int)> body;
    void *where = nullptr;    // context, while it does not run
    std::vector<char> locals; // what it has of thread-local storage
    hf_thread_record *record = nullptr;
    thread_state state = thread_state::ready;
    int cpu = 0;              // where it runs, or ran last
    picoseconds used = 0;     // of the CPU, as the scheduler counts it
    bool is_counted = false;  // by the monitor: M1
    bool is_stranger = false; // of another process, that the monitor does not follow
    double weight = 1;        // of its nice value, over that of 0
    bool is_inside = false;   // in a critical section, as the workload knows
    int rounds_left_out = 0;
    std::uint64_t leaves_in = 0; // accesses; 0: it stays
    std::jmp_buf *leaves_to = nullptr;
    bool has_signals_blocked = false; // it does not leave before they are not any more
    std::uint64_t priority = 0;
    // Asleep.
    const std::uint32_t *word = nullptr; // null: nobody wakes it but a timer
    std::uint32_t kind = 0;
    std::uint64_t sleeps = 0;
    int woke_with = 0;
    std::uint64_t switched_out = 0, preempted = 0;
};

struct cpu {
    int number = 0;
    picoseconds now = 0;
    thread *current = nullptr;
    bool is_giving_up = false; // its thread is about to leave it, asleep or done
    bool switch_is_due = false;
    std::vector<thread *> queue;
    picoseconds started = 0;                 // when its thread got it
    picoseconds floor = 0;                   // of `used` of those that are to run here
    std::uint64_t resumption = 0, slice = 0; // numbers of events that are still meant
    bool slice_is_due = false;
    picoseconds stores_seen_at = 0; // measuring: its last buffered store
    std::vector<line *> stored_to;  // measuring: lines on their way for buffered stores
    // Measuring: its last miss was asked for, and came; later ones may have been asked for with it.
    picoseconds asked_at = 0, came_at = 0;
    bool looks_ahead = false;
    store_buffer stores;
    // The round of a loop that polls (seams/base/poll.h).
    static constexpr std::size_t lines_a_round_max = 16;
    line *read[lines_a_round_max];
    std::size_t reads = 0;
    bool round_is_pure = false;
    picoseconds round_began = 0;
    // Rounds are left out until one of those lines goes.
    bool is_polling = false;
    picoseconds poll_round = 0;
    int polls_most = 0;

    picoseconds stalled_until = 0; // exploring: others go first
    std::uint32_t critical_departures = 0;
    picoseconds used_by_own = 0; // by threads that are no strangers, but for the one that runs
};

struct counts {
    std::uint64_t switches = 0, preemptions = 0, critical_preemptions = 0, critical_sleeps = 0, storms = 0, wakes = 0,
                  wakes_of_nobody = 0, sleeps = 0, sleeps_refused = 0, short_sleeps = 0, yields = 0, fences = 0,
                  migrations = 0, misses = 0, accesses = 0, disturbances = 0, throttled = 0;
};

enum class outcome { time_is_over, all_done, stuck, nobody_gets_on, stopped };

class simulation {
public:
    simulation(const machine &of, std::uint64_t seed);
    ~simulation();
    simulation(const simulation &) = delete;
    simulation &operator=(const simulation &) = delete;

    void explore(const exploration &by);
    void without_monitor();
    void record(trace *into) { trace_ = into; }

    // What must hold whenever a CPU is given to another thread, and at the end: empty, or what does not. Exploring
    // only.
    void expect(std::function<std::string()> holds) { holds_ = std::move(holds); }
    std::string what_does_not_hold() const { return holds_ ? holds_() : ""; }

    // Before run.
    void add_thread(std::function<void(int)> body, bool is_stranger = false, int nice = 0);

    // Until that time, or nobody is left to run.
    outcome run(picoseconds until);

    // From within a thread: ends the run.
    [[noreturn]] void stop(const std::string &why);
    const std::string &why_stopped() const { return why_; }

    // What the seams ask. They do nothing, and charge for nothing, outside a simulated thread.
    static simulation *running() { return running_; }
    void *load(const volatile void *word);
    void store(volatile void *word, std::size_t bytes);
    void *modify(volatile void *word);
    void fence();
    void pause();
    int polls_alike(int most);
    std::uint64_t clock_ns(bool by_ticks);
    // The same as an observer reads it, of whom the thread knows nothing.
    std::uint64_t observed_ns() const { return clock_begin_ns + now() / ps_a_ns; }
    int current_cpu() const { return me_->number; }
    void charge_ns(double ns);
    // Keeps the CPU busy for so long, outside of shared memory. Time for which the thread is preempted is not counted.
    void compute(double ns);
    // For the trace: since then the thread has been about that.
    void trace_span(const char *what, picoseconds since);

    int sleep_on(const std::uint32_t *word, std::uint32_t expected, std::uint64_t deadline_ns, std::uint32_t kind);
    void wake(const std::uint32_t *word, int count, std::uint32_t kind);
    void move(const std::uint32_t *from, const std::uint32_t *to);
    void sleep_for(std::uint64_t ns);
    void yield();
    // Exploring: at so many accesses to memory from now on (0: not any more) the thread leaves by longjmp, as one does
    // that is cancelled, or whose signal handler jumps; or later, when signals may come.
    void leave_after(std::uint64_t accesses, std::jmp_buf *to);
    // Of the thread that runs, if one does. Says what was before.
    bool block_signals(bool blocked) {
        return me_ && me_->current && std::exchange(self().has_signals_blocked, blocked);
    }
    void fence_all();

    thread &self() { return *me_->current; }
    picoseconds now() const { return exploring_ ? clock_ : me_->now; }
    std::uint64_t steps() const { return steps_; }
    const struct counts &counted() const { return counts_; }
    const machine &of() const { return machine_; }
    random_source &chance() { return chance_; }
    std::size_t thread_count() const { return threads_.size(); }
    const thread &thread_at(std::size_t number) const { return *threads_[number]; }
    std::uint64_t critical_count() const;

private:
    enum class event_kind { resume, reschedule, slice_end, timer, spurious, stolen, interrupted, quota, given };
    struct event {
        picoseconds at;
        std::uint64_t order;
        event_kind kind;
        int cpu;
        thread *who;
        std::uint64_t number;
        line *given = nullptr;
        bool operator>(const event &other) const { return at != other.at ? at > other.at : order > other.order; }
    };

    void add_event(event one);
    event next_event();
    bool is_first() const { return events_.empty() || events_.front().at >= me_->now; }
    void wait_for_turn();
    void step();
    void leave_if_due();
    void enter_kernel();
    void run_others();
    void run_others_exploring();
    cpu *choose();
    void go_on_with(cpu &on);
    void handle(const event &one);
    [[noreturn]] void leave_for_good();
    static void begin();

    picoseconds jittered(double ns);
    picoseconds jittered_ps(picoseconds time);
    void note_read(line &of);
    struct request {
        picoseconds whole, trip;
        picoseconds given; // when whoever has the line gives it away
    };
    request ask_for(line &of, bool to_own);
    void fetch(line &of, bool to_own);
    bool came_with_another(const line &of) const;
    bool is_taken_by_load(const line &of) const { return machine_.load_takes > 0 && of.owner >= 0 && of.is_changed; }
    void take(line &of, bool to_own);
    bool is_coming(const line &of) const {
        return std::find(me_->stored_to.begin(), me_->stored_to.end(), &of) != me_->stored_to.end();
    }
    void load_line(line &of);
    void store_measured(volatile void *word, std::size_t bytes, line &of);
    void *seen(const line &of, const volatile void *word);
    void get_line_of_store(line &of, cpu &by, picoseconds at);
    void modify_line(line &of);
    void take_from_others(line &of, int by, picoseconds at);
    void stop_polling(cpu &one, picoseconds at, bool resumes);
    picoseconds own_from_kernel(cpu &by, const void *word, picoseconds at);
    void begin_round();

    // kernel.cpp
    struct bucket {
        std::vector<thread *> sleepers;
        line memory; // of its lock, and of the number of those that sleep or are about to
        picoseconds locked_until = 0;
    };
    bucket &bucket_of(const std::uint32_t *word);
    void block();
    void set_ready(thread &who, picoseconds at);
    void unqueue(thread &who);
    void add_to_queue(cpu &of, thread &who, picoseconds at);
    void reschedule(cpu &one, picoseconds at);
    void switch_threads(cpu &one, picoseconds at);
    thread *take_next(cpu &of);
    void steal_for(cpu &idle);
    cpu *idle_near(int home);
    void arm_slice(cpu &one, picoseconds at);
    picoseconds used_by_now(const cpu &one, picoseconds at) const;
    void lock_bucket(bucket &of, const std::uint32_t *word_read = nullptr);
    void unlock_bucket(bucket &of);
    double after_bucket_ns(double half_ns) const;
    bool may_run(const thread &who) const { return !is_throttled_ || who.is_stranger; }
    bool has_ready(const cpu &of) const;

    // disturbances.cpp
    void begin_disturbances();
    void take_time(cpu &from, picoseconds at, double every_ns, double ns, event_kind kind);
    void watch_quota(picoseconds at);
    picoseconds used_by_all(picoseconds at) const;

    // monitor.cpp
    void set_up_page();
    picoseconds at_switch(cpu &on, thread *leaves, bool could_go_on, thread *comes, picoseconds at);
    void beat(picoseconds at);

    static simulation *running_;
    machine machine_;
    topology topology_;
    random_source chance_;
    line_table lines_;
    std::vector<cpu> cpus_;
    std::vector<std::unique_ptr<thread>> threads_;
    std::vector<event> events_;
    std::uint64_t event_order_ = 0;
    cpu *me_ = nullptr;       // whose thread runs
    void *outside_ = nullptr; // context of a thread that has called run
    std::vector<char> locals_outside_;
    bool is_inside_ = false;
    thread *executing_ = nullptr; // whose stack this is; null: that of a thread that has called run
    picoseconds until_ = never, clock_ = 0, last_balance_ = 0;
    outcome outcome_ = outcome::time_is_over;
    std::string why_;
    std::function<std::string()> holds_;
    struct counts counts_;
    static constexpr std::size_t buckets = 256;
    std::vector<bucket> futexes_;
    trace *trace_ = nullptr;

    bool is_throttled_ = false;                    // its quota is used up
    picoseconds quota_from_ = 0, used_before_ = 0; // when the period began, and what had been used

    bool exploring_ = false;
    exploration by_;
    std::uint64_t steps_ = 0, lowest_priority_ = 0;
    std::vector<std::uint64_t> change_at_;
    std::vector<cpu *> can_run_;

    bool has_monitor_ = true;
    hf_storm_watch storm_{};
};

} // namespace holdfast::sim
