// SPDX-License-Identifier: MIT OR Apache-2.0
// What top shows and where keys lead, without a terminal: order, filter, lines that fit. Shown able to fail:
// goes_before() without the number at its end; the chosen line kept by its position; `fitted` that counts bytes; a page
// that has one line too many; erase_last() that takes one byte; opportunities in one line, however long.
#include "cli/top/browser.hpp"

#include <algorithm>
#include <clocale>
#include <gtest/gtest.h>

#include "cli/top/plain_report.hpp"
#include "cli/top/printable.hpp"

namespace holdfast::cli::top {
namespace {

process_change process(pid_t pid, const std::string &name, double waiters) {
    process_change found;
    found.id = {.pid = pid, .started_ticks = 1};
    found.name = name;
    found.user = "user";
    found.under_holdfast = true;
    found.now.waiters = waiters;
    found.now.waits_per_s = 1;
    found.now.acquisitions_per_s = 1000.0 / pid;
    found.now.preemptions_per_s = pid;
    return found;
}

lock_change lock(std::uint64_t address, const std::string &name, double waiters) {
    lock_change found;
    found.address = address;
    found.name = name;
    found.kind = "mutex";
    found.now.waiters = waiters;
    found.now.waits_per_s = 1;
    found.so_far.waiting.buckets = {{1024, 2048, 10}, {1 << 20, 1 << 21, 3}};
    found.so_far.holding.buckets = {{128, 256, 100}};
    return found;
}

change some_change() {
    change what;
    what.seconds = 1;
    what.monitors = {
        {.now = {.socket = "s", .runs = true, .preempted_now = 2, .registered_processes = 3}, .preemptions_per_s = 12}};
    what.processes = {process(30, "server", 0.5), process(20, "batch", 2), process(10, "idle", 0)};
    what.processes[1].each_lock = {lock(0x1000, "cold", 0.1), lock(0x2000, "hot", 1.5), lock(0x3000, "cool", 0.4)};
    return what;
}

std::vector<pid_t> order_of(const ranking &how) {
    std::vector<pid_t> found;
    for (const auto &each : ranked(some_change().processes, how))
        found.push_back(each.id.pid);
    return found;
}

key letter(const std::string &text) {
    return {.is = key::name::text, .text = text};
}

std::string text_on(browser &view, page_size size) {
    std::string text;
    for (const line &each : view.draw(size, "12:00:00"))
        text += each.text + "\n";
    return text;
}

std::string chosen_on(browser &view) {
    for (const line &each : view.draw({.columns = 80, .lines = 24}, "12:00:00")) {
        if (each.selected)
            return each.text;
    }
    return "";
}

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

class browsing : public testing::Test {
protected:
    browsing() { view.show(some_change()); }
    browser view{ranking{}, 1};
    static constexpr page_size usual{.columns = 80, .lines = 24};
};

// Shown able to fail: with the first one's sentence, "start one by 'holdfast monitor'", beside `holdfast run`.
TEST_F(browsing, says_of_a_monitor_in_reserve_that_there_is_one) {
    change what = some_change();
    what.monitors = {{.now = {.socket = "service", .sentence = "there is no service"}},
                     {.now = {.socket = "run", .answers = true, .sentence = "one is in reserve"}}};
    view.show(what);
    EXPECT_TRUE(has(text_on(view, usual), "no monitor: one is in reserve"));
    what.monitors.pop_back();
    view.show(what);
    EXPECT_TRUE(has(text_on(view, usual), "no monitor: there is no service"));
}

TEST(ranking, sorts_by_each_key) {
    using pids = std::vector<pid_t>;
    EXPECT_EQ(order_of({.by = sort_key::waiting}), (pids{20, 30, 10}));
    EXPECT_EQ(order_of({.by = sort_key::acquisitions}), (pids{10, 20, 30}));
    EXPECT_EQ(order_of({.by = sort_key::preemptions}), (pids{30, 20, 10}));
    EXPECT_EQ(order_of({.by = sort_key::pid}), (pids{10, 20, 30}));
    EXPECT_EQ(order_of({.by = sort_key::name}), (pids{20, 10, 30}));
    EXPECT_EQ(order_of({.by = sort_key::contended}), (pids{20, 30, 10})); // unknown: as by waiting
}

TEST(ranking, of_equals_the_lower_number_goes_first) {
    std::vector<process_change> same{process(3, "a", 1), process(1, "a", 1), process(2, "a", 1)};
    for (auto &each : same)
        each.now.acquisitions_per_s = 1;
    auto shown = ranked(same, {.by = sort_key::acquisitions});
    EXPECT_TRUE(std::ranges::is_sorted(shown, {}, &process_change::id));
}

TEST(ranking, filters_programs_numbers_and_locks) {
    using pids = std::vector<pid_t>;
    EXPECT_EQ(order_of({.filter = "SERV"}), (pids{30}));
    EXPECT_EQ(order_of({.filter = "20"}), (pids{20}));
    EXPECT_EQ(order_of({.filter = "cool"}), (pids{20}));
    EXPECT_EQ(order_of({.filter = "0x2000"}), (pids{20}));
    EXPECT_EQ(order_of({.filter = "nothing"}), (pids{}));
    EXPECT_EQ(ranked(some_change().processes, {.filter = "cool"}).at(0).each_lock.size(), 1u);
    EXPECT_EQ(ranked(some_change().processes, {.filter = "batch"}).at(0).each_lock.size(), 3u);
}

TEST(ranking, leaves_out_the_idle_that_only_the_kernel_sees) {
    change what = some_change();
    for (auto &each : what.processes) {
        each.under_holdfast = false;
        each.now.acquisitions_per_s.reset();
        each.now.waits_per_s = 0;
    }
    EXPECT_TRUE(ranked(what.processes, {}).empty());
    EXPECT_EQ(ranked(what.processes, {.idle = true}).size(), 3u);
    what.processes[0].now.other_sleeps_per_s = 1;
    EXPECT_EQ(ranked(what.processes, {}).size(), 1u);
}

TEST(ranking, names_its_keys) {
    for (const std::string &name : sort_key_names())
        EXPECT_EQ(name_of(*sort_key_named(name)), name);
    EXPECT_FALSE(sort_key_named("beauty"));
    EXPECT_EQ(next_after(sort_key::name), sort_key::waiting);
}

TEST_F(browsing, shows_the_hottest_locks_below_their_process) {
    std::string text = text_on(view, usual);
    std::size_t process = text.find("batch"), hot = text.find("hot"), cool = text.find("cool");
    EXPECT_LT(process, hot);
    EXPECT_LT(hot, cool);
    EXPECT_LT(cool, text.find("server"));
    EXPECT_FALSE(has(text, "cold")); // two of each
    EXPECT_TRUE(has(text, "12/s, 2 now"));
}

TEST_F(browsing, fits_any_window) {
    for (std::size_t columns = 1; columns <= 220; columns += 3) {
        for (std::size_t lines = 1; lines <= 60; lines += 7) {
            for (const char *where : {"", "h", "/"}) {
                browser other(ranking{}, 1);
                other.show(some_change());
                other.press(letter(where));
                auto drawn = other.draw({.columns = columns, .lines = lines}, "12:00:00");
                EXPECT_LE(drawn.size(), lines);
                for (const line &each : drawn)
                    EXPECT_LE(columns_of(each.text), columns) << columns << "x" << lines << where;
            }
        }
    }
}

TEST_F(browsing, the_chosen_line_stays_chosen_when_the_order_changes) {
    view.press({.is = key::name::down});
    EXPECT_TRUE(has(chosen_on(view), "hot"));
    change later = some_change();
    later.processes[0].now.waiters = 9; // goes to the top
    view.show(later);
    EXPECT_TRUE(has(chosen_on(view), "hot"));
    view.press({.is = key::name::end});
    EXPECT_TRUE(has(chosen_on(view), "idle"));
    view.press({.is = key::name::home});
    EXPECT_TRUE(has(chosen_on(view), "server"));
}

TEST_F(browsing, scrolls_to_the_chosen_line) {
    change many = some_change();
    for (int i = 100; i < 200; i++)
        many.processes.push_back(process(i, "one of many", 0));
    view.show(many);
    view.press({.is = key::name::end});
    EXPECT_TRUE(has(chosen_on(view), "199"));
    for (int i = 0; i < 30; i++)
        view.press({.is = key::name::page_up});
    EXPECT_TRUE(has(chosen_on(view), "batch"));
}

TEST_F(browsing, leads_into_a_process_and_a_lock_and_back) {
    view.press({.is = key::name::enter});
    std::string process = text_on(view, usual);
    EXPECT_TRUE(has(process, "cold") && !has(process, "server"));
    view.press({.is = key::name::escape});
    EXPECT_TRUE(has(text_on(view, usual), "server"));
    view.press({.is = key::name::down});
    view.press({.is = key::name::right});
    std::string lock = text_on(view, usual);
    EXPECT_TRUE(has(lock, "mutex hot at 0x2000") && has(lock, "waiting") && has(lock, "holding"));
    view.press(letter("t"));
    EXPECT_TRUE(has(text_on(view, usual), "nothing was timed"));
    view.press({.is = key::name::left});
    EXPECT_TRUE(has(chosen_on(view), "hot"));
}

TEST_F(browsing, tells_threads_opportunities_of_a_lock) {
    change what = some_change();
    lock_change &hot = what.processes[1].each_lock[1];
    for (std::uint32_t thread = 100'000; thread < 100'020; thread++)
        hot.threads.push_back({.thread = thread, .held = 0.25, .opportunity = 0.5, .counted = true});
    hot.jain_opportunity = 0.987;
    view.show(what);
    view.press({.is = key::name::down});
    view.press({.is = key::name::right});
    std::string text = text_on(view, usual);
    EXPECT_TRUE(has(text, "opportunity of threads, Jain's index 0.99: 100000 50% 100001 50%")) << text;
    EXPECT_TRUE(has(text, "100012 50%")) << text; // on a line of its own
    EXPECT_FALSE(has(text, "estimated"));
    what.processes[1].each_lock[1].threads[3].counted = false;
    view.show(what);
    EXPECT_TRUE(has(text_on(view, usual), "opportunity of threads (estimated)"));
    auto json = json_of(what, {.filter = "batch"});
    auto lock = json["processes"][0].at("locks").at(0);
    EXPECT_EQ(lock.at("threads").at(0).at("thread"), 100'000);
    EXPECT_EQ(lock["threads"][0].at("opportunity"), 0.5);
    EXPECT_EQ(lock.at("jain_opportunity"), 0.987);
    EXPECT_TRUE(json["processes"][0]["locks"][1].at("jain_opportunity").is_null());
}

TEST_F(browsing, leaves_a_process_that_has_ended) {
    view.press({.is = key::name::enter});
    change later = some_change();
    later.processes.erase(later.processes.begin() + 1);
    view.show(later);
    std::string text = text_on(view, usual);
    EXPECT_TRUE(has(text, "process 20 has ended") && has(text, "server"));
}

TEST_F(browsing, takes_a_filter_that_is_typed) {
    view.press(letter("/"));
    for (const char *each : {"r", "v", "ö"})
        view.press(letter(each));
    view.press({.is = key::name::erase});
    EXPECT_TRUE(has(text_on(view, usual), "show only: rv_"));
    view.press({.is = key::name::enter});
    std::string text = text_on(view, usual);
    EXPECT_TRUE(has(text, "server") && !has(text, "batch"));
    view.press(letter("/"));
    view.press(letter("x"));
    view.press({.is = key::name::escape});
    EXPECT_EQ(view.order().filter, "rv");
}

TEST_F(browsing, asks_for_a_files_name) {
    view.press(letter("w"));
    outcome found = view.press({.is = key::name::enter});
    EXPECT_EQ(found.save_to, "holdfast-top.json");
    EXPECT_TRUE(view.press(letter("q")).quit);
}

TEST_F(browsing, pauses_sorts_and_changes_its_pace) {
    view.press(letter("p"));
    EXPECT_TRUE(view.paused() && has(text_on(view, usual), "PAUSED"));
    view.press(letter(" "));
    EXPECT_FALSE(view.paused());
    view.press(letter("s"));
    EXPECT_EQ(view.order().by, sort_key::acquisitions);
    view.press(letter("-"));
    EXPECT_DOUBLE_EQ(view.delay_s(), 2);
    view.press(letter("+"));
    view.press(letter("+"));
    EXPECT_DOUBLE_EQ(view.delay_s(), 0.5);
    view.press(letter("l"));
    EXPECT_TRUE(has(text_on(view, usual), "cold"));
    view.press(letter("h"));
    EXPECT_TRUE(has(text_on(view, usual), "Keys"));
}

TEST(printable, lets_nothing_through_that_moves_the_cursor) {
    ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
    EXPECT_EQ(printable("a\x1b[2Jb\n\x9b"), "a?[2Jb??");
    EXPECT_EQ(printable("日本 é"), "日本 é");
    EXPECT_EQ(printable("\xff\xc3"), "??");
}

TEST(printable, fits_by_columns_not_bytes) {
    ASSERT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
    EXPECT_EQ(columns_of("日本é"), 5u);
    EXPECT_EQ(fitted("日本", 6), "日本  ");
    EXPECT_EQ(fitted("日本", 6, side::right), "  日本");
    EXPECT_EQ(fitted("日本語", 4), "日+ ");
    EXPECT_EQ(fitted("abc", 0), "");
    EXPECT_EQ(columns_of(fitted("é日本語", 5)), 5u);
}

TEST(printable, shows_bars_in_ascii_where_there_is_no_utf8) {
    ASSERT_NE(std::setlocale(LC_CTYPE, "C"), nullptr);
    EXPECT_EQ(bar(0.5, 4), "##  ");
    EXPECT_EQ(bar(0.001, 4), "#   ");
    EXPECT_EQ(bar(7, 4), "####");
    std::setlocale(LC_CTYPE, "C.UTF-8");
    EXPECT_EQ(bar(1, 2), "██");
}

TEST(report, has_what_the_ranking_lets_through) {
    auto json = json_of(some_change(), {.filter = "batch"});
    ASSERT_EQ(json.at("processes").size(), 1u);
    EXPECT_EQ(json["processes"][0].at("pid"), 20);
    EXPECT_EQ(json["processes"][0].at("locks").at(0).at("name"), "hot");
    EXPECT_TRUE(json["processes"][0].at("now").at("contended_share").is_null());
    std::string text = text_of(some_change(), {.filter = "batch"}, 1);
    EXPECT_TRUE(has(text, "hot") && !has(text, "cool"));
}

} // namespace
} // namespace holdfast::cli::top
