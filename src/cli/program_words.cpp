// SPDX-License-Identifier: MIT OR Apache-2.0
#include "cli/program_words.hpp"

#include <CLI/CLI.hpp>

namespace holdfast::cli {
namespace {

bool is_option(const std::string &word) {
    return word.size() > 1 && word.front() == '-';
}

// Has the option its value in the word behind it?
bool value_follows(const CLI::App &verb, const std::string &word) {
    const CLI::Option *option = verb.get_option_no_throw(word); // none when it has its value behind a =
    return option && option->get_items_expected_min() > 0;
}

// Null: it is none.
const CLI::App *verb_named(const CLI::App &app, const std::string &word) {
    auto named = app.get_subcommands([&](const CLI::App *each) { return each->get_name() == word; });
    return named.empty() ? nullptr : named.front();
}

bool is_list(const CLI::Option *option) {
    return option && (option->get_delimiter() == ',' || option->check_lname("conf"));
}

bool has_empty_item(const std::string &list) {
    return list.starts_with(',') || list.ends_with(',') || list.find(",,") != std::string::npos;
}

} // namespace

std::vector<std::string> with_program_marked(const CLI::App &app, std::vector<std::string> words) {
    const CLI::App *named = words.empty() ? nullptr : verb_named(app, words.front());
    if (!named || !named->get_option_no_throw("program"))
        return words;
    const CLI::App &verb = *named;
    std::size_t word = 1;
    while (word < words.size() && is_option(words[word]) && words[word] != "--")
        word += value_follows(verb, words[word]) ? 2 : 1;
    if (word < words.size() && words[word] != "--")
        words.insert(words.begin() + static_cast<std::ptrdiff_t>(word), "--");
    return words;
}

std::string list_with_empty_item(const CLI::App &app, const std::vector<std::string> &words) {
    const CLI::App *verb = &app;
    for (std::size_t at = 0; at < words.size() && words[at] != "--"; at++) {
        if (!is_option(words[at])) {
            const CLI::App *named = verb_named(*verb, words[at]);
            verb = named ? named : verb;
            continue;
        }
        std::size_t equals = words[at].find('=');
        std::string name = words[at].substr(0, equals), value;
        if (equals != std::string::npos)
            value = words[at].substr(equals + 1);
        else if (value_follows(*verb, name) && at + 1 < words.size())
            value = words[++at];
        if (is_list(verb->get_option_no_throw(name)) && has_empty_item(value))
            return name + " '" + value + "'";
    }
    return "";
}

} // namespace holdfast::cli
