// SPDX-License-Identifier: MIT OR Apache-2.0
// holdfast completion: what a shell needs to complete the command's verbs, options and values, from the same tables
// that the command line is read by.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <memory>
#include <string>
#include <vector>

#include "cli/common/exit_status.hpp"
#include "cli/common/one_of.hpp"
#include "cli/start/session.hpp"
#include "cli/verbs.hpp"
#include "measure/workload.hpp"

namespace holdfast::cli {
namespace {

// How a value is completed.
enum class value_kind { none, words, file, directory, other };

struct option_row {
    std::vector<std::string> names; // "--lock", "-n"
    std::string summary;            // its first line
    value_kind kind = value_kind::none;
    std::vector<std::string> words{};
    bool is_list = false; // of words, with commas between them
};

struct verb_row {
    std::vector<std::string> path; // {"monitor", "status"}
    std::string summary;
    std::vector<option_row> options{};
    bool runs_program = false;
    std::vector<std::string> words{}; // of its first argument
    std::vector<std::string> verbs{}; // of its own
};

std::string first_line(const std::string &text) {
    return text.substr(0, text.find('\n'));
}

// "{a,b}" of the words that it may be, as one_of tells of itself.
std::vector<std::string> words_in_braces(const std::string &text) {
    std::size_t open = text.find('{'), close = text.find('}');
    if (open == std::string::npos || close == std::string::npos)
        return {};
    return CLI::detail::split(text.substr(open + 1, close - open - 1), ',');
}

option_row row_of(const CLI::Option &option) {
    option_row row{.names = {}, .summary = first_line(option.get_description())};
    for (const std::string &name : option.get_lnames())
        row.names.push_back("--" + name);
    for (const std::string &name : option.get_snames())
        row.names.push_back("-" + name);
    if (option.get_items_expected_min() == 0)
        return row;
    std::string type = option.get_type_name();
    row.kind = value_kind::other;
    row.words = words_in_braces(type);
    bool is_lock =
        std::ranges::any_of(row.names, [](const auto &name) { return name == "--lock" || name == "--locks"; });
    if (is_lock)
        row.words = lock_names();
    row.is_list = option.get_delimiter() == ',';
    if (!row.words.empty())
        row.kind = value_kind::words;
    else if (type.find("FILE") != std::string::npos || type.find("PATH") != std::string::npos)
        row.kind = value_kind::file;
    else if (type.find("DIR") != std::string::npos)
        row.kind = value_kind::directory;
    return row;
}

void add_rows(const CLI::App &app, const std::vector<std::string> &path, std::vector<verb_row> &rows) {
    verb_row row{.path = path, .summary = first_line(app.get_description())};
    for (const CLI::Option *option : app.get_options()) {
        if (!option->nonpositional())
            continue;
        row.options.push_back(row_of(*option));
    }
    row.runs_program = app.get_option_no_throw("program") != nullptr;
    if (path == std::vector<std::string>{"bench"})
        for (const auto &each : workloads())
            row.words.emplace_back(each.name);
    if (path == std::vector<std::string>{"completion"})
        row.words = {"bash", "zsh", "fish"};
    auto verbs = app.get_subcommands([](const CLI::App *) { return true; });
    for (const CLI::App *verb : verbs)
        row.verbs.push_back(verb->get_name());
    if (path.empty())
        row.verbs.insert(row.verbs.end(), {"help", "version"});
    rows.push_back(row);
    if (path.empty()) {
        verb_row help{.path = {"help"}, .summary = "Tell how a verb is used"};
        for (const CLI::App *verb : verbs)
            help.words.push_back(verb->get_name());
        rows.push_back(help);
        rows.push_back({.path = {"version"}, .summary = "Print the version"});
    }
    for (const CLI::App *verb : verbs) {
        std::vector<std::string> below = path;
        below.push_back(verb->get_name());
        add_rows(*verb, below, rows);
    }
}

std::string joined(const std::vector<std::string> &words, const char *between = " ") {
    return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> all_names(const verb_row &row) {
    std::vector<std::string> names;
    for (const option_row &each : row.options)
        names.insert(names.end(), each.names.begin(), each.names.end());
    return names;
}

std::vector<std::string> all_words(const verb_row &row) {
    std::vector<std::string> words = row.verbs;
    words.insert(words.end(), row.words.begin(), row.words.end());
    return words;
}

// Of a case over "$verb:$word": which verb a word leads to, and what is done behind the -- of one that runs programs.
void print_verbs(const std::vector<verb_row> &rows, const char *at_program) {
    for (const verb_row &row : rows) {
        if (!row.path.empty())
            fmt::print("        '{}:{}') verb='{}' ;;\n",
                       joined(std::vector<std::string>(row.path.begin(), row.path.end() - 1)), row.path.back(),
                       joined(row.path));
        if (row.runs_program)
            fmt::print("        '{}:--') {}; return ;;\n", joined(row.path), at_program);
    }
}

std::string bash_action(const option_row &option) {
    switch (option.kind) {
    case value_kind::words:
        return fmt::format("COMPREPLY=($(compgen {}-W '{}' -- \"${{cur##*,}}\"))",
                           option.is_list ? "-P \"${cur%\"${cur##*,}\"}\" " : "", joined(option.words));
    case value_kind::file: return "COMPREPLY=($(compgen -f -- \"$cur\"))";
    case value_kind::directory: return "COMPREPLY=($(compgen -d -- \"$cur\"))";
    case value_kind::none:
    case value_kind::other: break;
    }
    return "COMPREPLY=()";
}

void print_bash(const std::vector<verb_row> &rows) {
    fmt::print("# bash completion of holdfast, made by 'holdfast completion bash'.\n"
               "_holdfast() {{\n"
               "    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb='' word i\n"
               "    COMPREPLY=()\n"
               "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
               "        word=${{COMP_WORDS[i]}}\n"
               "        case \"$verb:$word\" in\n");
    print_verbs(rows, "if ((COMP_CWORD == i + 1)); then COMPREPLY=($(compgen -c -- \"$cur\")); else "
                      "COMPREPLY=($(compgen -f -- \"$cur\")); fi");
    fmt::print("        esac\n    done\n    case \"$verb:$prev\" in\n");
    for (const verb_row &row : rows) {
        for (const option_row &option : row.options) {
            if (option.kind == value_kind::none)
                continue;
            std::vector<std::string> patterns;
            for (const std::string &name : option.names)
                patterns.push_back(fmt::format("'{}:{}'", joined(row.path), name));
            fmt::print("    {}) {}; return ;;\n", joined(patterns, "|"), bash_action(option));
        }
    }
    fmt::print("    esac\n    case \"$verb\" in\n");
    for (const verb_row &row : rows) {
        std::vector<std::string> words = all_words(row);
        fmt::print("    '{}') if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '{}' -- \"$cur\")); else "
                   "COMPREPLY=($(compgen {}-W '{}' -- \"$cur\")); fi ;;\n",
                   joined(row.path), joined(all_names(row)), row.runs_program ? "-c " : "", joined(words));
    }
    fmt::print("    esac\n}}\ncomplete -o bashdefault -o default -F _holdfast holdfast\n");
}

// Within single quotes and brackets, as zsh's and fish's tables have it.
std::string quoted(const std::string &text) {
    std::string safe;
    for (char each : text) {
        if (each == '\'')
            safe += "'\\''";
        else if (each == '[' || each == ']' || each == ':')
            safe += ' ';
        else
            safe += each;
    }
    return safe;
}

std::string zsh_action(const option_row &option) {
    switch (option.kind) {
    case value_kind::none: return "";
    case value_kind::words:
        return option.is_list ? fmt::format(":value:_values -s , value {}", joined(option.words))
                              : fmt::format(":value:({})", joined(option.words));
    case value_kind::file: return ":file:_files";
    case value_kind::directory: return ":directory:_files -/";
    case value_kind::other: break;
    }
    return ":value: ";
}

void print_zsh(const std::vector<verb_row> &rows) {
    fmt::print("#compdef holdfast\n# zsh completion of holdfast, made by 'holdfast completion zsh'.\n"
               "_holdfast() {{\n"
               "    local verb='' word i\n"
               "    for ((i = 2; i < CURRENT; i++)); do\n"
               "        word=$words[i]\n"
               "        case \"$verb:$word\" in\n");
    print_verbs(rows, "shift $i words; ((CURRENT -= i)); _normal");
    fmt::print("        esac\n    done\n    case \"$verb\" in\n");
    for (const verb_row &row : rows) {
        fmt::print("    '{}') _arguments -S", joined(row.path));
        for (const option_row &option : row.options) {
            for (const std::string &name : option.names)
                fmt::print(" \\\n        '{}[{}]{}'", name, quoted(option.summary), zsh_action(option));
        }
        std::vector<std::string> words = all_words(row);
        if (!words.empty())
            fmt::print(" \\\n        '*:word:({})'", joined(words));
        else if (row.runs_program)
            fmt::print(" \\\n        '*:program:_command_names -e'");
        else
            fmt::print(" \\\n        '*:file:_files'");
        fmt::print(" ;;\n");
    }
    fmt::print("    esac\n}}\n_holdfast \"$@\"\n");
}

// When the words so far are the verb's path and no verb below it.
std::string fish_condition(const verb_row &row) {
    if (row.path.empty())
        return "__fish_use_subcommand";
    std::string condition = "__fish_seen_subcommand_from " + row.path.front();
    if (row.path.size() > 1)
        return condition + "; and __fish_seen_subcommand_from " + row.path.back();
    if (!row.verbs.empty())
        condition += "; and not __fish_seen_subcommand_from " + joined(row.verbs);
    return condition;
}

std::string fish_words(const option_row &option) {
    return option.is_list ? fmt::format("(__fish_append , {})", joined(option.words)) : joined(option.words);
}

// It stands beside each of the words, which need not be in it again.
std::string fish_summary(const option_row &option) {
    return option.kind == value_kind::words ? option.summary.substr(0, option.summary.find_first_of(",:("))
                                            : option.summary;
}

void print_fish(const std::vector<verb_row> &rows) {
    fmt::print("# fish completion of holdfast, made by 'holdfast completion fish'.\n");
    for (const verb_row &row : rows) {
        std::string condition = fish_condition(row);
        if (!row.runs_program && (row.path.empty() || !row.words.empty() || !row.verbs.empty()))
            fmt::print("complete -c holdfast -n '{}' -f\n", condition);
        for (const std::string &verb : row.verbs) {
            auto below = std::ranges::find_if(rows, [&](const verb_row &each) {
                return each.path.size() == row.path.size() + 1 && each.path.back() == verb;
            });
            fmt::print("complete -c holdfast -n '{}' -a {} -d '{}'\n", condition, verb,
                       below == rows.end() ? "" : quoted(below->summary));
        }
        if (!row.words.empty())
            fmt::print("complete -c holdfast -n '{}' -a '{}'\n", condition, joined(row.words));
        if (row.runs_program)
            fmt::print("complete -c holdfast -n '{}' -a '(__fish_complete_command)'\n", condition);
        for (const option_row &option : row.options) {
            std::string names;
            for (const std::string &name : option.names)
                names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            std::string value = option.kind == value_kind::none    ? ""
                                : option.kind == value_kind::words ? fmt::format(" -x -a '{}'", fish_words(option))
                                : option.kind == value_kind::other ? " -x"
                                                                   : " -r";
            fmt::print("complete -c holdfast -n '{}'{}{} -d '{}'\n", condition, names, value,
                       quoted(fish_summary(option)));
        }
    }
}

int complete_for(const CLI::App &app, const std::string &shell) {
    std::vector<verb_row> rows;
    add_rows(app, {}, rows);
    if (shell == "bash")
        print_bash(rows);
    else if (shell == "zsh")
        print_zsh(rows);
    else
        print_fish(rows);
    return exit_ok;
}

} // namespace

void add_completion(CLI::App &app, action &chosen) {
    auto shell = std::make_shared<std::string>();
    CLI::App *verb = app.add_subcommand("completion", "Print a shell's completion of this command");
    verb->add_option("shell", *shell, "bash, zsh or fish")
        ->type_name("SHELL")
        ->required()
        ->check(one_of({"bash", "zsh", "fish"}));
    verb->footer("The Debian package has them installed. Elsewhere:\n"
                 "  holdfast completion bash > /etc/bash_completion.d/holdfast\n"
                 "  holdfast completion zsh > /usr/share/zsh/site-functions/_holdfast\n"
                 "  holdfast completion fish > ~/.config/fish/completions/holdfast.fish");
    verb->callback([&app, shell, &chosen] { chosen = [&app, shell] { return complete_for(app, *shell); }; });
}

} // namespace holdfast::cli
