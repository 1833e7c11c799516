// SPDX-License-Identifier: MIT OR Apache-2.0
// The rename experiment (Patel et al., EuroSys '20, 5.6 and 5.7): two threads that rename between directories of one
// file system, and so want the same lock of the kernel's. The bully moves a file into and out of a directory with very
// many entries, which takes as long as the file system searches it; the victim moves one between empty directories.
//
// Prints for each thread how many renames it has made, what they took, and for how long it has held the lock, where the
// kernel says so (kernel/patches/0002): lines of a name and values.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "harness/command_line.hpp"
#include "harness/run_for.hpp"

namespace {

using steady = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string &what) {
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

void make_directory(const std::string &path) {
    if (mkdir(path.c_str(), 0755) != 0)
        fail("mkdir " + path);
}

void make_file(const std::string &path) {
    int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0)
        fail("open " + path);
    close(file);
}

// Entries, not files: links to a file, as many as ext2 allows, then to the next one.
void fill(const std::string &directory, unsigned entries) {
    constexpr unsigned links_max = 30000;
    std::string file;
    for (unsigned number = 0; number < entries; number++) {
        std::string name = fmt::format("{}/entry-{}", directory, number);
        if (number % links_max == 0)
            make_file(file = name);
        else if (link(file.c_str(), name.c_str()) != 0)
            fail("link " + name);
    }
}

// For how long the calling thread has held rename locks; none where the kernel does not say.
std::optional<std::uint64_t> held_ns() {
    std::ifstream status("/proc/thread-self/status");
    constexpr const char *key = "rename_lock_held_ns:";
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key))
            return std::stoull(line.substr(std::strlen(key)));
    return std::nullopt;
}

// One of the two, and what came of it.
struct renamer {
    std::string name;
    std::string here, there; // the file's two names
    std::vector<std::uint64_t> took_ns;
    std::optional<std::uint64_t> held;
    std::string failed;
};

void rename_until(renamer &self, const std::atomic<bool> &over) {
    const char *from = self.here.c_str(), *to = self.there.c_str();
    while (!over) {
        auto began = steady::now();
        if (rename(from, to) != 0) {
            self.failed = fmt::format("rename {} {}: {}", from, to, std::strerror(errno));
            return;
        }
        self.took_ns.push_back(static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(steady::now() - began).count()));
        std::swap(from, to);
    }
    self.held = held_ns();
}

void print(renamer &one, double seconds) {
    auto &took = one.took_ns;
    if (took.empty())
        throw std::runtime_error(one.name + " has renamed nothing: let it have more seconds");
    std::sort(took.begin(), took.end());
    fmt::print("{}.renames {}\n", one.name, took.size());
    fmt::print("{}.seconds {:.6f}\n", one.name, seconds);
    if (one.held)
        fmt::print("{}.held_seconds {:.6f}\n", one.name, static_cast<double>(*one.held) / 1e9);
    // The distribution in a thousand steps.
    fmt::print("{}.us", one.name);
    for (std::size_t step = 0; step <= 1000; step++)
        fmt::print(" {:.1f}", static_cast<double>(took[step * (took.size() - 1) / 1000]) / 1e3);
    fmt::print("\n");
}

void measure(const std::string &directory, unsigned entries, double seconds) {
    std::vector<renamer> both(2);
    for (std::size_t number = 0; number < 2; number++) {
        auto &one = both[number];
        one.name = number == 0 ? "bully" : "victim";
        std::string base = directory + "/" + one.name;
        make_directory(base + "-1");
        make_directory(base + "-2");
        one.here = base + "-1/file";
        one.there = base + "-2/file";
        make_file(one.here);
        one.took_ns.reserve(1 << 20);
    }
    fill(directory + "/bully-2", entries);

    std::vector<holdfast::bench::timed_body> bodies;
    for (auto &one : both)
        bodies.emplace_back([&one](const std::atomic<bool> &over) { rename_until(one, over); });
    double passed = holdfast::bench::run_for(seconds, bodies);
    for (auto &one : both) {
        if (!one.failed.empty())
            throw std::runtime_error(one.failed);
        print(one, passed);
    }
}

} // namespace

int main(int argc, char **argv) {
    std::string directory = ".";
    unsigned entries = 10000;
    double seconds = 5;
    CLI::App app{"two threads that rename between directories: one of them has very many entries", "rename-latency"};
    app.add_option("--directory", directory, "an empty directory of the file system to try")->capture_default_str();
    app.add_option("--entries", entries, "entries of the bully's directory")->capture_default_str();
    app.add_option("--seconds", seconds, "how long they rename")->check(CLI::PositiveNumber)->capture_default_str();
    if (auto status = holdfast::bench::parse(app, argc, argv))
        return *status;
    return holdfast::bench::run_checked(app.get_name(), [&] { measure(directory, entries, seconds); });
}
