// SPDX-License-Identifier: MIT OR Apache-2.0
// All scenarios, by kind of object: what its threads do at random, and what each checks of it.
#include "scenarios/scenario.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>

#include "holdfast/holdfast.h"
#include "thread/thread_record.h"
#include "workloads/lock_kinds.hpp"

extern "C" {
#include "lock/flexguard/flexguard_lock.h"
#include "lock/posix/barrier.h"
#include "lock/posix/condition.h"
#include "lock/posix/read_write_lock.h"
#include "park/deadline.h"
#include "park/sleeper_counts.h"
#include "park/word_lock.h"
}

namespace holdfast::sim {
namespace {

simulation &now_running() {
    return *simulation::running();
}

constexpr std::uint64_t quiet_ns = 3'000'000; // as long as a lock stays FENCED after a sleep, and more

hf_deadline in_ns(std::uint64_t ns) {
    std::uint64_t at = hf_monotonic_ns() + ns;
    return {CLOCK_MONOTONIC, {static_cast<time_t>(at / 1'000'000'000), static_cast<long>(at % 1'000'000'000)}};
}

// The threads inside: the exclusion that locks promise. Its own accesses are steps, so that others come in between.
class room {
public:
    // Of locks that tell the monitor of their holders it is checked that they do.
    explicit room(bool holders_are_told = true) : holders_are_told_(holders_are_told) {}
    void enter(bool alone) {
        simulation &on = now_running();
        if (alone ? readers_ + writers_ != 0 : writers_ != 0)
            on.stop("two threads were inside at once");
        (alone ? writers_ : readers_)++;
        on.self().is_inside = holders_are_told_;
        hf_load_relaxed(&word_); // others' turn
        hf_store_own(&word_, word_ + 1);
    }
    void leave(bool alone) {
        now_running().self().is_inside = false;
        (alone ? writers_ : readers_)--;
    }

private:
    bool holders_are_told_;
    int readers_ = 0, writers_ = 0;
    std::uint64_t word_ = 0;
};

// Sometimes all that is in between is long: the owner stays away, timers end.
void between(random_source &chance) {
    if (chance.one_in(24))
        now_running().sleep_for(chance.below(quiet_ns));
    else if (chance.one_in(4))
        hf_monotonic_ns();
}

// ---- locks

// Intent before effect (thread/thread_record.h): while a word is taken, somebody says that it may hold a lock.
std::string holders_are_published(const simulation &on, std::initializer_list<const hf_flexguard_t *> locks) {
    std::size_t taken = 0, critical = 0;
    for (const auto *one : locks)
        taken += one->word != HF_WORD_FREE;
    for (std::size_t i = 0; i < on.thread_count(); i++)
        critical += on.thread_at(i).record->critical.critical_depth > 0;
    return critical < taken ? "a lock is held, and its holder is not critical" : "";
}

// The next release is one of those that look whether sleepers must be counted on (park/sleeper_counts.h).
void make_next_release_look(void *lock) {
    auto *one = static_cast<hf_flexguard_t *>(lock);
    one->releases = static_cast<std::uint16_t>(one->releases / HF_RELEASES_FENCED * HF_RELEASES_FENCED - 1);
}

void use_once(const hf_lock_kind &kind, void *lock, room &inside, bool is_flexguard, unsigned sleeps_one_in) {
    random_source &chance = now_running().chance();
    if (kind.clocklock && chance.one_in(6)) {
        hf_deadline until = in_ns(chance.below(100'000));
        if (kind.clocklock(lock, until.clock, &until.at) != 0)
            return;
    } else if (chance.one_in(10)) {
        if (!kind.trylock(lock))
            return;
    } else {
        kind.lock(lock);
    }
    inside.enter(true);
    if (chance.one_in(sleeps_one_in)) // inside: others will sleep, too
        now_running().sleep_for(chance.below(200'000));
    if (is_flexguard && chance.one_in(3))
        make_next_release_look(lock);
    inside.leave(true);
    kind.unlock(lock);
}

void use_lock(simulation &to, const trial_size &size, const char *name) {
    const hf_lock_kind &kind = find_lock(name);
    void *lock = locks_at(1, kind.bytes);
    bool is_flexguard = std::string(name) == "flexguard";
    auto inside = std::make_shared<room>(is_flexguard);
    if (is_flexguard)
        to.expect([=, &to] { return holders_are_published(to, {static_cast<hf_flexguard_t *>(lock)}); });
    for (unsigned i = 0; i < size.threads; i++) {
        to.add_thread([=, operations = size.operations, &kind](int) {
            for (unsigned done = 0; done < operations; done++) {
                between(now_running().chance());
                use_once(kind, lock, *inside, is_flexguard, 20);
            }
        });
    }
}

// Two locks whose sleepers are counted in one place (sleep.S2, park/sleeper_counts.h).
std::pair<hf_flexguard_t *, hf_flexguard_t *> neighbours() {
    constexpr std::size_t many = 8 << HF_SLEEPERS_BITS;
    auto *lines = static_cast<char *>(locks_at(many, HF_CACHE_LINE_BYTES));
    auto *one = reinterpret_cast<hf_flexguard_t *>(lines);
    for (std::size_t i = 1; i < many; i++) {
        auto *next = reinterpret_cast<hf_flexguard_t *>(lines + i * HF_CACHE_LINE_BYTES);
        if (hf_sleepers_at(&next->word) == hf_sleepers_at(&one->word))
            return {one, next};
    }
    return {one, one};
}

// Advice; else it would stay FENCED for longer and longer.
void forget_fences(const std::uint32_t *word) {
    if (now_running().chance().one_in(3))
        hf_sleepers_at(word)->fenced_for_ms = 0;
}

// Others go on, while what this thread has stored is still to be seen.
void dawdle(random_source &chance) {
    std::uint32_t own = 0;
    for (auto steps = chance.below(60); steps > 0; steps--)
        hf_load_relaxed(&own);
}

// The lock word's protocol with its sleepers and nothing else: a thread that does not get it sleeps.
void use_word(hf_flexguard_t *lock, room &inside) {
    random_source &chance = now_running().chance();
    forget_fences(&lock->word);
    hf_word_state held = HF_WORD_HELD;
    while (!hf_word_trylock(&lock->word, held)) {
        hf_sleeper_comes(&lock->word);
        if (hf_word_take_or_announce(&lock->word)) {
            hf_sleeper_goes(&lock->word);
            break;
        }
        held = HF_WORD_HELD_WITH_SLEEPERS; // word.I2
        hf_futex_wait(&lock->word, HF_WORD_HELD_WITH_SLEEPERS, nullptr);
        hf_sleeper_goes(&lock->word);
    }
    inside.enter(true);
    dawdle(chance);
    inside.leave(true);
    unsigned releases = chance.one_in(2) ? 0 : 1;
    hf_word_pay(&lock->word, hf_word_release_counted(&lock->word, releases, &lock->fenced));
    dawdle(chance);
}

// All threads come together now and then, asleep until the last one is there: so a wake that is lost keeps all of them,
// though the next sleeper of the same word would have brought it again.
class meeting {
public:
    explicit meeting(unsigned threads) : threads_(threads) {}
    void join() {
        if (++arrived_ < threads_) {
            for (std::uint32_t seen = round_; seen == round_;)
                now_running().sleep_on(&round_, seen, never, ~0u);
            return;
        }
        arrived_ = 0;
        round_++;
        now_running().wake(&round_, static_cast<int>(threads_), ~0u);
    }

private:
    unsigned threads_, arrived_ = 0;
    std::uint32_t round_ = 0;
};

// A lock whose owners keep it for long and come back for it at once: its waiters claim it (park/claims.h), and none of
// them waits for longer than the public header says.
void use_lock_for_long(simulation &to, const trial_size &size) {
    constexpr unsigned uses = 8; // of each, for one of those that size has
    constexpr std::uint64_t section_ns = 10'000'000, noise_ns = 5'000'000;
    auto *lock = new (locks_at(1, sizeof(hf_flexguard_t))) hf_flexguard_t{};
    auto inside = std::make_shared<room>();
    to.expect([=, &to] { return holders_are_published(to, {lock}); });
    std::uint64_t bound_ns = 2 * (size.threads * section_ns + HF_FLEXGUARD_SLICE_NS) + noise_ns;
    for (unsigned i = 0; i < size.threads; i++) {
        to.add_thread([=, operations = size.operations](int) {
            simulation &on = now_running();
            for (unsigned done = 0; done < operations * uses; done++) {
                std::uint64_t asked_ns = hf_monotonic_ns(), given_up_after_ns = on.chance().below(bound_ns);
                if (on.chance().one_in(8)) {
                    hf_deadline until = in_ns(given_up_after_ns);
                    if (hf_flexguard_clocklock(lock, until.clock, &until.at) != 0)
                        continue;
                } else {
                    hf_flexguard_lock(lock);
                }
                if (hf_monotonic_ns() - asked_ns > bound_ns)
                    on.stop("a thread has waited for longer than promised");
                inside->enter(true);
                if (on.chance().one_in(2))
                    on.sleep_for(on.chance().below(section_ns));
                inside->leave(true);
                hf_flexguard_unlock(lock);
            }
        });
    }
}

void use_words(simulation &to, const trial_size &size) {
    constexpr unsigned uses_between_meetings = 2;
    auto [one, other] = neighbours();
    auto all = std::make_shared<meeting>(size.threads);
    auto in_one = std::make_shared<room>(false), in_other = std::make_shared<room>(false);
    for (unsigned i = 0; i < size.threads; i++) {
        to.add_thread([=, one = one, other = other, operations = size.operations](int) {
            for (unsigned done = 0; done < operations; done++) {
                bool is_first = now_running().chance().one_in(2);
                use_word(is_first ? one : other, is_first ? *in_one : *in_other);
                if (done % uses_between_meetings == 0)
                    all->join();
            }
        });
    }
}

void use_neighbours(simulation &to, const trial_size &size) {
    auto [one, other] = neighbours();
    const hf_lock_kind &kind = find_lock("flexguard");
    auto in_one = std::make_shared<room>(), in_other = std::make_shared<room>();
    to.expect([one = one, other = other, &to] { return holders_are_published(to, {one, other}); });
    for (unsigned i = 0; i < size.threads; i++) {
        to.add_thread([=, one = one, other = other, operations = size.operations, &kind](int) {
            for (unsigned done = 0; done < operations; done++) {
                between(now_running().chance());
                forget_fences(&one->word);
                bool is_first = now_running().chance().one_in(2);
                use_once(kind, is_first ? one : other, is_first ? *in_one : *in_other, true, 4);
            }
        });
    }
}

template <std::size_t number>
void use_listed_lock(simulation &to, const trial_size &size) {
    use_lock(to, size, hf_lock_kinds[number].name);
}

// ---- condition variables: things that some put and others take, one by one

struct store {
    hf_flexguard_t lock{};
    hf_condition not_empty{};
    std::uint64_t things = 0;
    std::vector<hf_waiter *> left; // what was a waiter is overwritten, and must stay as it was then

    static constexpr int overwritten = 0x5a;
    std::string left_are_untouched() const {
        for (const auto *one : left) {
            auto *bytes = reinterpret_cast<const char *>(one);
            if (std::any_of(bytes, bytes + sizeof(*one), [](char byte) { return byte != overwritten; }))
                return "a waiter that had gone was touched (condition.C2)";
        }
        return "";
    }

    // Now and then the body is left at any access, as by a cancellation, or by a signal handler that jumps. False then.
    template <class Body>
    static bool stays(int leaves_one_in, std::uint64_t accesses, Body body) {
        random_source &chance = now_running().chance();
        std::uint32_t depth = hf_self()->critical.critical_depth;
        std::jmp_buf out;
        if (chance.one_in(leaves_one_in)) {
            if (setjmp(out) != 0) {
                hf_store_relaxed(&hf_self()->critical.critical_depth, depth);
                return false;
            }
            now_running().leave_after(1 + chance.below(accesses), &out);
        }
        body();
        now_running().leave_after(0, nullptr);
        return true;
    }

    // As preload/cond.c does; this, too, may be left.
    static void leave(hf_waiter &self) {
        while (!stays(3, 20, [&self] { hf_waiter_leave_cancelled(&self); }))
            ;
    }

    static void sleep(hf_waiter &self) {
        random_source &chance = now_running().chance();
        bool in_time = chance.one_in(5);
        hf_deadline until = in_ns(chance.below(100'000));
        bool stayed = stays(4, 40, [&self, &until, in_time] {
            if (hf_condition_sleep(&self, in_time ? &until : nullptr) == ETIMEDOUT)
                hf_waiter_leave(&self);
        });
        if (!stayed)
            leave(self);
    }

    void wait() {
        hf_waiter &self = *new hf_waiter;
        hf_waiter_begin(&self, &not_empty, nullptr);
        if (stays(8, 20, [&self] { hf_condition_join(&self); })) {
            hf_flexguard_unlock(&lock);
            sleep(self);
            if (self.moved) {
                hf_flexguard_acquire_as_sleeper(&lock.word, &lock.queue_tail, &lock.releases, hf_self());
                hf_sleeper_goes(&lock.word);
            } else {
                hf_flexguard_lock(&lock);
            }
        } else {
            leave(self); // with the mutex
        }
        std::memset(static_cast<void *>(&self), overwritten, sizeof(self));
        left.push_back(&self);
    }
};

void use_condition(simulation &to, const trial_size &size) {
    auto *shared = new (locks_at(1, sizeof(store))) store;
    to.expect([=] { return shared->left_are_untouched(); });
    unsigned takers = size.threads - 1;
    std::uint64_t all = std::uint64_t(takers) * size.operations;
    auto inside = std::make_shared<room>();
    to.add_thread([=](int) {
        random_source &chance = now_running().chance();
        for (std::uint64_t put = 0; put < all;) {
            between(chance);
            std::uint64_t more = chance.one_in(4) ? std::min<std::uint64_t>(takers, all - put) : 1;
            hf_flexguard_lock(&shared->lock);
            inside->enter(true);
            shared->things += more;
            put += more;
            inside->leave(true);
            bool moves = chance.one_in(2);
            hf_waiter *chosen =
                more > 1 ? hf_condition_choose_all(&shared->not_empty) : hf_condition_choose_one(&shared->not_empty);
            if (more == 1 && chosen)
                chosen->next_chosen = nullptr;
            hf_permits_owed owed = 0;
            for (hf_waiter *next; chosen; chosen = next) {
                next = chosen->next_chosen;
                if (moves)
                    hf_waiter_move_to(&shared->lock.word, chosen);
                else
                    hf_permits_owe(&owed, chosen);
            }
            hf_flexguard_unlock(&shared->lock);
            if (owed && chance.one_in(3))
                now_running().sleep_for(chance.below(100'000));
            hf_permits_give_all(owed);
        }
    });
    for (unsigned i = 0; i < takers; i++) {
        to.add_thread([=, operations = size.operations](int) {
            for (unsigned taken = 0; taken < operations; taken++) {
                hf_flexguard_lock(&shared->lock);
                while (shared->things == 0)
                    shared->wait();
                inside->enter(true);
                shared->things--;
                inside->leave(true);
                hf_flexguard_unlock(&shared->lock);
            }
        });
    }
}

// ---- reader-writer locks

void use_read_write_lock(simulation &to, const trial_size &size, bool writers_first) {
    auto *lock = static_cast<hf_rw_lock *>(locks_at(1, sizeof(hf_rw_lock)));
    auto inside = std::make_shared<room>();
    for (unsigned i = 0; i < size.threads; i++) {
        to.add_thread([=, operations = size.operations](int) {
            random_source &chance = now_running().chance();
            hf_thread_record *self = hf_self();
            for (unsigned done = 0; done < operations; done++) {
                between(chance);
                hf_deadline until = in_ns(chance.below(100'000));
                hf_deadline *deadline = chance.one_in(5) ? &until : nullptr;
                if (chance.one_in(2)) {
                    if (!hf_rw_write_try_acquire(lock, self) &&
                        (writers_first ? hf_rw_wait_to_write_first : hf_rw_wait_to_write)(lock, self, deadline) != 0)
                        continue;
                    inside->enter(true);
                    inside->leave(true);
                    hf_rw_write_release(lock, self);
                    continue;
                }
                int error = 0;
                if (writers_first) {
                    if (hf_rw_read_try_acquire(lock, self) != 0)
                        error = hf_rw_wait_behind_writers(lock, self, deadline);
                } else {
                    error = hf_rw_read_acquire(lock, self, deadline);
                }
                if (error)
                    continue;
                inside->enter(false);
                inside->leave(false);
                hf_rw_read_release(lock, self);
            }
        });
    }
}

void use_lock_for_readers(simulation &to, const trial_size &size) {
    use_read_write_lock(to, size, false);
}

void use_lock_for_writers(simulation &to, const trial_size &size) {
    use_read_write_lock(to, size, true);
}

void use_rwscl(simulation &to, const trial_size &size) {
    auto *lock = new (locks_at(1, sizeof(hf_rwscl_t))) hf_rwscl_t;
    hf_rwscl_init(lock);
    auto inside = std::make_shared<room>();
    for (unsigned i = 0; i < size.threads; i++) {
        to.add_thread([=, operations = size.operations](int number) {
            random_source &chance = now_running().chance();
            for (unsigned done = 0; done < operations; done++) {
                between(chance);
                if (number % 2 == 0) {
                    hf_rwscl_write_lock(lock);
                    inside->enter(true);
                    inside->leave(true);
                    hf_rwscl_write_unlock(lock);
                } else {
                    hf_rwscl_read_lock(lock);
                    inside->enter(false);
                    inside->leave(false);
                    hf_rwscl_read_unlock(lock);
                }
            }
        });
    }
}

// ---- barriers

void use_barrier(simulation &to, const trial_size &size) {
    auto *barrier = new (locks_at(1, sizeof(hf_barrier))) hf_barrier{};
    barrier->count = size.threads;
    auto arrived = std::make_shared<std::vector<unsigned>>(size.operations);
    for (unsigned i = 0; i < size.threads; i++) {
        to.add_thread([=, threads = size.threads, operations = size.operations](int) {
            for (unsigned round = 0; round < operations; round++) {
                between(now_running().chance());
                (*arrived)[round]++;
                hf_barrier_wait(barrier);
                if ((*arrived)[round] != threads)
                    now_running().stop("a thread has left a barrier before all had come");
            }
        });
    }
}

} // namespace

const std::vector<scenario> &scenarios() {
    static const std::vector<scenario> all = [] {
        std::vector<scenario> listed;
        auto add_locks = [&]<std::size_t... numbers>(std::index_sequence<numbers...>) {
            void (*use[])(simulation &, const trial_size &) = {use_listed_lock<numbers>...};
            for (std::size_t i = 0; i < hf_lock_kind_count && i < sizeof...(numbers); i++)
                listed.push_back({hf_lock_kinds[i].name, use[i]});
        };
        add_locks(std::make_index_sequence<16>());
        listed.push_back({"long_sections", use_lock_for_long});
        listed.push_back({"words", use_words});
        listed.push_back({"neighbours", use_neighbours});
        listed.push_back({"condition", use_condition});
        listed.push_back({"read_write", use_lock_for_readers});
        listed.push_back({"write_first", use_lock_for_writers});
        listed.push_back({"rwscl", use_rwscl});
        listed.push_back({"barrier", use_barrier});
        return listed;
    }();
    return all;
}

} // namespace holdfast::sim
