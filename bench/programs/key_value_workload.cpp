// SPDX-License-Identifier: MIT OR Apache-2.0
#include "programs/key_value_workload.hpp"

#include <atomic>
#include <fmt/core.h>

#include "programs/program.hpp"
#include "programs/scratch_directory.hpp"

namespace holdfast::bench {
namespace {

constexpr std::size_t value_bytes = 100;
constexpr std::size_t seal_bytes =
    8; // that follow the key, and end the value: so a reader sees two halves of two values
constexpr std::size_t value_pool_bytes = 1 << 20;
constexpr std::uint64_t count_max = 1'000'000'000'000;

struct key_value_options {
    std::uint64_t ops = 0; // 0: for program_options::seconds
    std::uint64_t keys = 100000;
    unsigned writers = 0; // 0: first all write, then all read
    std::string directory = std::filesystem::temp_directory_path();
};

std::string make_value_pool() {
    std::string values(value_pool_bytes, ' ');
    random_numbers random(1);
    for (char &c : values)
        c = static_cast<char>(' ' + random.next() % 95);
    return values;
}

// Operations of one thread.
class client {
public:
    client(key_value_store &store, std::uint64_t keys, const std::string &pool, unsigned thread)
        : store_(store), keys_(keys), pool_(pool), random_(thread + 1) {}

    void write() {
        choose_key();
        value_.assign(key_);
        value_.append(pool_, random_.next() % (pool_.size() - value_bytes), value_bytes - key_.size());
        value_.replace(value_bytes - seal_bytes, seal_bytes, value_, key_.size(), seal_bytes);
        store_.put(key_, value_);
    }

    void read() {
        choose_key();
        if (store_.get(key_, value_))
            check_value();
    }

    // Another thread may have written it again since.
    void read_back() {
        expect(store_.get(key_, value_), "what was written last has gone");
        check_value();
    }

private:
    void check_value() const {
        expect(value_.size() == value_bytes && value_.starts_with(key_), "a key has another key's value");
        std::string_view value = value_;
        expect(value.substr(key_.size(), seal_bytes) == value.substr(value_bytes - seal_bytes),
               "a value was read in two halves");
    }

    void choose_key() { key_ = fmt::format("{:016}", random_.next() % keys_); }

    key_value_store &store_;
    std::uint64_t keys_;
    const std::string &pool_;
    random_numbers random_;
    std::string key_;
    std::string value_;
};

class phases {
public:
    phases(key_value_store &store, const program_options &options, const key_value_options &more)
        : store_(store), options_(options), more_(more) {}

    // Operations a second.
    double run(void (client::*operation)()) const {
        if (more_.ops == 0)
            return run_until_stopped(options_,
                                     [&](unsigned thread, const stop_sign &stop) {
                                         client one(store_, more_.keys, pool_, thread);
                                         std::uint64_t done = 0;
                                         for (; !stop.is_set(); done++)
                                             (one.*operation)();
                                         return done;
                                     })
                .operations_a_second();
        double took_s = run_threads(options_.threads, [&](unsigned thread) {
            client one(store_, more_.keys, pool_, thread);
            std::uint64_t share = more_.ops / options_.threads + (thread < more_.ops % options_.threads);
            for (std::uint64_t done = 0; done < share; done++)
                (one.*operation)();
        });
        return static_cast<double>(more_.ops) / took_s;
    }

    // Some write while the others read, for program_options::seconds.
    std::vector<figure> run_mixed() const {
        std::atomic<std::uint64_t> reads = 0, writes = 0;
        timed_run done = run_until_stopped(options_, [&](unsigned thread, const stop_sign &stop) {
            client one(store_, more_.keys, pool_, thread);
            bool is_writer = thread < more_.writers;
            std::uint64_t operations = 0;
            for (; !stop.is_set(); operations++)
                is_writer ? one.write() : one.read();
            if (is_writer && operations > 0)
                one.read_back();
            (is_writer ? writes : reads) += operations;
            return operations;
        });
        return {{"read", static_cast<double>(reads) / done.elapsed_s},
                {"write", static_cast<double>(writes) / done.elapsed_s}};
    }

private:
    key_value_store &store_;
    const program_options &options_;
    const key_value_options &more_;
    std::string pool_ = make_value_pool();
};

} // namespace

int key_value_main(int argc, char **argv, const char *name, const char *summary,
                   const std::function<std::unique_ptr<key_value_store>(const std::filesystem::path &)> &open,
                   const std::vector<option> &further) {
    key_value_options more;
    program what{
        .name = name,
        .summary = summary,
        .options = {{"--ops", more.ops, 0, count_max, "Operations in a phase, of all threads, in place of --seconds"},
                    {"--keys", more.keys, 1, count_max, "Number of different keys"},
                    {"--writers", more.writers, 0, 10000,
                     "Threads that write while the others read; 0: all write, then all read"},
                    {"--directory", more.directory, {}, "Where to put the store; it is removed at the end"}},
        .run = [&](const program_options &options) -> std::vector<figure> {
            scratch_directory scratch(more.directory);
            std::unique_ptr<key_value_store> store = open(scratch.path() / "db");
            phases both(*store, options, more);
            double filled = both.run(&client::write);
            store->settle();
            if (more.writers == 0)
                return {{"fillrandom", filled}, {"readrandom", both.run(&client::read)}};
            std::vector<figure> figures = both.run_mixed();
            figures.insert(figures.begin(), {"fillrandom", filled});
            return figures;
        }};
    what.options.insert(what.options.end(), further.begin(), further.end());
    return program_main(argc, argv, what);
}

} // namespace holdfast::bench
