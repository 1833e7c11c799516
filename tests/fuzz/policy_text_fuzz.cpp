// SPDX-License-Identifier: MIT OR Apache-2.0
// Any text as HOLDFAST_CONF: what is read is a policy of known names; what is not is a sentence, and changes nothing.
#include <cstdlib>
#include <cstring>
#include <string>

#include "config/policy_text.h"

static void check(const hf_policy_value &value) {
    const hf_lock_parameters &said = value.parameters;
    bool knows_slices = value.lock && std::strstr(value.lock, "scl");
    if ((value.lock && std::strlen(value.lock) == 0) || said.slice_us_plus_1 > 100'001 ||
        (said.slice_us_plus_1 && !knows_slices) || said.inactive_ms > 10'000 ||
        (said.read_share == 0) != (said.write_share == 0))
        std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    if (bytes < 1)
        return 0;
    std::string text(reinterpret_cast<const char *>(data + 1), bytes - 1);
    hf_policy_text policy{}, before{};
    std::string complaint(1 + data[0], '\1'); // of any length
    if (hf_policy_text_read(text.c_str(), &policy, complaint.data(), complaint.size())) {
        for (const hf_policy_value &value : policy.value)
            check(value);
        for (unsigned i = 0; i < policy.rules; i++) {
            check(policy.rule[i].value);
            bool has_kind = policy.rule[i].kind == HF_OBJECT_MUTEX || policy.rule[i].kind == HF_OBJECT_RWLOCK;
            if (!has_kind || !policy.rule[i].value.lock || std::strlen(policy.rule[i].place) == 0)
                std::abort();
        }
    } else if (std::memcmp(&policy, &before, sizeof(policy)) != 0 || complaint.find('\0') == std::string::npos) {
        std::abort();
    }
    return 0;
}
