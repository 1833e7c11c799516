# SPDX-License-Identifier: MIT OR Apache-2.0
# hf_add_bpf(name source): compiles a BPF program and makes <name>.skel.h, which loads it, available to targets that
# link hf_bpf_<name>.
find_program(HF_BPF_CLANG NAMES clang-16 clang REQUIRED)
find_program(HF_BPFTOOL NAMES bpftool PATHS /usr/sbin REQUIRED)

# What sources include and only a build makes; enough for ./dev lint.
add_custom_target(generated_headers)

function(hf_add_bpf name source)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
    set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
    add_custom_command(
        OUTPUT ${object}
        COMMAND ${HF_BPF_CLANG} -target bpf -mcpu=v3 -g -O2 -Wall -Werror -D__TARGET_ARCH_${HF_BPF_ARCH}
                -I${PROJECT_SOURCE_DIR}/src -MD -MF ${object}.d -MT ${object}
                -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
        DEPENDS ${source}
        DEPFILE ${object}.d
        COMMENT "Compiling BPF program ${name}")
    add_custom_command(
        OUTPUT ${skeleton}
        COMMAND ${HF_BPFTOOL} gen skeleton ${object} name ${name} > ${skeleton}
        DEPENDS ${object}
        COMMENT "Generating ${name}.skel.h")
    add_custom_target(hf_bpf_${name}_skeleton DEPENDS ${skeleton})
    add_dependencies(generated_headers hf_bpf_${name}_skeleton)
    add_library(hf_bpf_${name} INTERFACE)
    add_dependencies(hf_bpf_${name} hf_bpf_${name}_skeleton)
    target_include_directories(hf_bpf_${name} INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
