# SPDX-License-Identifier: MIT OR Apache-2.0
# hf_add_bpf(name source): compiles a BPF program and makes <name>.skel.h, which loads it, available to targets that
# link hf_bpf_<name>.

# Ubuntu's /usr/sbin/bpftool is a script that refuses to work when the running kernel is not Ubuntu's newest.
function(hf_bpftool_works result tool)
    execute_process(COMMAND ${tool} version RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()
file(GLOB kernel_tools /usr/lib/linux-tools/* /usr/lib/linux-tools-*)
find_program(HF_BPFTOOL NAMES bpftool PATHS /usr/sbin /sbin /usr/local/sbin ${kernel_tools} VALIDATOR hf_bpftool_works)
if(NOT HF_BPFTOOL)
    message(FATAL_ERROR "bpftool, which embeds the BPF programs into the command, is missing: install your "
        "distribution's package bpftool (linux-tools-generic on Ubuntu), or set HF_BPFTOOL")
endif()

# What sources include and only a build makes; enough for ./dev lint.
add_custom_target(generated_headers)

function(hf_add_bpf name source)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
    set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
    add_custom_command(
        OUTPUT ${object}
        COMMAND ${HF_CLANG} -target bpf -mcpu=v3 -g -O2 -Wall -Werror -D__TARGET_ARCH_${HF_BPF_ARCH}
                -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/src/monitor/bpf/architecture/${HF_BPF_ARCH}
                -MD -MF ${object}.d -MT ${object}
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
