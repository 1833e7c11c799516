// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/top/terminal.hpp"

#define NCURSES_NOMACROS // they are named as many other things are
#include <array>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <curses.h>
#include <cwchar>
#include <fmt/core.h>
#include <poll.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#undef columns // term.h's
#undef lines

#include "cli/common/exit_status.hpp"

namespace holdfast::cli::top {
namespace {

// What a signal handler can do without ncurses: write what switches the terminal's own modes back, and set the line's.
struct way_back {
    std::array<char, 256> text;
    std::size_t length;
    termios line;
};
way_back back;

constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

void give_back_and_end(int signal) {
    [[maybe_unused]] ssize_t written = write(STDOUT_FILENO, back.text.data(), back.length);
    tcsetattr(STDIN_FILENO, TCSANOW, &back.line);
    raise(signal); // blocked until this handler returns, and then nobody handles it any more
}

// Without the pauses that terminals of the last century need ("$<5>").
void remember_capability(const char *name) {
    const char *text = tigetstr(name);
    if (!text || text == reinterpret_cast<const char *>(-1))
        return;
    while (*text) {
        const char *end = std::strncmp(text, "$<", 2) == 0 ? std::strchr(text, '>') : nullptr;
        if (end)
            text = end + 1;
        else if (back.length < back.text.size())
            back.text[back.length++] = *text++;
        else
            return;
    }
}

void remember_way_back() {
    back.length = 0;
    tcgetattr(STDIN_FILENO, &back.line);
    for (const char *name : {"sgr0", "cnorm", "rmkx", "rmcup"})
        remember_capability(name);
}

void handle_ending_signals() {
    struct sigaction ending = {};
    ending.sa_handler = give_back_and_end;
    ending.sa_flags = static_cast<int>(SA_RESETHAND);
    sigfillset(&ending.sa_mask);
    for (int signal : ending_signals) {
        struct sigaction before = {};
        sigaction(signal, nullptr, &before);
        if (before.sa_handler != SIG_IGN) // nohup
            sigaction(signal, &ending, nullptr);
    }
}

std::string terminal_name() {
    const char *name = std::getenv("TERM");
    return name ? name : "";
}

void require_terminal() {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        throw failure("top needs a terminal to draw on: run it in one, or use --batch");
    if (terminal_name().empty())
        throw failure("the terminal's kind is not known: set TERM, or use --batch");
    int error = 0;
    if (setupterm(nullptr, STDOUT_FILENO, &error) != OK)
        throw failure(fmt::format("the terminal '{}' (TERM) is not known on this machine: set another, or use --batch",
                                  terminal_name()));
    const char *move = tigetstr("cup");
    if (!move || move == reinterpret_cast<const char *>(-1))
        throw failure(fmt::format("the terminal '{}' (TERM) has no cursor that moves: use --batch", terminal_name()));
}

attr_t attributes_of(const line &what) {
    attr_t found = A_NORMAL;
    switch (what.how) {
    case style::plain: break;
    case style::title:
    case style::warning: found = A_BOLD; break;
    case style::heading: found = A_REVERSE; break;
    case style::dim: found = A_DIM; break;
    }
    return what.selected ? found | A_STANDOUT | A_BOLD : found;
}

std::optional<key::name> named(wint_t code) {
    switch (code) {
    case KEY_UP: return key::name::up;
    case KEY_DOWN: return key::name::down;
    case KEY_PPAGE: return key::name::page_up;
    case KEY_NPAGE: return key::name::page_down;
    case KEY_HOME: return key::name::home;
    case KEY_END: return key::name::end;
    case KEY_LEFT: return key::name::left;
    case KEY_RIGHT: return key::name::right;
    case KEY_ENTER: return key::name::enter;
    case KEY_BACKSPACE:
    case KEY_DC: return key::name::erase;
    default: return std::nullopt;
    }
}

std::optional<key> typed(wchar_t character) {
    switch (character) {
    case L'\n':
    case L'\r': return key{.is = key::name::enter};
    case 27: return key{.is = key::name::escape};
    case 8:
    case 127: return key{.is = key::name::erase};
    default: break;
    }
    std::array<char, MB_LEN_MAX> bytes{};
    std::mbstate_t state{};
    std::size_t length = std::wcrtomb(bytes.data(), character, &state);
    if (character < 32 || length > bytes.size())
        return std::nullopt;
    return key{.is = key::name::text, .text = std::string(bytes.data(), length)};
}

bool hung_up() {
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return poll(&input, 1, 0) > 0 && input.revents & (POLLHUP | POLLERR | POLLNVAL);
}

} // namespace

terminal::terminal() {
    require_terminal();
    remember_way_back();
    set_escdelay(25);
    if (!newterm(nullptr, stdout, stdin))
        throw failure(fmt::format("the terminal '{}' (TERM) can't be used: use --batch", terminal_name()));
    handle_ending_signals(); // in place of ncurses's
    page_size now = size();
    if (now.columns < browser::smallest.columns || now.lines < browser::smallest.lines) {
        endwin();
        throw failure(fmt::format("the window is {}x{}, top needs {}x{}: make it larger, or use --batch", now.columns,
                                  now.lines, browser::smallest.columns, browser::smallest.lines));
    }
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, true);
    curs_set(0);
}

terminal::~terminal() {
    endwin();
    for (int signal : ending_signals)
        std::signal(signal, SIG_DFL);
}

page_size terminal::size() const {
    int lines = getmaxy(stdscr), columns = getmaxx(stdscr);
    return {.columns = static_cast<std::size_t>(columns), .lines = static_cast<std::size_t>(lines)};
}

void terminal::draw(const std::vector<line> &lines) const {
    werase(stdscr);
    for (std::size_t i = 0; i < lines.size(); i++) {
        wattrset(stdscr, static_cast<int>(attributes_of(lines[i])));
        mvwaddstr(stdscr, static_cast<int>(i), 0, lines[i].text.c_str());
    }
    wattrset(stdscr, A_NORMAL);
    wrefresh(stdscr);
}

terminal::event terminal::wait(int timeout_ms) const {
    wtimeout(stdscr, timeout_ms);
    wint_t got = 0;
    int what = wget_wch(stdscr, &got);
    if (what == ERR)
        return {.gone = hung_up()};
    if (what != KEY_CODE_YES)
        return {.pressed = typed(static_cast<wchar_t>(got))};
    if (got == KEY_RESIZE)
        return {.resized = true};
    std::optional<key::name> name = named(got);
    return {.pressed = name ? std::optional(key{.is = *name}) : std::nullopt};
}

} // namespace holdfast::cli::top
