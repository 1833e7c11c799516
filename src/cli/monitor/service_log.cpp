// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/monitor/service_log.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/say.hpp"

namespace holdfast::cli {
namespace {

constexpr std::array names = {"error", "warning", "info", "debug"};
constexpr std::array priorities = {3, 4, 6, 7}; // syslog's

// systemd.exec(5): the journal's stream is named, for those whose standard error is still that.
bool journal_reads_standard_error() {
    const char *named = std::getenv("JOURNAL_STREAM");
    struct stat about {};
    return named && fstat(STDERR_FILENO, &about) == 0 && named == fmt::format("{}:{}", about.st_dev, about.st_ino);
}

} // namespace

service_log::service_log(const std::string &least)
    : least_(static_cast<log_level>(std::ranges::find(names, least) - names.begin())),
      is_for_journal_(journal_reads_standard_error()) {}

void service_log::write(log_level level, const std::string &sentence) const {
    std::string priority =
        is_for_journal_ ? fmt::format("<{}>", priorities.at(static_cast<std::size_t>(level))) : std::string();
    cli::say("{}holdfast monitor: {}\n", priority, sentence);
}

} // namespace holdfast::cli
