// SPDX-License-Identifier: MIT OR Apache-2.0
// The rename experiment (Patel et al., EuroSys '20, 5.6 and 5.7): two threads that rename between directories of one
// file system, and so want the same lock of the kernel's. The bully moves a file into and out of a directory with very
// many entries, which takes as long as the file system searches it; the victim moves one between empty directories.
//
// The directories are bully-1, bully-2, victim-1 and victim-2; those that are not there are made. bully-2 is the large
// one: ext2_image.py makes it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "harness/command_line.hpp"
#include "kernel_locks/bully_and_victim.hpp"

namespace {

using holdfast::bench::contender;
using holdfast::bench::fail;

void make_directory(const std::string &path) {
    if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
        fail("mkdir " + path);
}

void make_file(const std::string &path) {
    int file = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0)
        fail("open " + path);
    close(file);
}

contender renamer(const std::string &directory, const std::string &name) {
    std::string one = directory + "/" + name + "-1", other = directory + "/" + name + "-2";
    make_directory(one);
    make_directory(other);
    make_file(one + "/file");
    return {.name = name, .call = [from = one + "/file", to = other + "/file"]() mutable {
                bool renamed = rename(from.c_str(), to.c_str()) == 0;
                std::swap(from, to);
                return renamed;
            }};
}

void measure(const std::string &directory, double seconds) {
    std::array<contender, 2> both{renamer(directory, "bully"), renamer(directory, "victim")};
    holdfast::bench::measure(both, "rename_lock", seconds);
}

} // namespace

int main(int argc, char **argv) {
    std::string directory = ".";
    double seconds = 5;
    holdfast::bench::command_line line{
        .name = "rename-latency",
        .summary = "Two threads that rename between directories: one of them has very many entries.",
        .options = {{"--directory", directory, {}, "Where the directories are, or are to be"},
                    {"--seconds", seconds, 0.001, 86400, "How long they rename"}},
    };
    if (auto status = parse(line, argc, argv))
        return *status;
    return holdfast::bench::run_checked(line.name, [&] { measure(directory, seconds); });
}
