# SPDX-License-Identifier: MIT OR Apache-2.0
# The newest clang from 14 on, whatever this distribution calls it: HF_CLANG for BPF and C, HF_CLANGXX for C++ (tests
# only; empty without).
function(hf_is_new_enough result compiler)
    execute_process(COMMAND ${compiler} -dumpversion OUTPUT_VARIABLE version ERROR_QUIET)
    if(NOT version VERSION_GREATER_EQUAL 14)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

set(names)
foreach(version RANGE 30 14 -1)
    list(APPEND names clang-${version})
endforeach()
find_program(HF_CLANG NAMES ${names} clang VALIDATOR hf_is_new_enough)
list(TRANSFORM names REPLACE "clang" "clang++")
find_program(HF_CLANGXX NAMES ${names} clang++ VALIDATOR hf_is_new_enough)
if(NOT HF_CLANG)
    message(FATAL_ERROR "clang 14 or later, which compiles the BPF programs, is missing: install your distribution's "
        "package clang, or set HF_CLANG")
endif()
