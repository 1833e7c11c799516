// SPDX-License-Identifier: MIT OR Apache-2.0
#include "programs/scratch_directory.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <string>
#include <system_error>
#include <thread>

namespace holdfast::bench {
namespace {

namespace fs = std::filesystem;

// Other threads may still create files in it while it is being removed. Once it is gone they can't.
void remove_for_good(const fs::path &path) {
    std::error_code error;
    for (int attempt = 0; attempt < 100 && fs::exists(path, error); attempt++)
        fs::remove_all(path, error);
}

[[noreturn]] void end_by(int signal) {
    std::signal(signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    std::raise(signal);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    std::_Exit(128 + signal);
}

sigset_t block_ending_signals() {
    sigset_t ending;
    sigemptyset(&ending);
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
        sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    return ending;
}

} // namespace

scratch_directory::scratch_directory(const fs::path &parent) {
    sigset_t ending = block_ending_signals();
    std::string pattern = (parent / "holdfast-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
        throw std::system_error(errno, std::generic_category(), "can't make a directory in " + parent.string());
    path_ = pattern;
    std::thread([ending, path = path_] {
        int signal = 0;
        sigwait(&ending, &signal);
        remove_for_good(path);
        end_by(signal);
    }).detach();
}

scratch_directory::~scratch_directory() {
    remove_for_good(path_);
}

} // namespace holdfast::bench
