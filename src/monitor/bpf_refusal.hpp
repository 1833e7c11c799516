// SPDX-License-Identifier: MIT OR Apache-2.0
// Why the kernel does not take a BPF program, told so that people know what to do.
#pragma once

#include <string>

namespace holdfast {

struct bpf_refusal {
    std::string what;    // was refused: "the Preemption Monitor"
    int error = 0;       // an errno, of the kernel's own (524), too
    std::string program; // of several, where it is known
    std::string line;    // the verifier's, or libbpf's, that tells most; may be empty
    std::string log;     // all that libbpf and the verifier have said

    // With the kernel, the program and what to do. One line.
    std::string sentence() const;
    // Without advice.
    std::string cause() const;
};

// The kernel's type information.
inline constexpr const char *btf_path = "/sys/kernel/btf/vmlinux";

// 0: it can be read. Found out by opening it: Landlock lets access(2) say that it can be.
int open_btf_error();

// What to do where it can't be.
std::string advice_on_btf(int error);

// An errno in words.
std::string error_text(int error);

// Listens to libbpf and the verifier, in this thread, for as long as it lives; one at a time in a thread.
class bpf_log {
public:
    bpf_log();
    ~bpf_log();
    bpf_log(const bpf_log &) = delete;
    bpf_log &operator=(const bpf_log &) = delete;

    // From what was heard since this began.
    bpf_refusal refusal(const std::string &what, int error) const;
};

} // namespace holdfast
