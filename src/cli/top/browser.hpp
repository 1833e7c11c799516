// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the user is in what top shows, and where a key leads. Knows no terminal.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/top/page.hpp"
#include "cli/top/ranking.hpp"

namespace holdfast::cli::top {

struct key {
    enum class name { text, up, down, page_up, page_down, home, end, left, right, enter, escape, erase };
    name is = name::text;
    std::string text{}; // of one character, if it is text
};

struct outcome {
    bool quit = false;
    std::optional<std::string> save_to{}; // a file's name
};

class browser {
public:
    browser(ranking how, double delay_s) : how_(std::move(how)), delay_s_(delay_s) {}

    // The newest there is to show. The line that was chosen stays chosen, wherever it is now.
    void show(change what);
    outcome press(const key &pressed);
    // Exactly as many lines as the size says, if that is not too small; otherwise one that says so.
    std::vector<line> draw(page_size size, const std::string &clock);
    // One sentence, until the next key.
    void say(std::string sentence) { message_ = std::move(sentence); }

    bool paused() const { return paused_; }
    double delay_s() const { return delay_s_; }
    const std::optional<change> &shown() const { return what_; }
    const ranking &order() const { return how_; }

    static constexpr page_size smallest{.columns = 40, .lines = 10};

private:
    using lock_key = std::pair<source, std::uint64_t>;
    struct place {
        process_id process;
        std::optional<lock_key> lock{};
        bool operator==(const place &) const = default;
    };
    enum class page { table, process, lock, help };
    struct question {
        enum class purpose { filter, save } what_for;
        std::string answer;
    };

    static place place_of(const row &of);
    void rank();
    const row *chosen_row() const;
    const row *row_at(const place &where) const;
    void move(long by);
    void choose(std::size_t line);
    void enter();
    void go_back();
    outcome command(const std::string &letter);
    outcome answer(const key &pressed);
    line title(std::size_t columns, const std::string &clock) const;
    line message(std::size_t columns) const;
    line hints(std::size_t columns) const;
    std::vector<line> body(page_size size);
    std::vector<line> table(page_size size);

    ranking how_;
    double delay_s_;
    std::optional<change> what_;
    std::vector<process_change> processes_; // ranked; rows_ points into it
    std::vector<row> rows_;
    page at_ = page::table;
    std::optional<place> inside_; // of page::process and page::lock
    std::optional<place> chosen_;
    std::size_t chosen_line_ = 0;
    std::size_t first_line_ = 0;
    std::size_t lines_of_table_ = 1;
    std::size_t locks_of_each_ = 2;
    bool since_beginning_ = true;
    bool paused_ = false;
    std::optional<question> asked_;
    std::string message_;
};

} // namespace holdfast::cli::top
