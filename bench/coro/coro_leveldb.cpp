// SPDX-License-Identifier: MIT OR Apache-2.0
// LevelDB's readrandom by many tasks, with a cache of rows in front, under one lock: look the row up; if it is not
// there, read it from LevelDB, without the lock, and put it there. LevelDB's own mutex stays what it is: for that there
// is coro-leveldb-inside.
//
// `threads` is the same with a std::mutex and as many threads as there are tasks.
#include <fmt/core.h>
#include <mutex>

#include "coro/barging_mutex.hpp"
#include "coro/cell_main.hpp"
#include "coro/prime_work.hpp"
#include "coro/queuing_delay.hpp"
#include "coro/row_cache.hpp"
#include "coro/row_store.hpp"
#include "coro/scene.hpp"
#include "coro/thread_scene.hpp"
#include "holdfast/coro/mutex.hpp"
#include "holdfast/coro/spawn.hpp"
#include "programs/program.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::bench;
using coro::task;

struct shared_rows {
    explicit shared_rows(const cell_options &options) : cache(options.cached_rows) {}

    row_store store;
    alignas(HF_CACHE_LINE_BYTES) row_cache cache; // under the lock, with `delay`
    queuing_delay delay;
    alignas(HF_CACHE_LINE_BYTES) std::atomic<std::uint64_t> wrong = 0; // rows that were not what they must be
};

// What one task or thread does, but for the lock. Nine of ten reads go to a tenth of the rows.
class reader {
public:
    reader(shared_rows &of, unsigned number) : of_(of), random_(number + 1) {}

    // Then the lock is to be taken for look_up().
    void choose() {
        std::uint64_t number = random_.next();
        bool hot = number % 10 != 0;
        key_ = row_store::key_of(number / 10 % (hot ? row_store::rows / 10 : row_store::rows));
        requested_ = hf_ticks();
    }
    // Under the lock. If it does not find the row: fetch() without it, keep() with it.
    void look_up(bool noted) {
        of_.delay.entered(requested_, noted);
        found_ = of_.cache.find(key_, value_);
        of_.delay.left();
    }
    bool found() const noexcept { return found_; }
    void fetch() {
        if (!of_.store.get(key_, value_))
            of_.wrong.fetch_add(1, std::memory_order_relaxed);
        requested_ = hf_ticks();
    }
    void keep(bool noted) {
        of_.delay.entered(requested_, noted);
        of_.cache.insert(key_, value_);
        of_.delay.left();
    }
    void end_read() {
        if (!value_.starts_with(key_))
            of_.wrong.fetch_add(1, std::memory_order_relaxed);
        reads_++;
    }
    std::uint64_t reads() const noexcept { return reads_; }

private:
    shared_rows &of_;
    random_numbers random_;
    std::string key_, value_;
    std::uint64_t requested_ = 0, reads_ = 0;
    bool found_ = false;
};

// How each kind of lock is used: a coroutine that reads until the end.
template <class Mutex>
task<> lock_and_unlock(Mutex &mutex, scene &at, reader own) {
    while (!at.over()) {
        own.choose();
        co_await mutex.lock();
        own.look_up(at.measuring());
        co_await mutex.unlock();
        if (!own.found()) {
            own.fetch();
            co_await mutex.lock();
            own.keep(at.measuring());
            co_await mutex.unlock();
        }
        own.end_read();
        at.count();
    }
    at.ended(own.reads());
}

task<> run_with(coro::mutex &mutex, scene &at, reader own) {
    while (!at.over()) {
        own.choose();
        co_await mutex.with([&] { own.look_up(at.measuring()); });
        if (!own.found()) {
            own.fetch();
            co_await mutex.with([&] { own.keep(at.measuring()); });
        }
        own.end_read();
        at.count();
    }
    at.ended(own.reads());
}

task<> barge(barging_mutex &mutex, scene &at, reader own) {
    while (!at.over()) {
        own.choose();
        while (!mutex.try_lock())
            co_await mutex.changed();
        own.look_up(at.measuring());
        mutex.unlock();
        if (!own.found()) {
            own.fetch();
            while (!mutex.try_lock())
                co_await mutex.changed();
            own.keep(at.measuring());
            mutex.unlock();
        }
        own.end_read();
        at.count();
    }
    at.ended(own.reads());
}

void check(const shared_rows &rows, std::uint64_t reads) {
    if (std::uint64_t wrong = rows.wrong.load(); wrong > 0)
        throw result_wrong(fmt::format("{} of {} rows were not what was written: two tasks were inside at once, or "
                                       "LevelDB can't read",
                                       wrong, reads));
    if (rows.cache.lookups() != reads)
        throw result_wrong(fmt::format("there were {} lookups for {} reads: two tasks were inside at once",
                                       rows.cache.lookups(), reads));
}

template <class Mutex>
cell_result measure(const cell_options &options, Mutex &mutex, task<> (*work)(Mutex &, scene &, reader)) {
    shared_rows rows(options);
    scene at(options);
    cell_result result = at.run([&](coro::pool &pool) {
        for (unsigned i = 0; i < options.tasks; i++)
            coro::spawn(pool, work(mutex, at, reader(rows, i)));
    });
    check(rows, at.operations());
    result.delay_ticks = rows.delay.ticks();
    return result;
}

template <class Mutex>
cell_result measure_lock(const cell_options &options) {
    Mutex mutex{coro::mutex_options{options.spins}};
    return measure<Mutex>(options, mutex, lock_and_unlock<Mutex>);
}

cell_result measure_with(const cell_options &options) {
    coro::mutex mutex{coro::mutex_options{options.spins}};
    return measure<coro::mutex>(options, mutex, run_with);
}

cell_result measure_barging(const cell_options &options) {
    barging_mutex mutex;
    return measure<barging_mutex>(options, mutex, barge);
}

// A thread that reads until the stop. Reads.
std::uint64_t read_by_thread(std::mutex &mutex, reader own, const stop_sign &stop, bool noted) {
    while (!stop.is_set()) {
        own.choose();
        {
            std::lock_guard held(mutex);
            own.look_up(noted);
        }
        if (!own.found()) {
            own.fetch();
            std::lock_guard held(mutex);
            own.keep(noted);
        }
        own.end_read();
    }
    return own.reads();
}

cell_result measure_threads(const cell_options &options) {
    shared_rows rows(options);
    std::mutex mutex;
    auto [result, reads] = run_threads(options, [&](unsigned number, const stop_sign &stop, bool noted) {
        return read_by_thread(mutex, reader(rows, number), stop, noted);
    });
    check(rows, reads);
    result.delay_ticks = rows.delay.ticks();
    return result;
}

} // namespace

int main(int argc, char **argv) {
    cell_options defaults;
    defaults.tasks = 64;
    return coro_workload_main(argc, argv, "coro-leveldb",
                              {{"ces", measure_lock<coro::mutex>},
                               {"with", measure_with},
                               {"dispatch", measure_lock<coro::dispatch_mutex>},
                               {"inline", measure_lock<coro::inline_mutex>},
                               {"barging", measure_barging},
                               {"threads", measure_threads}},
                              defaults);
}
