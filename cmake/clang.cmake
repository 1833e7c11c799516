# SPDX-License-Identifier: MIT OR Apache-2.0
# The newest clang from 14 on, whatever this distribution calls it: HF_CLANG, for BPF. And for tests alone HF_CLANGXX,
# the newest that has libFuzzer and sanitizers, empty without; Debian has those in packages of their own.
function(hf_is_new_enough result compiler)
    execute_process(COMMAND ${compiler} -dumpversion OUTPUT_VARIABLE version ERROR_QUIET)
    if(NOT version VERSION_GREATER_EQUAL 14)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

function(hf_can_fuzz result compiler)
    set(probe ${CMAKE_BINARY_DIR}/CMakeFiles/fuzz_probe)
    file(WRITE ${probe}.cpp
        "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long) { return 0; }\n")
    execute_process(COMMAND ${compiler} -std=c++20 -fsanitize=fuzzer,address ${probe}.cpp -o ${probe}
        RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    if(NOT status EQUAL 0)
        set(${result} FALSE PARENT_SCOPE)
    endif()
endfunction()

set(names)
foreach(version RANGE 30 14 -1)
    list(APPEND names clang-${version})
endforeach()
find_program(HF_CLANG NAMES ${names} clang VALIDATOR hf_is_new_enough)
if(NOT HF_CLANG)
    message(FATAL_ERROR "clang 14 or later, which compiles the BPF programs, is missing: install your distribution's "
        "package clang, or set HF_CLANG")
endif()
if(HF_TESTS)
    list(TRANSFORM names REPLACE "clang" "clang++")
    find_program(HF_CLANGXX NAMES ${names} clang++ VALIDATOR hf_can_fuzz)
endif()
