// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/experiment/results_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fmt/core.h>
#include <system_error>
#include <unistd.h>

#include "cli/common/exit_status.hpp"
#include "measure/quantity.hpp"

namespace holdfast::cli {
namespace {

// A hundred times what ./dev bench writes to its largest file.
constexpr std::size_t bytes_max = std::size_t{256} << 20;

// Ours have 5 levels. To copy and to dump a value takes stack for each.
constexpr int depth_max = 32;

constexpr const char *writers = "'holdfast bench --json', 'holdfast compare --json' or 'holdfast record'";

[[noreturn]] void refuse(const std::string &path, const std::string &why) {
    throw usage_error(fmt::format("'{}' {}: give a file that {} wrote", path, why, writers));
}

// A device may have no end, so that what the file says of its size is not asked.
std::string content_of(const std::string &path) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    std::string content;
    std::string block(1 << 16, '\0');
    for (bool more = !error; more;) {
        ssize_t got = read(fd, block.data(), block.size());
        if (got < 0 && errno == EINTR)
            continue;
        error = got < 0 ? errno : 0;
        more = got > 0 && content.size() <= bytes_max;
        if (got > 0)
            content.append(block.data(), static_cast<std::size_t>(got));
    }
    if (fd >= 0)
        close(fd);
    if (error)
        throw usage_error(fmt::format("can't read '{}': {}", path, std::generic_category().message(error)));
    if (content.size() > bytes_max)
        refuse(path, fmt::format("is larger than {} MiB, which no results file is", bytes_max >> 20));
    return content;
}

json parsed(const std::string &path, const std::string &content) {
    if (content.find_first_not_of(" \t\r\n") == std::string::npos)
        refuse(path, "is empty");
    auto not_too_deep = [&](int depth, json::parse_event_t event, const json &) {
        bool opens = event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
        if (opens && depth >= depth_max)
            refuse(path, fmt::format("is not a results file: it is nested more than {} deep", depth_max));
        return true;
    };
    try {
        return json::parse(content, not_too_deep);
    } catch (const json::parse_error &error) {
        if (error.byte > content.size())
            refuse(path, fmt::format("is cut off after {} bytes", content.size()));
        refuse(path, fmt::format("is not JSON (byte {} is where it ceases to be)", error.byte));
    } catch (const json::exception &) { // a number that is none of the machine's
        refuse(path, "is not a results file");
    }
}

unsigned version_of(const std::string &path, const json &content) {
    if (!content.contains("version"))
        return 1;
    const json &version = content.at("version");
    if (!version.is_number_unsigned() || version.get<std::uint64_t>() == 0)
        refuse(path, "is not a results file: its version is not a number from 1");
    if (version.get<std::uint64_t>() > results_version)
        throw usage_error(fmt::format("'{}' is a results file of version {}, and this holdfast reads versions up to "
                                      "{}: use the holdfast that wrote it",
                                      path, version.get<std::uint64_t>(), results_version));
    return version.get<unsigned>();
}

// Without quotes around text.
std::string plain(const json &value) {
    return value.is_string() ? value.get<std::string>() : dumped(value, -1);
}

std::string phrase(const std::string &name, const json &before, const json &now) {
    return fmt::format("its {} is {}, here it is {}", name, plain(before), plain(now));
}

std::string difference_of_options(const json &before, const json &now) {
    for (const auto &[name, value] : now.items()) {
        json old = before.contains(name) ? before.at(name) : json();
        bool grows = name == "rounds" && old.is_number_integer() && old < value;
        if (old != value && !grows)
            return phrase(name, old, value);
    }
    return "";
}

} // namespace

std::string dumped(const json &value, int indent) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string results_text(const json &about, const std::vector<std::string> &records) {
    std::string text =
        fmt::format("{{\n\"version\": {},\n\"about\": {},\n\"records\": [", results_version, dumped(about, 2));
    const char *separator = "\n";
    for (const auto &record : records) {
        text += separator + record;
        separator = ",\n";
    }
    return text + "\n]\n}\n";
}

results read_results(const std::string &path) {
    json content = parsed(path, content_of(path));
    if (!content.is_object())
        refuse(path, "is not a results file");
    results read;
    read.version = version_of(path, content);
    for (const char *part : {"about", "records"}) {
        if (!content.contains(part))
            refuse(path, fmt::format("is not a results file: it has no \"{}\"", part));
    }
    if (!content["about"].is_object() || !content["records"].is_array())
        refuse(path, "is not a results file");
    read.about = std::move(content["about"]);
    for (auto &record : content["records"])
        read.records.push_back(std::move(record));
    return read;
}

std::string machine_in(const json &about) {
    return about.at("machine").get<std::string>() + ", " + format_number_of(about.at("cpus").get<unsigned>(), "CPU");
}

std::string difference(const json &before, const json &now) {
    for (const char *name : {"machine", "cpus", "kernel", "glibc", "holdfast", "monitor"}) {
        json old = before.contains(name) ? before.at(name) : json();
        if (old != now.at(name))
            return phrase(name, old, now.at(name));
    }
    if (!before.contains("options") || !before.at("options").is_object())
        return "it does not say with which options it was measured";
    return difference_of_options(before.at("options"), now.at("options"));
}

} // namespace holdfast::cli
