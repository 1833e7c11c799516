// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/waits/recording.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "cli/common/exit_status.hpp"

namespace holdfast::cli {
namespace {

using json = nlohmann::ordered_json;

constexpr const char *kind_of_file = "holdfast-recording";
constexpr int version_of_file = 1;

json json_of(const call_frame &frame) {
    json made = {{"function", frame.function}};
    if (!frame.file.empty())
        made["file"] = frame.file;
    if (frame.line != 0)
        made["line"] = frame.line;
    if (frame.is_gos)
        made["is_gos"] = true;
    if (frame.of_locks)
        made["of_locks"] = true;
    return made;
}

call_frame frame_of(const json &made) {
    return {.function = made.at("function").get<std::string>(),
            .file = made.value("file", ""),
            .line = made.value("line", 0U),
            .is_gos = made.value("is_gos", false),
            .of_locks = made.value("of_locks", false)};
}

json json_of(const watched_process &process) {
    return json::array({process.pid, process.started_ns});
}

watched_process process_of(const json &made) {
    return {.pid = made.at(0).get<pid_t>(), .started_ns = made.at(1).get<std::uint64_t>()};
}

// Named fields would take three times the room.
constexpr auto fields_of_wait = {"process",  "waiter",   "address",  "for_lock",    "weight", "begun_ns",
                                 "ended_ns", "waits_at", "releaser", "released_ns", "held_by"};

constexpr auto fields_of_preemption = {"process", "thread", "address", "begun_ns", "ended_ns"};

holder_preemption preemption_of(const json &made, const std::vector<watched_process> &processes) {
    holder_preemption found{.process = processes.at(made.at(0).get<std::size_t>()),
                            .thread = made.at(1).get<std::uint32_t>(),
                            .address = made.at(2).get<std::uint64_t>(),
                            .begun_ns = made.at(3).get<std::uint64_t>(),
                            .ended_ns = made.at(4).get<std::uint64_t>()};
    if (found.ended_ns < found.begun_ns)
        throw std::out_of_range("a preemption that ends before it begins");
    return found;
}

json json_of(const lock_wait &wait, std::size_t process) {
    json holders = json::array();
    for (const wait_for_holder &each : wait.held_by)
        holders.push_back(json::array({each.thread, each.released_at, each.ns}));
    return json::array({process, wait.waiter, wait.address, wait.for_lock, wait.weight, wait.begun_ns, wait.ended_ns,
                        wait.waits_at, wait.releaser, wait.released_ns, std::move(holders)});
}

chain_number number_below(const json &made, std::size_t count) {
    auto number = made.get<chain_number>();
    if (number >= count)
        throw std::out_of_range("a chain that is not there");
    return number;
}

lock_wait wait_of(const json &made, const std::vector<watched_process> &processes, std::size_t chains) {
    lock_wait wait{.process = processes.at(made.at(0).get<std::size_t>()),
                   .waiter = made.at(1).get<std::uint32_t>(),
                   .address = made.at(2).get<std::uint64_t>(),
                   .for_lock = made.at(3).get<bool>(),
                   .weight = made.at(4).get<std::uint32_t>(),
                   .begun_ns = made.at(5).get<std::uint64_t>(),
                   .ended_ns = made.at(6).get<std::uint64_t>(),
                   .waits_at = number_below(made.at(7), chains),
                   .releaser = made.at(8).get<std::uint32_t>(),
                   .released_ns = made.at(9).get<std::uint64_t>()};
    for (const json &each : made.at(10))
        wait.held_by.push_back({.thread = each.at(0).get<std::uint32_t>(),
                                .released_at = number_below(each.at(1), chains),
                                .ns = each.at(2).get<std::uint64_t>()});
    if (wait.ended_ns < wait.begun_ns)
        throw std::out_of_range("a wait that ends before it begins");
    return wait;
}

} // namespace

chain_number recording::keep(chain_number number, const wait_names &names) {
    auto [place, is_new] = kept_as_.try_emplace(number, chains_.size());
    if (is_new)
        chains_.push_back(names.chain(number));
    return place->second;
}

bool recording::add(const lock_wait &wait, const wait_names &names) {
    if (waits_.size() >= waits_max)
        return false;
    lock_wait kept = wait;
    kept.waits_at = keep(wait.waits_at, names);
    auto meet = [&](std::uint32_t thread) {
        threads_.try_emplace({wait.process, thread}, names.thread_name(wait.process, thread));
    };
    meet(wait.waiter);
    meet(static_cast<std::uint32_t>(wait.process.pid));
    for (wait_for_holder &each : kept.held_by) {
        each.released_at = keep(each.released_at, names);
        meet(each.thread);
    }
    symbols_.try_emplace({wait.process, wait.address}, names.symbol_at(wait.process, wait.address));
    waits_.push_back(kept);
    return true;
}

void recording::add(const holder_preemption &of, const wait_names &names) {
    if (preemptions_.size() >= waits_max)
        return;
    threads_.try_emplace({of.process, of.thread}, names.thread_name(of.process, of.thread));
    preemptions_.push_back(of);
}

std::vector<watched_process> recording::processes() const {
    std::set<watched_process> found;
    for (const lock_wait &each : waits_)
        found.insert(each.process);
    return {found.begin(), found.end()};
}

const call_chain &recording::chain(chain_number number) const {
    return chains_.at(number);
}

std::string recording::text() const {
    json made = {{"kind", kind_of_file}, {"version", version_of_file}, {"about", about_}};
    std::vector<watched_process> all = processes();
    made["processes"] = json::array();
    for (const watched_process &each : all)
        made["processes"].push_back(json_of(each));
    made["threads"] = json::array();
    for (const auto &[key, name] : threads_)
        made["threads"].push_back({{"process", json_of(key.first)}, {"thread", key.second}, {"name", name}});
    made["locks"] = json::array();
    for (const auto &[key, symbol] : symbols_)
        made["locks"].push_back({{"process", json_of(key.first)}, {"address", key.second}, {"symbol", symbol}});
    made["chains"] = json::array();
    for (const call_chain &each : chains_) {
        json frames = json::array();
        for (const call_frame &frame : each)
            frames.push_back(json_of(frame));
        made["chains"].push_back(std::move(frames));
    }
    made["fields_of_wait"] = fields_of_wait;
    made["waits"] = json::array();
    for (const lock_wait &each : waits_) {
        auto process = std::ranges::lower_bound(all, each.process);
        made["waits"].push_back(json_of(each, static_cast<std::size_t>(process - all.begin())));
    }
    made["fields_of_preemption"] = fields_of_preemption;
    made["preemptions"] = json::array();
    for (const holder_preemption &each : preemptions_) {
        auto process = std::ranges::lower_bound(all, each.process);
        if (process == all.end() || *process != each.process)
            continue; // none of its waits is kept
        made["preemptions"].push_back(
            json::array({process - all.begin(), each.thread, each.address, each.begun_ns, each.ended_ns}));
    }
    return made.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<recording> recording::read(const std::string &text) {
    json made = json::parse(text, nullptr, false);
    if (!made.is_object() || !made.contains("kind") || made["kind"] != kind_of_file)
        return std::nullopt;
    if (made.contains("version") && made["version"].is_number() && made["version"] != version_of_file)
        throw usage_error("it is a recording of another version of holdfast: read it with that one");
    recording found;
    try {
        if (made.at("version") != version_of_file || !made.at("about").is_object())
            throw std::invalid_argument("no recording has that");
        found.about_ = made.at("about");
        std::vector<watched_process> processes;
        for (const json &each : made.at("processes"))
            processes.push_back(process_of(each));
        for (const json &each : made.at("threads"))
            found.threads_[{process_of(each.at("process")), each.at("thread").get<std::uint32_t>()}] =
                each.at("name").get<std::string>();
        for (const json &each : made.at("locks"))
            found.symbols_[{process_of(each.at("process")), each.at("address").get<std::uint64_t>()}] =
                each.at("symbol").get<std::string>();
        found.chains_.clear();
        for (const json &each : made.at("chains")) {
            call_chain &chain = found.chains_.emplace_back();
            for (const json &frame : each)
                chain.push_back(frame_of(frame));
        }
        for (const json &each : made.at("waits"))
            found.waits_.push_back(wait_of(each, processes, found.chains_.size()));
        for (const json &each : made.value("preemptions", json::array()))
            found.preemptions_.push_back(preemption_of(each, processes));
    } catch (const std::exception &) {
        throw usage_error("it is a recording that is not whole: record again");
    }
    return found;
}

} // namespace holdfast::cli
