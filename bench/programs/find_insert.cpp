// SPDX-License-Identifier: MIT OR Apache-2.0
// An ordered store under one mutex, half of the threads finding, half inserting, after the UpScaleDB runs of Patel et
// al., EuroSys '20, section 5.5. To find takes less than a microsecond, to insert several times as long: under a plain
// mutex the threads that insert get most of its time, and those that find starve.
#include <atomic>
#include <pthread.h>
#include <sys/resource.h>

#include "programs/ordered_store.hpp"
#include "programs/program.hpp"

// Not in a namespace: its name is a place for `--conf mutex@store_mutex:LOCK`.
pthread_mutex_t store_mutex = PTHREAD_MUTEX_INITIALIZER;

namespace {

using namespace holdfast::bench;

struct store_options {
    std::uint64_t keys = 100'000;
    unsigned inserting_percent = 50;
    unsigned find_nice = 0;
};

class held {
public:
    held() { pthread_mutex_lock(&store_mutex); }
    ~held() { pthread_mutex_unlock(&store_mutex); }
    held(const held &) = delete;
    held &operator=(const held &) = delete;
};

// Keys that are there from the beginning are found by their number; the ones inserted are never looked for.
std::uint64_t key_of(std::uint64_t number) {
    return random_numbers(number + 1).next() | 1;
}

record record_of(std::uint64_t key) {
    record made;
    for (std::size_t i = 0; i < made.words.size(); i++)
        made.words[i] = key * (i + 1);
    return made;
}

void check(std::uint64_t key, const record &found) {
    for (std::size_t i = 0; i < found.words.size(); i++)
        expect(found.words[i] == key * (i + 1), "a record has been damaged");
}

std::uint64_t find_until(const stop_sign &stop, const ordered_store &store, const store_options &wanted,
                         random_numbers &random) {
    std::uint64_t done = 0;
    for (; !stop.is_set(); done++) {
        std::uint64_t key = key_of(random.next() % wanted.keys);
        record copy;
        {
            held here;
            const record *found = store.find(key);
            expect(found, "a key has gone");
            copy = *found;
        }
        check(key, copy);
    }
    return done;
}

// Even keys are new ones.
std::uint64_t insert_until(const stop_sign &stop, ordered_store &store, random_numbers &random) {
    std::uint64_t done = 0;
    while (!stop.is_set()) {
        std::uint64_t key = random.next() & ~std::uint64_t{1};
        record made = record_of(key);
        held here;
        done += store.insert(key, made);
    }
    return done;
}

void check_all(const ordered_store &store, std::uint64_t records) {
    std::uint64_t count = 0, before = 0;
    store.visit_all([&](std::uint64_t key, const record &found) {
        expect(count == 0 || key > before, "the keys are out of order");
        check(key, found);
        before = key;
        count++;
    });
    expect(count == records, "the store has lost insertions");
}

std::vector<figure> run(const program_options &options, const store_options &wanted) {
    ordered_store store;
    std::uint64_t records = 0;
    for (std::uint64_t number = 0; number < wanted.keys; number++)
        records += store.insert(key_of(number), record_of(key_of(number)));
    std::atomic<std::uint64_t> finds = 0, insertions = 0;
    unsigned inserting = options.threads * wanted.inserting_percent / 100;
    timed_run done = run_until_stopped(options, [&](unsigned thread, const stop_sign &stop) {
        random_numbers random(thread + 1'000'000'007u);
        bool inserts = thread < inserting;
        if (!inserts && wanted.find_nice > 0)
            setpriority(PRIO_PROCESS, 0, static_cast<int>(wanted.find_nice)); // of this thread
        std::uint64_t operations =
            inserts ? insert_until(stop, store, random) : find_until(stop, store, wanted, random);
        (inserts ? insertions : finds) += operations;
        return operations;
    });
    check_all(store, records + insertions);
    return {{"find", static_cast<double>(finds) / done.elapsed_s},
            {"insert", static_cast<double>(insertions) / done.elapsed_s}};
}

} // namespace

int main(int argc, char **argv) {
    store_options wanted;
    program what{.name = "find-insert",
                 .summary = "An ordered store under one mutex: threads that find and threads that insert.",
                 .options = {{"--keys", wanted.keys, 1, 10'000'000, "Number of keys that are there from the beginning"},
                             {"--inserting", wanted.inserting_percent, 0, 100, "Percent of the threads that insert"},
                             {"--find-nice", wanted.find_nice, 0, 19, "Nice value of the threads that find"}},
                 .run = [&wanted](const program_options &options) { return run(options, wanted); }};
    return program_main(argc, argv, what);
}
