// SPDX-License-Identifier: MIT OR Apache-2.0
// Any text as HOLDFAST_CONF: what is read is a policy of known names; what is not is a sentence, and changes nothing.
#include <cstdlib>
#include <cstring>
#include <string>

#include "preload/policy_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t bytes) {
    if (bytes < 1)
        return 0;
    std::string text(reinterpret_cast<const char *>(data + 1), bytes - 1);
    hf_policy_text policy{}, before{};
    std::string complaint(1 + data[0], '\1'); // of any length
    if (hf_policy_text_read(text.c_str(), &policy, complaint.data(), complaint.size())) {
        for (const char *value : policy.value)
            if (value && std::strlen(value) == 0)
                std::abort();
    } else if (std::memcmp(&policy, &before, sizeof(policy)) != 0 || complaint.find('\0') == std::string::npos) {
        std::abort();
    }
    return 0;
}
