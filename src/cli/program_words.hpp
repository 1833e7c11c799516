// SPDX-License-Identifier: MIT OR Apache-2.0
// Where on the command line the words of a program begin.
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

} // namespace holdfast::cli
