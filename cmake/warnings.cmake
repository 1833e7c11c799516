# SPDX-License-Identifier: MIT OR Apache-2.0
# Flags that every target of ours is compiled with.
add_library(hf_flags INTERFACE)
target_compile_options(hf_flags INTERFACE
    -Wall -Wextra -Wshadow -Wpointer-arith $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
target_compile_definitions(hf_flags INTERFACE _GNU_SOURCE $<$<BOOL:${HF_CHECKS}>:HF_CHECKS>)
target_include_directories(hf_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
    ${HF_ARCHITECTURE_INCLUDES})

if(HF_SANITIZER)
    add_compile_options(-fsanitize=${HF_SANITIZER} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${HF_SANITIZER})
endif()
