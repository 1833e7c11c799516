// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads, time and memory. The kernel is in kernel.cpp, the monitor in monitor.cpp.
#include "engine/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <link.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/single_threaded.h>

#include "engine/context.hpp"
#include "thread/thread_record.h"

namespace holdfast::sim {

simulation *simulation::running_ = nullptr;

namespace {

constexpr picoseconds explored_step = 20 * ps_a_ns;
constexpr std::uint64_t priorities_begin = std::uint64_t(1) << 40;
constexpr std::uint32_t first_tid = 1000;

// The thread-local storage of the program itself: all that the locks have, as they are linked into it. Its bytes are
// exchanged when another thread goes on.
struct local_storage {
    char *at = nullptr;
    std::size_t bytes = 0;
};

int find_own_locals(dl_phdr_info *info, std::size_t, void *found) {
    if (info->dlpi_name[0] != '\0')
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<local_storage *>(found) = {static_cast<char *>(info->dlpi_tls_data),
                                                    info->dlpi_phdr[i].p_memsz};
    }
    return 1;
}

const local_storage &locals() {
    static const local_storage found = [] {
        local_storage own;
        dl_iterate_phdr(find_own_locals, &own);
        return own;
    }();
    return found;
}

void keep_locals(std::vector<char> &into) {
    into.assign(locals().at, locals().at + locals().bytes);
}

void put_locals(const std::vector<char> &from) {
    std::memcpy(locals().at, from.data(), locals().bytes);
}

// Objects and stacks at addresses that are the same in each run: locks are found in tables by their addresses.
char *arena(std::size_t bytes) {
    static char *next = reinterpret_cast<char *>(std::uintptr_t(0x100000000000));
    constexpr std::size_t page = 4096;
    bytes = (bytes + page - 1) / page * page;
    void *memory = mmap(next, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("no memory at the simulator's place for the stacks of its threads");
    next += bytes;
    return static_cast<char *>(memory);
}

constexpr std::size_t stack_bytes = 64 * 1024;

} // namespace

simulation::simulation(const machine &of, std::uint64_t seed)
    : machine_(of), topology_(of), chance_(seed), cpus_(static_cast<std::size_t>(of.cpus)), futexes_(buckets) {
    if (running_)
        throw std::logic_error("one simulation in a process");
    running_ = this;
    __libc_single_threaded = 0; // of those that it has, that is
    for (std::size_t i = 0; i < cpus_.size(); i++) {
        cpus_[i].number = static_cast<int>(i);
        cpus_[i].queue.reserve(64);
    }
    set_up_page();
}

simulation::~simulation() {
    running_ = nullptr;
}

void simulation::explore(const exploration &by) {
    exploring_ = true;
    by_ = by;
    lowest_priority_ = priorities_begin;
    for (unsigned i = 0; i < by.change_points; i++)
        change_at_.push_back(1 + chance_.below(by.steps_expected));
    std::sort(change_at_.rbegin(), change_at_.rend());
}

void simulation::add_thread(std::function<void(int)> body, bool is_stranger, int nice) {
    static std::vector<char> untouched;
    if (untouched.empty()) {
        keep_locals(untouched);
        std::vector<char> own = untouched;
        auto *none = static_cast<hf_thread_record *>(nullptr);
        std::memcpy(untouched.data() + (reinterpret_cast<char *>(&hf_self_record) - locals().at), &none, sizeof(none));
    }
    auto one = std::make_unique<thread>();
    one->number = static_cast<int>(threads_.size());
    one->body = std::move(body);
    one->is_stranger = is_stranger;
    one->weight = std::pow(1.25, -nice); // kernel/sched/core.c, sched_prio_to_weight: a quarter a step
    one->where = new_context(arena(stack_bytes) + stack_bytes, begin);
    keep_locals(locals_outside_);
    put_locals(untouched);
    one->record = hf_thread_record_acquire();
    one->record->tid = first_tid + static_cast<std::uint32_t>(one->number);
    keep_locals(one->locals);
    put_locals(locals_outside_);
    one->priority = priorities_begin + chance_.below(priorities_begin);
    one->used = chance_.below(static_cast<picoseconds>(machine_.slice_ns) * ps_a_ns + 1);
    one->cpu = one->number % static_cast<int>(cpus_.size());
    threads_.push_back(std::move(one));
}

void simulation::begin() {
    thread &self = running_->self();
    self.body(self.number);
    self.state = thread_state::done;
    running_->block();
    std::abort(); // nobody goes on with it
}

outcome simulation::run(picoseconds until) {
    until_ = until;
    for (auto &one : threads_) {
        cpu &its = cpus_[static_cast<std::size_t>(one->cpu)];
        its.queue.push_back(one.get());
        reschedule(its, chance_.below(ps_a_ns * 1000));
    }
    if (!exploring_) // the thread that is alone goes on until something is to happen
        add_event({until, 0, event_kind::resume, 0, nullptr, 0});
    if (!exploring_)
        begin_disturbances();
    keep_locals(locals_outside_);
    is_inside_ = true;
    executing_ = nullptr;
    run_others();
    is_inside_ = false;
    put_locals(locals_outside_);
    return outcome_;
}

void simulation::stop(const std::string &why) {
    why_ = why;
    outcome_ = outcome::stopped;
    leave_for_good();
}

void simulation::leave_for_good() {
    void *left = nullptr;
    hf_sim_switch_context(&left, outside_);
    std::abort();
}

void simulation::add_event(event one) {
    one.order = event_order_++;
    events_.push_back(one);
    std::push_heap(events_.begin(), events_.end(), std::greater<>());
}

simulation::event simulation::next_event() {
    std::pop_heap(events_.begin(), events_.end(), std::greater<>());
    event one = events_.back();
    events_.pop_back();
    return one;
}

void simulation::wait_for_turn() {
    if (exploring_) {
        step();
        return;
    }
    while (!is_first()) {
        add_event({me_->now, 0, event_kind::resume, me_->number, nullptr, ++me_->resumption});
        run_others();
    }
}

// Returns at once when it is the CPU whose thread asks.
void simulation::go_on_with(cpu &on) {
    me_ = &on;
    thread *next = on.current, *self = executing_;
    if (next == self)
        return;
    keep_locals(self ? self->locals : locals_outside_);
    put_locals(next->locals);
    executing_ = next;
    hf_sim_switch_context(self ? &self->where : &outside_, next->where);
}

// Until the thread that asks is the one to go on, or, when it has left its CPU for good, never.
void simulation::run_others() {
    if (exploring_) {
        run_others_exploring();
        return;
    }
    for (;;) {
        if (events_.empty() || events_.front().at >= until_) {
            bool all_done = std::all_of(threads_.begin(), threads_.end(),
                                        [](const auto &one) { return one->state == thread_state::done; });
            bool any_runs = std::any_of(cpus_.begin(), cpus_.end(), [](const auto &one) { return one.current; });
            outcome_ = all_done                         ? outcome::all_done
                       : any_runs || events_.size() > 1 ? outcome::time_is_over
                                                        : outcome::stuck;
            if (!executing_)
                return;
            leave_for_good();
        }
        event one = next_event();
        if (one.kind != event_kind::resume) {
            handle(one);
            continue;
        }
        cpu &on = cpus_[static_cast<std::size_t>(one.cpu)];
        if (one.number != on.resumption)
            continue;
        if (on.is_polling)
            stop_polling(on, one.at, false);
        if (on.now > one.at) { // it was interrupted meanwhile
            add_event({on.now, 0, event_kind::resume, on.number, nullptr, on.resumption});
            continue;
        }
        on.now = one.at;
        go_on_with(on);
        return;
    }
}

cpu *simulation::choose() {
    can_run_.clear();
    for (auto &one : cpus_) {
        if (one.current && !one.is_giving_up)
            can_run_.push_back(&one);
    }
    if (can_run_.empty())
        return nullptr;
    auto is_stalled = [&](const cpu *one) { return one->stalled_until > clock_; };
    if (!std::all_of(can_run_.begin(), can_run_.end(), is_stalled))
        std::erase_if(can_run_, is_stalled);
    if (by_.by_priorities)
        return *std::max_element(can_run_.begin(), can_run_.end(), [](const cpu *one, const cpu *other) {
            return one->current->priority < other->current->priority;
        });
    bool may_go_on = me_ && me_->current == executing_ && executing_ &&
                     std::find(can_run_.begin(), can_run_.end(), me_) != can_run_.end();
    if (may_go_on && !chance_.one_in(by_.switches_one_in))
        return me_;
    return can_run_[chance_.below(can_run_.size())];
}

void simulation::run_others_exploring() {
    for (;;) {
        while (!events_.empty() && events_.front().at <= clock_)
            handle(next_event());
        cpu *next = steps_ > by_.steps_max ? nullptr : choose();
        if (next) {
            next->now = clock_;
            go_on_with(*next);
            return;
        }
        if (steps_ > by_.steps_max || events_.empty()) {
            bool all_done = std::all_of(threads_.begin(), threads_.end(),
                                        [](const auto &one) { return one->state == thread_state::done; });
            outcome_ =
                all_done ? outcome::all_done : (steps_ > by_.steps_max ? outcome::nobody_gets_on : outcome::stuck);
            if (!executing_)
                return;
            leave_for_good();
        }
        clock_ = std::max(clock_, events_.front().at);
    }
}

void simulation::step() {
    clock_ += explored_step;
    steps_++;
    while (!change_at_.empty() && change_at_.back() <= steps_) {
        change_at_.pop_back();
        self().priority = --lowest_priority_;
    }
    run_others_exploring();
    me_->now = clock_;
}

void simulation::leave_after(std::uint64_t accesses, std::jmp_buf *to) {
    self().leaves_in = accesses;
    self().leaves_to = to;
}

void simulation::leave_if_due() {
    thread &who = self();
    if (who.leaves_in == 0 || --who.leaves_in > 0)
        return;
    if (!who.has_signals_blocked)
        std::longjmp(*who.leaves_to, 1);
    who.leaves_in = 1;
}

// A call of the kernel begins: what the caller has just done others see now or, where it stalls, long before the call.
void simulation::enter_kernel() {
    me_->round_is_pure = false;
    me_->looks_ahead = false;
    if (exploring_ && chance_.one_in(by_.stalls_one_in)) {
        me_->stalled_until = clock_ + chance_.below(by_.stall_steps) * explored_step;
        self().priority = --lowest_priority_;
    }
    wait_for_turn();
    fence();
}

picoseconds simulation::jittered_ps(picoseconds time) {
    auto width = static_cast<picoseconds>(2 * machine_.jitter * static_cast<double>(time));
    return time - width / 2 + chance_.below(width + 1);
}

picoseconds simulation::jittered(double ns) {
    return jittered_ps(static_cast<picoseconds>(ns * ps_a_ns));
}

void simulation::charge_ns(double ns) {
    if (is_inside_ && executing_ && !exploring_)
        me_->now += static_cast<picoseconds>(ns * ps_a_ns);
}

// ---- memory

void simulation::begin_round() {
    me_->reads = 0;
    me_->round_is_pure = true;
    me_->round_began = me_->now;
}

void simulation::note_read(line &of) {
    for (std::size_t i = 0; i < me_->reads; i++) {
        if (me_->read[i] == &of)
            return;
    }
    if (me_->reads == cpu::lines_a_round_max)
        me_->round_is_pure = false;
    else
        me_->read[me_->reads++] = &of;
}

// A CPU that left rounds out goes on with the one that sees the line gone.
void simulation::stop_polling(cpu &one, picoseconds at, bool resumes) {
    one.is_polling = false;
    picoseconds waited = at > one.round_began ? at - one.round_began : 0;
    auto rounds = (waited + one.poll_round - 1) / one.poll_round;
    rounds = std::min<std::uint64_t>(rounds, static_cast<std::uint64_t>(one.polls_most));
    one.current->rounds_left_out = static_cast<int>(rounds);
    one.now = one.round_began + rounds * one.poll_round;
    if (resumes)
        add_event({one.now, 0, event_kind::resume, one.number, nullptr, ++one.resumption});
}

void simulation::take_from_others(line &of, int by, picoseconds at) {
    of.sharers.visit([&](int other) {
        cpu &its = cpus_[static_cast<std::size_t>(other)];
        if (other != by && its.is_polling && std::find(its.read, its.read + its.reads, &of) != its.read + its.reads)
            stop_polling(its, at, true);
    });
    of.sharers.clear();
    of.sharers.add(by);
    of.owner = by;
}

// An out-of-order CPU asks for lines as far ahead as its window reaches: this one was asked for with the one that it
// has just waited for, and came with it, unless others have used it since then.
bool simulation::came_with_another(const line &of) const {
    return me_->looks_ahead && of.used_at <= me_->asked_at &&
           me_->now <= me_->came_at + static_cast<picoseconds>(machine_.window_ns * ps_a_ns);
}

// The line comes: to own it alone, or as one more that reads it.
void simulation::take(line &of, bool to_own) {
    if (to_own) {
        take_from_others(of, me_->number, me_->now);
        return;
    }
    of.owner = of.sharers.empty() ? me_->number : -1;
    of.is_changed = false;
    of.sharers.add(me_->number);
}

// The request comes to the line's home, which serves it after those before, and from there to whoever has the line.
simulation::request simulation::ask_for(line &of, bool to_own) {
    auto whole = jittered_ps(to_own ? topology_.to_own(of, me_->number) : topology_.to_load(of, me_->number));
    auto trip = static_cast<picoseconds>(static_cast<double>(whole) * machine_.travel_share / 2);
    bool is_copied = !to_own && of.owner < 0 && !of.sharers.empty();
    picoseconds begins = std::max(me_->now + trip, of.busy_until);
    of.busy_until = begins + (is_copied ? static_cast<picoseconds>(machine_.shared_read_ns * ps_a_ns) : whole);
    return {whole, trip, begins + trip};
}

// Waits until the line is there. Its state changes when whoever has it gives it away.
void simulation::fetch(line &of, bool to_own) {
    counts_.misses++;
    me_->round_is_pure = false;
    if (came_with_another(of)) {
        me_->now = std::max(me_->now, of.busy_until);
        take(of, to_own || is_taken_by_load(of));
        return;
    }
    me_->asked_at = me_->now;
    auto [whole, trip, given] = ask_for(of, to_own);
    me_->now = given;
    wait_for_turn();
    take(of, to_own || is_taken_by_load(of));
    me_->now += whole - 2 * trip;
    me_->came_at = me_->now;
    me_->looks_ahead = true;
}

void simulation::load_line(line &of) {
    if (of.sharers.has(me_->number) || is_coming(of))
        me_->now += static_cast<picoseconds>(machine_.hit_ns * ps_a_ns);
    else
        fetch(of, false);
    of.used_at = me_->now;
}

void *simulation::load(const volatile void *word) {
    auto *memory = const_cast<void *>(word);
    if (!executing_)
        return memory;
    counts_.accesses++;
    leave_if_due();
    wait_for_turn();
    if (!exploring_) {
        line &of = lines_.at(word);
        load_line(of);
        note_read(of);
        return seen(of, word);
    }
    return by_.store_delay_steps == 0 ? memory : seen(lines_.at(word), word);
}

// Where this CPU sees the word: in memory, or what was there before stores that others have buffered.
void *simulation::seen(const line &of, const volatile void *word) {
    auto *memory = const_cast<void *>(word);
    if (of.pending_stores == 0)
        return memory;
    for (auto &other : cpus_)
        other.stores.show_until(now());
    if (of.pending_stores == 0)
        return memory;
    for (auto &other : cpus_) {
        if (&other == me_ || other.stores.empty())
            continue;
        if (void *seen = other.stores.seen_by_others(word))
            return seen;
    }
    return memory;
}

void simulation::store(volatile void *word, std::size_t bytes) {
    if (!executing_)
        return;
    counts_.accesses++;
    leave_if_due();
    wait_for_turn();
    me_->round_is_pure = false;
    if (exploring_) {
        if (by_.store_delay_steps == 0)
            return;
        line &of = lines_.at(word);
        if (of.pending_stores > 0) { // of one word two CPUs' stores are not pending at a time
            for (auto &other : cpus_) {
                if (&other != me_ && other.stores.seen_by_others(word))
                    other.stores.show_all();
            }
        }
        me_->stores.add(word, bytes, of, clock_ + chance_.below(by_.store_delay_steps) * explored_step);
        return;
    }
    store_measured(word, bytes, lines_.at(word));
}

// It is buffered while its line is on the way, or that of an older one: others see stores in their order. Lines are
// asked for at once, however many; but a thread that stores on and on waits for the first ones.
void simulation::store_measured(volatile void *word, std::size_t bytes, line &of) {
    me_->stores.show_until(me_->now);
    bool is_coming_too = is_coming(of);
    if (of.owner != me_->number || !me_->stores.empty()) {
        picoseconds given = me_->now;
        if (of.owner != me_->number && !is_coming_too) {
            counts_.misses++;
            if (came_with_another(of)) {
                given = std::max(given, of.busy_until);
            } else {
                request asked = ask_for(of, true);
                given = asked.given;
                me_->stores_seen_at = std::max(me_->stores_seen_at, of.busy_until - asked.trip);
            }
        }
        given = me_->stores.add(word, bytes, of, given);
        me_->stored_to.push_back(&of);
        add_event({given, 0, event_kind::given, me_->number, nullptr, 0, &of});
        constexpr picoseconds buffered = 400 * ps_a_ns;
        me_->now = std::max(me_->now, me_->stores_seen_at - std::min(me_->stores_seen_at, buffered));
    }
    me_->now += static_cast<picoseconds>(machine_.hit_ns * ps_a_ns);
    of.is_changed = true;
    of.used_at = me_->now;
}

// One of its buffered stores has the line, and is seen from now on.
void simulation::get_line_of_store(line &of, cpu &by, picoseconds at) {
    auto stored = std::find(by.stored_to.begin(), by.stored_to.end(), &of);
    if (stored != by.stored_to.end())
        by.stored_to.erase(stored);
    take_from_others(of, by.number, at);
    of.is_changed = true;
}

void simulation::fence() {
    if (!executing_)
        return;
    if (exploring_)
        me_->stores.show_all();
    else if (me_->now = std::max(me_->now, me_->stores_seen_at); !me_->stores.empty()) {
        wait_for_turn();
        me_->stores.show_all();
    }
}

// Waits for the line and for the CPU's own stores, which are on their way together.
void simulation::modify_line(line &of) {
    me_->round_is_pure = false;
    if (of.owner != me_->number && !is_coming(of))
        fetch(of, true);
    fence();
    if (of.owner != me_->number) // it has gone while others were waited for
        fetch(of, true);
    me_->now += static_cast<picoseconds>(machine_.rmw_ns * ps_a_ns);
    of.busy_until = std::max(of.busy_until, me_->now);
    of.is_changed = true;
    of.used_at = me_->now;
}

void *simulation::modify(volatile void *word) {
    auto *memory = const_cast<void *>(word);
    if (!executing_)
        return memory;
    if (exploring_) {
        void *seen = load(word);
        me_->stores.show_all();
        return seen;
    }
    counts_.accesses++;
    wait_for_turn();
    line &of = lines_.at(word);
    modify_line(of);
    return seen(of, word);
}

void simulation::pause() {
    if (!executing_)
        return;
    if (exploring_) {
        if (by_.by_priorities)
            self().priority = --lowest_priority_;
        step();
        return;
    }
    me_->looks_ahead = false;
    me_->now += static_cast<picoseconds>(machine_.pause_ns * ps_a_ns);
}

// The lines must still be here, and the thread where it was, when it is its turn.
int simulation::polls_alike(int most) {
    if (!executing_ || exploring_)
        return 0;
    bool is_pure = me_->round_is_pure && me_->reads > 0 && most > 0 && me_->now > me_->round_began;
    cpu *was_on = me_;
    std::uint64_t switches = self().switched_out;
    if (is_pure) {
        wait_for_turn();
        is_pure = me_ == was_on && self().switched_out == switches &&
                  std::all_of(me_->read, me_->read + me_->reads,
                              [&](const line *one) { return one->sharers.has(me_->number); });
    }
    if (!is_pure) {
        begin_round();
        return 0;
    }
    me_->poll_round = me_->now - me_->round_began;
    me_->round_began = me_->now;
    me_->polls_most = most;
    me_->is_polling = true;
    self().rounds_left_out = 0;
    picoseconds longest = me_->now + static_cast<picoseconds>(most) * me_->poll_round;
    me_->resumption++;
    add_event({longest, 0, event_kind::resume, me_->number, nullptr, me_->resumption});
    run_others();
    me_->looks_ahead = false; // that the loop ends comes as a surprise
    begin_round();
    return self().rounds_left_out;
}

// As if it polled for something that does not come: nothing happens on the CPU until it is interrupted.
void simulation::compute(double ns) {
    if (!executing_)
        return;
    if (exploring_) {
        step();
        return;
    }
    constexpr std::uint64_t most = std::uint64_t(1) << 30;
    for (auto left = static_cast<std::uint64_t>(ns * ps_a_ns); left > 0;) {
        wait_for_turn();
        me_->reads = 0;
        me_->round_began = me_->now;
        me_->poll_round = 1;
        me_->polls_most = static_cast<int>(std::min(left, most));
        me_->is_polling = true;
        self().rounds_left_out = 0;
        me_->resumption++;
        add_event({me_->now + static_cast<picoseconds>(me_->polls_most), 0, event_kind::resume, me_->number, nullptr,
                   me_->resumption});
        run_others();
        left -= static_cast<std::uint64_t>(self().rounds_left_out);
    }
    begin_round();
}

void simulation::trace_span(const char *what, picoseconds since) {
    if (trace_ && executing_ && now() > since)
        trace_->span(self().number, what, since, now());
}

std::uint64_t simulation::clock_ns(bool by_ticks) {
    if (!executing_)
        return clock_begin_ns;
    if (exploring_) {
        step();
    } else {
        me_->round_is_pure = false;
        me_->looks_ahead = false;
        me_->now += static_cast<picoseconds>((by_ticks ? machine_.ticks_ns : machine_.clock_ns) * ps_a_ns);
    }
    beat(now());
    return observed_ns();
}

} // namespace holdfast::sim
