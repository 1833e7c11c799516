// SPDX-License-Identifier: MIT OR Apache-2.0
#include "pattern.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

using steady = std::chrono::steady_clock;

static pattern *all;

pattern::pattern(const char *name_, pattern_function run_) : name(name_), run(run_), next(all) {
    all = this;
}

void check(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "patterns: wrong: %s\n", what);
    _exit(3);
}

void work(double us) {
    constexpr double turns_in_us = 650;
    std::uint64_t value = 1;
    for (std::uint64_t left = static_cast<std::uint64_t>(us * turns_in_us); left > 0; left--) {
        value = value * 6364136223846793005u + left;
        asm volatile("" : "+r"(value));
    }
}

double team(int threads, double seconds, const std::function<std::uint64_t(int thread)> &body,
            const std::function<void()> &at_stop) {
    std::vector<std::uint64_t> done(static_cast<std::size_t>(threads));
    std::vector<std::thread> members;
    for (int thread = 0; thread < threads; thread++)
        members.emplace_back([&, thread] { done[static_cast<std::size_t>(thread)] = body(thread); });
    std::this_thread::sleep_until(steady::now() + std::chrono::duration<double>(seconds));
    stop = true;
    at_stop();
    double sum = 0;
    for (std::thread &member : members)
        member.join();
    for (std::uint64_t one : done)
        sum += static_cast<double>(one);
    return sum;
}

double rounds(double seconds, const std::function<std::uint64_t()> &round) {
    double sum = 0;
    auto end = steady::now() + std::chrono::duration<double>(seconds);
    while (steady::now() < end)
        sum += static_cast<double>(round());
    return sum;
}

int main(int count, char **words) {
    const pattern *found = all;
    while (found && (count != 4 || strcmp(found->name, words[1]) != 0))
        found = found->next;
    if (!found) {
        fprintf(stderr, "usage: patterns NAME THREADS SECONDS\n");
        for (found = all; found; found = found->next)
            fprintf(stderr, "  %s\n", found->name);
        return 2;
    }
    auto began = steady::now();
    double done = found->run({atoi(words[2]), atof(words[3])});
    printf("ops/s: %.0f\n", done / std::chrono::duration<double>(steady::now() - began).count());
}
