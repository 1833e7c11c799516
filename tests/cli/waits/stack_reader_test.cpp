// SPDX-License-Identifier: MIT OR Apache-2.0
// Which of the processes that were watched run still, and what the places of their threads are called.
#include "cli/waits/stack_reader.hpp"

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "cli/symbols/process_map.hpp"
#include "cli/symbols/process_stat.hpp"

namespace holdfast::cli {
namespace {

std::uint64_t tick_ns() {
    return static_cast<std::uint64_t>(1'000'000'000 / sysconf(_SC_CLK_TCK));
}

watched_process running(pid_t pid) {
    std::optional<process_stat> found = process_stat_of(pid);
    EXPECT_TRUE(found.has_value());
    return {.pid = pid, .started_ns = found ? found->started_ticks * tick_ns() + tick_ns() / 2 : 0};
}

TEST(has_ended, NotWhileItRuns) {
    EXPECT_FALSE(has_ended(running(getpid())));
    EXPECT_FALSE(has_ended(running(1)));
}

// Shown able to fail: has_ended that asks by kill(2) whether there is one of that number.
TEST(has_ended, WhenItsNumberIsAnothersByNow) {
    watched_process before = running(getpid());
    before.started_ns -= tick_ns();
    EXPECT_TRUE(has_ended(before));
}

void *outlive_main_thread(void *) {
    pause();
    return nullptr;
}

// Shown able to fail: process_stat_of that goes by the state alone, which is the main thread's.
TEST(has_ended, NotWithItsMainThread) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t other;
        pthread_create(&other, nullptr, outlive_main_thread, nullptr);
        syscall(SYS_exit, 0); // of this thread alone
    }
    watched_process process = running(child);
    auto state = [child] {
        std::ifstream file("/proc/" + std::to_string(child) + "/stat");
        std::string text{std::istreambuf_iterator<char>(file), {}};
        return text.at(text.rfind(')') + 2);
    };
    while (state() != 'Z')
        usleep(1000);
    EXPECT_FALSE(has_ended(process));
    kill(child, SIGKILL);
    siginfo_t how{};
    waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT);
    EXPECT_TRUE(has_ended(process)) << "a zombie";
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(has_ended(process)) << "gone";
}

// A program of the system's, at places of its own: it waits for a signal.
class sleeping_program {
public:
    explicit sleeping_program(const std::string &with_library = "") {
        pid_ = fork();
        if (pid_ == 0) {
            if (!with_library.empty())
                setenv("LD_PRELOAD", with_library.c_str(), 1);
            execlp("sleep", "sleep", "1000", nullptr);
            _exit(127);
        }
        while (!sleeps())
            usleep(1000);
    }
    ~sleeping_program() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    sleeping_program(const sleeping_program &) = delete;
    sleeping_program &operator=(const sleeping_program &) = delete;

    watched_process process() const { return running(pid_); }
    std::uint64_t begin_of_libc() const { return begin_of_libc(pid_); }
    static std::uint64_t begin_of_libc(pid_t of) { return begin_of("/libc.so.6", of); }
    std::uint64_t begin_of(const std::string &library) const { return begin_of(library, pid_); }

private:
    // 0: it has none of that name.
    static std::uint64_t begin_of(const std::string &library, pid_t in) {
        for (const mapping &each : mappings_of(in)) {
            if (each.path.find(library) != std::string::npos && each.offset == 0)
                return each.from;
        }
        return 0;
    }

    bool sleeps() const {
        std::ifstream file("/proc/" + std::to_string(pid_) + "/syscall");
        long number = 0;
        return file >> number && number == SYS_clock_nanosleep;
    }

    pid_t pid_;
};

// The innermost function of a thread that is at the address, with nothing on its stack.
std::string function_at(stack_reader &reader, const watched_process &process, std::uint64_t address) {
    hf_stack stack{};
    stack.known = (std::uint64_t{1} << 17) - 1; // all that x86-64 has, and most of arm64
    stack.instruction = address;
    const call_chain &chain = reader.chain(reader.read(process, stack));
    return chain.empty() ? "no chain" : chain.front().function;
}

// Shown able to fail: with one name for all places of a file.
TEST(stack_reader, NamesOfOneProcessAreThoseOfTheNext) {
    std::uint64_t own_libc = sleeping_program::begin_of_libc(getpid()); // the reader maps it once more
    if (!unwinder::why_not().empty() || own_libc == 0)
        GTEST_SKIP() << "stacks are not read, or not glibc's";
    auto offset_of = [own_libc](const char *name) {
        return reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, name)) - own_libc + 2;
    };
    stack_reader reader;
    for (int i = 0; i < 3; i++) {
        sleeping_program program;
        for (const char *name : {"qsort", "tmpfile"})
            EXPECT_EQ(function_at(reader, program.process(), program.begin_of_libc() + offset_of(name)), name);
        // Its own code has other names at the same places.
        std::uint64_t own = 0;
        for (const mapping &each : mappings_of(program.process().pid)) {
            if (own == 0 && each.executable && each.is_of_file())
                own = each.from;
        }
        std::string function = function_at(reader, program.process(), own + 0x800);
        EXPECT_TRUE(function.empty() || function.starts_with("sleep+0x")) << function;
    }
}

std::uint64_t offset_of(const char *library, const char *function) {
    void *loaded = dlopen(library, RTLD_NOW);
    Dl_info about{};
    void *place = loaded ? dlsym(loaded, function) : nullptr;
    EXPECT_TRUE(place && dladdr(place, &about)) << library;
    return place ? reinterpret_cast<std::uint64_t>(place) - reinterpret_cast<std::uint64_t>(about.dli_fbase) : 0;
}

// An update replaces a library: old processes have one, new ones the other, at one path. Shown able to fail: without
// the file in code_place's comparison.
TEST(stack_reader, NamesOfAFileAreNotThoseOfWhatReplacesIt) {
    if (!unwinder::why_not().empty())
        GTEST_SKIP() << "stacks are not read";
    std::uint64_t offset = offset_of(HF_FIRST_PLACE, "first_place");
    ASSERT_EQ(offset_of(HF_SECOND_PLACE, "second_place"), offset) << "libraries that differ in more than names";
    std::filesystem::path directory = testing::TempDir() + "stack_reader_test." + std::to_string(getpid());
    std::filesystem::path library = directory / "places.so", beside = directory / "beside.so";
    std::filesystem::create_directory(directory);
    stack_reader reader;
    std::vector<std::unique_ptr<sleeping_program>> programs;
    for (const auto &[file, name] : {std::pair(HF_FIRST_PLACE, "first_place"), {HF_SECOND_PLACE, "second_place"}}) {
        std::filesystem::copy_file(file, beside);
        std::filesystem::rename(beside, library);
        programs.push_back(std::make_unique<sleeping_program>(library));
        std::uint64_t begin = programs.back()->begin_of("/places.so");
        ASSERT_NE(begin, 0U);
        EXPECT_EQ(function_at(reader, programs.back()->process(), begin + offset + 1), name);
    }
    std::filesystem::remove_all(directory);
}

} // namespace
} // namespace holdfast::cli
