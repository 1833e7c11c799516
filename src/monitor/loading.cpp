// SPDX-License-Identifier: MIT OR Apache-2.0
#include "monitor/loading.hpp"

#include "monitor/bpf_refusal.hpp"
#include "monitor/bpf_rights.hpp"

namespace holdfast {
namespace {

class loader {
public:
    loader(const monitor_pins &pins, monitor_sight seen) : pins_(pins), seen_(seen) {}

    // At most one is loaded at a time: two would count on one page.
    bool takes(std::uint32_t parts) {
        programs_ = nullptr;
        try {
            programs_ = std::make_unique<monitor_programs>(pins_, seen_, parts);
        } catch (const bpf_refusal &refusal) {
            refusal_ = refusal;
        }
        return programs_ != nullptr;
    }

    const bpf_refusal &refusal() const { return refusal_; }
    std::unique_ptr<monitor_programs> programs() { return std::move(programs_); }

private:
    const monitor_pins &pins_;
    monitor_sight seen_;
    bpf_refusal refusal_;
    std::unique_ptr<monitor_programs> programs_;
};

[[noreturn]] void give_up(const bpf_refusal &refusal) {
    throw monitor_unavailable(refusal.sentence(), refusal.log);
}

} // namespace

loaded_monitor load_what_the_kernel_takes(const monitor_pins &pins, monitor_sight seen) {
    loader kernel(pins, seen);
    if (kernel.takes(HF_PARTS_ALL))
        return {.programs = kernel.programs(), .left_out = {}};
    if (!own_bpf_rights().suffice() || !kernel.takes(HF_PART_CORE))
        give_up(kernel.refusal());
    std::vector<left_out_part> left_out;
    std::uint32_t taken = HF_PART_CORE;
    bool is_loaded = true;
    for (const monitor_part &each : monitor_parts()) {
        if ((taken & each.needs) != each.needs) {
            left_out.push_back({.part = each, .why = "it is of no use without the part before", .log = ""});
            continue;
        }
        is_loaded = kernel.takes(taken | each.bit);
        if (is_loaded)
            taken |= each.bit;
        else
            left_out.push_back({.part = each, .why = kernel.refusal().cause(), .log = kernel.refusal().log});
    }
    if (!is_loaded && !kernel.takes(taken))
        give_up(kernel.refusal());
    return {.programs = kernel.programs(), .left_out = std::move(left_out)};
}

} // namespace holdfast
