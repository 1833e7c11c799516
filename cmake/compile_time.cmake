# SPDX-License-Identifier: MIT OR Apache-2.0
# What makes the whole build shorter where nothing else depends on it.
option(HF_PRECOMPILE "Precompile headers of other projects; off: a missing #include shows (as in ./dev lint)" ON)

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
