// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/live_view.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <exception>
#include <fmt/chrono.h>
#include <fmt/core.h>

#include "base/clock.h"
#include "cli/common/exit_status.hpp"
#include "cli/common/output_file.hpp"
#include "cli/top/browser.hpp"
#include "cli/top/plain_report.hpp"
#include "cli/top/terminal.hpp"

namespace holdfast::cli::top {
namespace {

// The first look tells nothing before there is a second one: it comes soon.
constexpr double first_delay_s = 0.5;

std::uint64_t after(std::uint64_t ns, double delay_s) {
    return ns + static_cast<std::uint64_t>(delay_s * 1e9);
}

int ms_until(std::uint64_t ns) {
    std::uint64_t now = hf_monotonic_ns();
    return now >= ns ? 0 : static_cast<int>((ns - now) / 1'000'000 + 1);
}

std::string clock_now() {
    return fmt::format("{:%H:%M:%S}", fmt::localtime(std::time(nullptr)));
}

std::string save(const browser &view, const std::string &name) {
    if (!view.shown())
        return "there is nothing to write yet";
    try {
        constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;
        output_file(name).write(json_of(*view.shown(), view.order()).dump(2, ' ', false, replace) + "\n");
    } catch (const std::exception &error) {
        return error.what();
    }
    return "written to " + name;
}

} // namespace

void show_live(const observer::plan &what, const ranking &how, double delay_s) {
    terminal screen;
    browser view(how, delay_s);
    screen.draw(view.draw(screen.size(), clock_now()));
    observer eyes(what);
    look before = eyes.take();
    std::uint64_t next_ns = after(before.at_ns, std::min(delay_s, first_delay_s));
    for (;;) {
        screen.draw(view.draw(screen.size(), clock_now()));
        terminal::event event = screen.wait(view.paused() ? -1 : ms_until(next_ns));
        if (event.gone)
            return;
        double delay_before_s = view.delay_s();
        outcome wanted = event.pressed ? view.press(*event.pressed) : outcome();
        if (wanted.quit)
            return;
        if (wanted.save_to)
            view.say(save(view, *wanted.save_to));
        if (view.delay_s() != delay_before_s)
            next_ns = std::min(next_ns, after(hf_monotonic_ns(), view.delay_s()));
        if (view.paused() || hf_monotonic_ns() < next_ns)
            continue;
        look now = eyes.take();
        view.show(between(before, now));
        before = std::move(now);
        next_ns = after(before.at_ns, view.delay_s());
    }
}

} // namespace holdfast::cli::top
