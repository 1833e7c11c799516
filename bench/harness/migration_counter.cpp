// SPDX-License-Identifier: MIT OR Apache-2.0
#include "harness/migration_counter.hpp"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace holdfast::bench {
namespace {

// "se.nr_migrations                             :                   12"
std::optional<double> migrations_in(std::string_view sched) {
    std::size_t name = sched.find("nr_migrations");
    std::size_t colon = name == std::string_view::npos ? name : sched.find(':', name);
    std::size_t number = colon == std::string_view::npos ? colon : sched.find_first_not_of(' ', colon + 1);
    std::uint64_t value = 0;
    if (number == std::string_view::npos ||
        std::from_chars(sched.data() + number, sched.data() + sched.size(), value).ec != std::errc{})
        return std::nullopt;
    return static_cast<double>(value);
}

std::optional<double> sum_of(const thread_files &counts) {
    std::optional<double> sum;
    if (counts.size() > 0)
        sum = 0;
    counts.read_all([&](std::string_view sched) {
        std::optional<double> one = migrations_in(sched);
        sum = sum && one ? std::optional(*sum + *one) : std::nullopt;
    });
    return sum;
}

} // namespace

std::vector<pid_t> threads_of_process() {
    std::vector<pid_t> threads;
    std::error_code none;
    for (const auto &thread : std::filesystem::directory_iterator("/proc/self/task", none))
        threads.push_back(std::stoi(thread.path().filename()));
    return threads;
}

std::optional<double> migrations_of_this_thread() {
    return sum_of(thread_files({gettid()}, "sched"));
}

migration_counter::migration_counter(const std::vector<pid_t> &threads)
    : counts_(threads, "sched"), before_(sum_of(counts_)) {}

std::optional<double> migration_counter::until_now() const {
    std::optional<double> now = sum_of(counts_);
    return before_ && now ? std::optional(*now - *before_) : std::nullopt;
}

} // namespace holdfast::bench
