// SPDX-License-Identifier: MIT OR Apache-2.0
// LevelDB as it comes, filled and read at random by many threads: the program that `./dev demo` compares locks with.
// It is not linked with Holdfast; every lock in it is libleveldb's own std::mutex.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fmt/core.h>
#include <latch>
#include <leveldb/db.h>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/number_range.hpp"
#include "scratch_directory.hpp"

namespace {

using holdfast::cli::from_to;
using clock_type = std::chrono::steady_clock;

constexpr std::size_t value_bytes = 100; // key and value sizes are db_bench's
constexpr std::size_t value_pool_bytes = 1 << 20;
constexpr std::uint64_t count_max = 1'000'000'000'000;

struct workload_options {
    unsigned threads = 1;
    double seconds = 1;
    std::uint64_t ops = 0; // 0: for `seconds`
    std::uint64_t keys = 100000;
    std::string directory = std::filesystem::temp_directory_path();
};

void check(const leveldb::Status &status, const std::string &what) {
    if (!status.ok())
        throw std::runtime_error(what + ": " + status.ToString());
}

// Operations of one thread: a database, and randomness of its own.
class client {
public:
    client(leveldb::DB &database, const workload_options &options, const std::string &values, unsigned thread)
        : database_(database), keys_(0, options.keys - 1), values_(values), random_(thread + 1) {}

    void write() {
        std::size_t from = random_() % (values_.size() - value_bytes);
        check(database_.Put({}, next_key(), leveldb::Slice(values_.data() + from, value_bytes)), "can't write");
    }

    void read() {
        leveldb::Status status = database_.Get({}, next_key(), &value_);
        if (!status.IsNotFound())
            check(status, "can't read");
    }

private:
    std::string next_key() { return fmt::format("{:016}", keys_(random_)); }

    leveldb::DB &database_;
    std::uniform_int_distribution<std::uint64_t> keys_;
    const std::string &values_;
    std::mt19937_64 random_;
    std::string value_;
};

std::string make_values() {
    std::string values(value_pool_bytes, ' ');
    std::mt19937 random(1);
    for (char &c : values)
        c = static_cast<char>(' ' + random() % 95);
    return values;
}

// All threads repeat one operation of their client's, together, for the time or the number asked for.
class phase {
public:
    phase(const workload_options &options, void (client::*operation)())
        : options_(options), operation_(operation), ready_(options.threads) {}

    // Operations a second.
    double run(leveldb::DB &database, const std::string &values) {
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < options_.threads; i++)
            threads.emplace_back([&, i] { work(client(database, options_, values, i), share_of(i)); });
        ready_.wait();
        auto started = clock_type::now();
        start_.count_down();
        clock_type::time_point stopped;
        if (options_.ops == 0) {
            std::this_thread::sleep_until(started + std::chrono::duration<double>(options_.seconds));
            stopped = clock_type::now();
            stop_ = true;
        }
        for (auto &thread : threads)
            thread.join();
        if (options_.ops != 0)
            stopped = clock_type::now();
        if (trouble_)
            std::rethrow_exception(trouble_);
        return static_cast<double>(done_) / std::chrono::duration<double>(stopped - started).count();
    }

private:
    std::uint64_t share_of(unsigned thread) const {
        if (options_.ops == 0)
            return UINT64_MAX;
        return options_.ops / options_.threads + (thread < options_.ops % options_.threads);
    }

    void work(client one, std::uint64_t share) {
        ready_.count_down();
        start_.wait();
        std::uint64_t done = 0;
        try {
            while (done < share) {
                (one.*operation_)();
                if (stop_.load(std::memory_order_relaxed))
                    break;
                done++;
            }
        } catch (...) {
            if (!failed_.exchange(true))
                trouble_ = std::current_exception(); // read after the threads have been joined
        }
        done_ += done;
    }

    const workload_options &options_;
    void (client::*operation_)();
    std::latch ready_;
    std::latch start_{1};
    std::atomic<bool> stop_ = false;
    std::atomic<std::uint64_t> done_ = 0;
    std::atomic<bool> failed_ = false;
    std::exception_ptr trouble_;
};

void run(const workload_options &options) {
    holdfast::bench::scratch_directory scratch(options.directory);
    leveldb::Options settings;
    settings.create_if_missing = true;
    leveldb::DB *opened = nullptr;
    check(leveldb::DB::Open(settings, (scratch.path() / "db").string(), &opened), "can't open a database");
    std::unique_ptr<leveldb::DB> database(opened);
    std::string values = make_values();

    fmt::print("fillrandom : {:.0f} ops/s\n", phase(options, &client::write).run(*database, values));
    std::fflush(stdout);
    // Reads begin from the same state each time, not from wherever background compaction happens to be.
    database->CompactRange(nullptr, nullptr);
    fmt::print("readrandom : {:.0f} ops/s\n", phase(options, &client::read).run(*database, values));
}

} // namespace

int main(int argc, char **argv) {
    CLI::App app{"LevelDB: fills a database with random keys, then reads random keys, with many threads.", "leveldb"};
    app.footer("Prints the operations per second of both phases. The database is removed at the end.\n"
               "Example: holdfast compare --metric 'readrandom : ([0-9]+)' -- leveldb --threads 16");
    workload_options options;
    app.add_option("--threads", options.threads, "Number of threads")
        ->check(from_to(1u, 10000u))
        ->capture_default_str();
    CLI::Option *seconds = app.add_option("--seconds", options.seconds, "How long each phase lasts")
                               ->check(from_to(0.001, 86400.0))
                               ->capture_default_str();
    app.add_option("--ops", options.ops, "Operations in each phase, of all threads together, instead of --seconds")
        ->check(from_to(std::uint64_t{1}, count_max))
        ->excludes(seconds);
    app.add_option("--keys", options.keys, "Number of different keys")
        ->check(from_to(std::uint64_t{1}, count_max))
        ->capture_default_str();
    app.add_option("--directory", options.directory, "Where to put the database")->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        if (error.get_exit_code() == 0)
            return app.exit(error);
        fmt::print(stderr, "leveldb: {}\n", error.what());
        return 2;
    }
    try {
        run(options);
        return 0;
    } catch (const std::exception &error) {
        fmt::print(stderr, "leveldb: {}\n", error.what());
        return 1;
    }
}
