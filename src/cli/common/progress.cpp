// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/common/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/common/say.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli {
namespace {

bool is_terminal() {
    const char *kind = std::getenv("TERM");
    return isatty(STDERR_FILENO) && (!kind || std::strcmp(kind, "dumb") != 0);
}

std::size_t terminal_columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(std::size_t done, std::size_t steps) {
    constexpr std::size_t width = 24;
    std::size_t filled = steps ? width * done / steps : width;
    return std::string(filled, '#') + std::string(width - filled, '.');
}

} // namespace

progress::progress(std::size_t steps) : visible_(is_terminal()), steps_(steps) {}

progress::~progress() {
    clear();
}

void progress::clear() const {
    if (visible_)
        say("\r\x1b[K");
}

void progress::begin(const std::string &label) {
    label_ = label;
    draw();
}

void progress::end() {
    done_ = std::min(done_ + 1, steps_);
    draw();
}

void progress::draw() const {
    if (!visible_)
        return;
    std::string left;
    if (done_ > 0) {
        double spent_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
        left =
            ", " + format_minutes(spent_s / static_cast<double>(done_) * static_cast<double>(steps_ - done_)) + " left";
    }
    std::string line = fmt::format("[{}] {}/{}{}  {}", bar(done_, steps_), done_, steps_, left, label_);
    line.resize(std::min(line.size(), terminal_columns() - 1)); // a line that wraps can't be taken back
    say("\r\x1b[K{}", line);
    std::fflush(stderr);
}

} // namespace holdfast::cli
