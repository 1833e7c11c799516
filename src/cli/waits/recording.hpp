// SPDX-License-Identifier: MIT OR Apache-2.0
// What 'holdfast record' writes: single waits with their stacks, named, so that it can be read anywhere.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/waits/lock_wait.hpp"

namespace holdfast::cli {

class recording : public wait_names {
public:
    // Keeps the wait, and all that names it. False: there are so many that it was not kept.
    bool add(const lock_wait &wait, const wait_names &names);
    static constexpr std::size_t waits_max = 2'000'000;

    nlohmann::ordered_json &about() { return about_; }
    const nlohmann::ordered_json &about() const { return about_; }
    const std::vector<lock_wait> &waits() const { return waits_; } // in the order of their ends
    const std::vector<holder_preemption> &preemptions() const { return preemptions_; }
    void add(const holder_preemption &of, const wait_names &names);
    std::vector<watched_process> processes() const;

    const call_chain &chain(chain_number number) const override;

    std::string text() const;
    // Nothing when the text is no recording at all; throws usage_error when it is a broken one.
    static std::optional<recording> read(const std::string &text);

    recording() = default;
    recording(recording &&) = default;

private:
    chain_number keep(chain_number number, const wait_names &names);

    nlohmann::ordered_json about_;
    std::vector<lock_wait> waits_;
    std::vector<holder_preemption> preemptions_;
    std::vector<call_chain> chains_ = {{}};
    std::map<chain_number, chain_number> kept_as_ = {{no_chain, no_chain}};
};

} // namespace holdfast::cli
