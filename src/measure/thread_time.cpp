// SPDX-License-Identifier: MIT OR Apache-2.0
#include "measure/thread_time.hpp"

namespace holdfast::cli {

void to_json(nlohmann::ordered_json &target, const thread_time &time) {
    target = {{"cpu_s", time.cpu_s}, {"held_s", time.held_s}, {"opportunity_s", time.opportunity_s}};
}

void from_json(const nlohmann::ordered_json &source, thread_time &time) {
    source.at("cpu_s").get_to(time.cpu_s);
    source.at("held_s").get_to(time.held_s);
    source.at("opportunity_s").get_to(time.opportunity_s);
}

} // namespace holdfast::cli
