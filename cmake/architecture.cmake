# SPDX-License-Identifier: MIT OR Apache-2.0
# What differs between architectures is in headers of one name: src/base/architecture/<architecture>/, else those for
# any in generic/. They are included by that name alone.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(HF_ARCHITECTURE x86_64)
    set(HF_BPF_ARCH x86) # as libbpf's headers call it
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(HF_ARCHITECTURE aarch64)
    set(HF_BPF_ARCH arm64)
else()
    set(HF_ARCHITECTURE generic)
    set(HF_BPF_ARCH ${CMAKE_SYSTEM_PROCESSOR})
    message(WARNING "Holdfast was never tried on ${CMAKE_SYSTEM_PROCESSOR}; its monitor does not work there")
endif()
set(HF_ARCHITECTURE_INCLUDES ${PROJECT_SOURCE_DIR}/src/base/architecture/${HF_ARCHITECTURE})
list(APPEND HF_ARCHITECTURE_INCLUDES ${PROJECT_SOURCE_DIR}/src/base/architecture/generic)
