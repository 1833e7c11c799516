// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/browser.hpp"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <limits>

#include "cli/top/printable.hpp"

namespace holdfast::cli::top {
namespace {

constexpr std::array<std::size_t, 3> locks_shown = {2, 8, 0};
constexpr std::array delays_s = {0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0};
constexpr std::size_t all_locks = std::numeric_limits<std::size_t>::max();

double next_delay(double now) {
    auto longer = std::ranges::upper_bound(delays_s, now);
    return longer == delays_s.end() ? now : *longer;
}

double previous_delay(double now) {
    auto same_or_longer = std::ranges::lower_bound(delays_s, now);
    return same_or_longer == delays_s.begin() ? now : *(same_or_longer - 1);
}

// Without its last character, which may have several bytes.
void erase_last(std::string &text) {
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80)
        text.pop_back();
    if (!text.empty())
        text.pop_back();
}

} // namespace

browser::place browser::place_of(const row &of) {
    place found{.process = of.process->id};
    if (of.lock)
        found.lock = lock_key(of.lock->from, of.lock->address);
    return found;
}

void browser::rank() {
    rows_.clear();
    processes_.clear();
    if (!what_)
        return;
    if (inside_) {
        ranking all{.by = how_.by, .idle = true};
        processes_ = ranked(what_->processes, all);
        std::erase_if(processes_, [&](const auto &each) { return each.id != inside_->process; });
    } else {
        processes_ = ranked(what_->processes, how_);
    }
    rows_ = rows_of(processes_, inside_ ? all_locks : locks_of_each_);
    auto still = std::ranges::find_if(rows_, [&](const row &each) { return chosen_ == place_of(each); });
    if (still != rows_.end())
        chosen_line_ = static_cast<std::size_t>(still - rows_.begin());
    choose(chosen_line_);
}

const row *browser::row_at(const place &where) const {
    auto found = std::ranges::find_if(rows_, [&](const row &each) { return place_of(each) == where; });
    return found == rows_.end() ? nullptr : &*found;
}

const row *browser::chosen_row() const {
    return chosen_line_ < rows_.size() ? &rows_[chosen_line_] : nullptr;
}

void browser::choose(std::size_t line) {
    chosen_line_ = rows_.empty() ? 0 : std::min(line, rows_.size() - 1);
    const row *chosen = chosen_row();
    chosen_ = chosen ? std::optional(place_of(*chosen)) : std::nullopt;
}

void browser::move(long by) {
    long line = static_cast<long>(chosen_line_) + by;
    choose(line < 0 ? 0 : static_cast<std::size_t>(line));
}

void browser::show(change what) {
    what_ = std::move(what);
    rank();
    if (inside_ && rows_.empty()) {
        say(fmt::format("process {} has ended", inside_->process.pid));
        at_ = page::table;
        inside_.reset();
        rank();
    }
}

void browser::enter() {
    const row *chosen = chosen_row();
    if (!chosen)
        return;
    inside_ = place_of(*chosen);
    at_ = chosen->lock ? page::lock : page::process;
    rank();
}

// From a lock to where it was chosen, from a process to all of them.
void browser::go_back() {
    chosen_ = inside_ ? inside_ : chosen_;
    at_ = page::table;
    inside_.reset();
    rank();
}

outcome browser::press(const key &pressed) {
    message_.clear();
    if (asked_)
        return answer(pressed);
    auto page_lines = static_cast<long>(std::max<std::size_t>(lines_of_table_, 2) - 1);
    switch (pressed.is) {
    case key::name::up: move(-1); break;
    case key::name::down: move(1); break;
    case key::name::page_up: move(-page_lines); break;
    case key::name::page_down: move(page_lines); break;
    case key::name::home: choose(0); break;
    case key::name::end: choose(rows_.size()); break;
    case key::name::enter:
    case key::name::right: enter(); break;
    case key::name::left:
    case key::name::escape:
    case key::name::erase: go_back(); break;
    case key::name::text: return command(pressed.text);
    }
    return {};
}

outcome browser::command(const std::string &letter) {
    if (letter == "q")
        return {.quit = true};
    if (letter == "h" || letter == "?")
        at_ = page::help;
    else if (letter == "s")
        how_.by = next_after(how_.by);
    else if (letter == "i")
        how_.idle = !how_.idle;
    else if (letter == "l")
        locks_of_each_ = locks_shown
            [(static_cast<std::size_t>(std::ranges::find(locks_shown, locks_of_each_) - locks_shown.begin()) + 1) %
             locks_shown.size()];
    else if (letter == "t")
        since_beginning_ = !since_beginning_;
    else if (letter == "p" || letter == " ")
        paused_ = !paused_;
    else if (letter == "+")
        delay_s_ = previous_delay(delay_s_);
    else if (letter == "-")
        delay_s_ = next_delay(delay_s_);
    else if (letter == "/")
        asked_ = question{.what_for = question::purpose::filter, .answer = how_.filter};
    else if (letter == "w")
        asked_ = question{.what_for = question::purpose::save, .answer = "holdfast-top.json"};
    else
        say("press h for help");
    rank();
    return {};
}

outcome browser::answer(const key &pressed) {
    outcome found;
    if (pressed.is == key::name::text) {
        asked_->answer += pressed.text;
    } else if (pressed.is == key::name::erase) {
        erase_last(asked_->answer);
    } else if (pressed.is == key::name::enter) {
        if (asked_->what_for == question::purpose::filter)
            how_.filter = asked_->answer;
        else if (!asked_->answer.empty())
            found.save_to = asked_->answer;
        asked_.reset();
        rank();
    } else if (pressed.is == key::name::escape) {
        asked_.reset();
    }
    return found;
}

line browser::title(std::size_t columns, const std::string &clock) const {
    std::string text = fmt::format("holdfast top  every {:g} s, by {}", delay_s_, name_of(how_.by));
    if (!how_.filter.empty())
        text += fmt::format(", only '{}'", printable(how_.filter));
    if (paused_)
        text += "  PAUSED";
    std::size_t left = columns > columns_of(clock) + 1 ? columns - columns_of(clock) - 1 : 0;
    return {.text = fitted(fitted(text, left) + " " + clock, columns), .how = style::title};
}

line browser::message(std::size_t columns) const {
    if (!asked_)
        return {.text = fitted(message_, columns), .how = style::warning};
    const char *text = asked_->what_for == question::purpose::filter ? "show only: " : "save as: ";
    return {.text = fitted(text + printable(asked_->answer) + "_", columns), .how = style::warning};
}

line browser::hints(std::size_t columns) const {
    std::string text = "q quit  h help  s sort  / filter  p pause  w write  enter look into it";
    if (asked_)
        text = "enter: take it   escape: leave it as it is";
    else if (at_ != page::table)
        text = "escape back  q quit  h help  t since when  p pause  w write";
    return {.text = fitted(text, columns), .how = style::heading};
}

std::vector<line> browser::table(page_size size) {
    lines_of_table_ = size.lines - 1;
    first_line_ = std::min(first_line_, chosen_line_);
    if (chosen_line_ >= first_line_ + lines_of_table_)
        first_line_ = chosen_line_ - lines_of_table_ + 1;
    std::vector<line> lines{table_heading(size.columns)};
    for (std::size_t i = first_line_; i < std::min(rows_.size(), first_line_ + lines_of_table_); i++) {
        lines.push_back(table_line(rows_[i], size.columns));
        lines.back().selected = i == chosen_line_;
    }
    if (rows_.empty())
        lines.push_back({.text = !what_                ? "looking..."
                                 : how_.filter.empty() ? "no program waits for locks"
                                                       : "nothing contains '" + printable(how_.filter) + "'",
                         .how = style::dim});
    return lines;
}

std::vector<line> browser::body(page_size size) {
    if (at_ == page::help)
        return help_page(size);
    const row *lock = at_ == page::lock && inside_ ? row_at(*inside_) : nullptr;
    if (lock && lock->lock)
        return lock_page(*lock, size, since_beginning_);
    return table(size);
}

std::vector<line> browser::draw(page_size size, const std::string &clock) {
    if (size.columns < smallest.columns || size.lines < smallest.lines)
        return {{.text = fitted(fmt::format("needs {}x{}", smallest.columns, smallest.lines), size.columns)}};
    std::vector<line> lines{title(size.columns, clock)};
    for (line &each : what_ ? summary(*what_, size.columns) : std::vector<line>(2))
        lines.push_back(std::move(each));
    lines.push_back(message(size.columns));
    for (line &each : body({.columns = size.columns, .lines = size.lines - lines.size() - 1}))
        lines.push_back(std::move(each));
    lines.resize(size.lines - 1);
    lines.push_back(hints(size.columns));
    return lines;
}

} // namespace holdfast::cli::top
