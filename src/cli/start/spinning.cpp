// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/spinning.hpp"

#include "cli/common/say_count.hpp"

namespace holdfast::cli {

void say_why_spinning_is_not_detected(const std::string &why) {
    say("holdfast: no thread that spins is made to yield: {}\n", why);
}

std::unique_ptr<spin_watch> watch_spinning(spin_watch::detector_comes when) {
    try {
        return std::make_unique<spin_watch>(when, say_why_spinning_is_not_detected);
    } catch (const spin_watch_unavailable &unavailable) {
        say_why_spinning_is_not_detected(unavailable.what());
        return nullptr;
    }
}

void print_spinning(const spin_totals &totals) {
    say("holdfast: busy-waiting detection by sampling\n");
    say_count("samples", totals.samples);
    say_count("samples while others waited", totals.contested);
    say_count("instructions of wait loops", totals.loops);
    say_count("spinning detected", totals.detections);
    say_count("yields asked for", totals.yields);
    say_count("yields in vain", totals.in_vain);
    say_count("yields not possible", totals.unreachable);
}

} // namespace holdfast::cli
