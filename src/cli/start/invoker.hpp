// SPDX-License-Identifier: MIT OR Apache-2.0
// The user on whose behalf holdfast runs. The monitor may need root's rights; the program that is run must not get them
// just for that.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::cli {

struct invoker {
    uid_t uid;
    gid_t gid;
    std::vector<gid_t> groups;
    std::string name;
    std::string home;
    std::string shell;
};

// The user who called sudo, when sudo started us as root; nobody otherwise. (Rights from file capabilities need no such
// care: they are not passed on by exec.) Throws failure when sudo's variables name nobody.
std::optional<invoker> invoker_before_sudo();

} // namespace holdfast::cli
