// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/start/background_load.hpp"

#include "cli/common/exit_status.hpp"
#include "cli/common/install.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli {
namespace {

constexpr std::chrono::seconds patience{30};

} // namespace

background_load::background_load(unsigned threads, const interruption &interrupted) {
    if (threads == 0)
        return;
    process_.emplace(program{{workload_program("background-load").string(), "--threads", std::to_string(threads)}});
    if (process_->wait_for_output(patience, interrupted))
        return;
    runs_ = false;
    if (interrupted.requested())
        return;
    process_end end = process_->wait(std::chrono::seconds(0), nullptr);
    throw failure("can't run the background load: " + last_line(end.errors));
}

std::string background_phrase(unsigned threads) {
    if (threads == 0)
        return "";
    return "; " + format_number_of(threads, "busy thread") + " of another process";
}

} // namespace holdfast::cli
