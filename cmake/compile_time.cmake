# SPDX-License-Identifier: MIT OR Apache-2.0
# What makes the whole build shorter where nothing else depends on it.
option(HF_PRECOMPILE "Precompile headers of other projects; off: each source as it is" ON)

include(CMakeDependentOption)
cmake_dependent_option(HF_TOGETHER "Compile the sources of a part together; off: each by itself, which makes a change \
in one of them compile sooner" ON "HF_PRECOMPILE" OFF)

# hf_compile_together(target [PARTS number]): C++ sources of a target as one translation unit, or as so many. Templates
# and inline functions of CLI11, fmt and the JSON library, most of what the compiler has to do for the command, are then
# compiled once and not in each source. Unnamed namespaces are one, too: in a target a name has one meaning.
function(hf_compile_together target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "PARTS" "")
    if(NOT HF_TOGETHER)
        return()
    endif()
    set(size 0)
    if(arg_PARTS)
        get_target_property(sources ${target} SOURCES)
        list(LENGTH sources count)
        math(EXPR size "(${count} + ${arg_PARTS} - 1) / ${arg_PARTS}")
    endif()
    # A class of one source may have fields of a type of its unnamed namespace; the compiler takes all for headers.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size}
        UNITY_BUILD_CODE_BEFORE_INCLUDE "// NOLINTNEXTLINE(bugprone-suspicious-include)")
endfunction()

# hf_precompile(target header...): other projects' headers, which none of ours change.
function(hf_precompile target)
    if(HF_PRECOMPILE)
        target_precompile_headers(${target} PRIVATE ${ARGN})
    endif()
endfunction()

# hf_reuse_precompiled(target from): `from` is of the same kind (both libraries, or both programs).
function(hf_reuse_precompiled target from)
    if(HF_PRECOMPILE)
        target_precompile_headers(${target} REUSE_FROM ${from})
    endif()
endfunction()

# For what nobody looks into with a debugger: lines and functions, as a backtrace needs them, but no variables.
set(HF_LINES_ONLY $<$<CONFIG:RelWithDebInfo>:-g1>)

# For code that waits for others most of the time and that nothing is measured in.
set(HF_LITTLE_OPTIMIZED $<$<CONFIG:RelWithDebInfo>:-O1>)
