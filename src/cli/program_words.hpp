// SPDX-License-Identifier: MIT OR Apache-2.0
// Words of the command line, before they are parsed: where those of a program begin, and what a list lacks.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

// The words of a command line, without the command's own name. Of a verb that has an option "program" they come back
// with -- before the first word that is neither an option of the verb's nor the value of one: so all behind the
// program's name is the program's, as with env, nice or sudo. Others come back as they are.
std::vector<std::string> with_program_marked(const CLI::App &app, std::vector<std::string> words);

// Of the words that come back from that: the first list between commas with an empty item, and the option that it is
// of, as in "--threads '1,,2'": the parser would leave the item out and say nothing. Empty: there is none.
std::string list_with_empty_item(const CLI::App &app, const std::vector<std::string> &words);

} // namespace holdfast::cli
