# SPDX-License-Identifier: BSD-3-Clause
# zeropoint::compiled: what does not depend on a user's model, compiled once. The same headers, which then declare it
# `extern template`: include/zeropoint/compiled/ has the lists. Nothing of it is compiled before a target links it, or
# ZEROPOINT_INSTALL_COMPILED asks for it.
#
# Programs must be compiled for the architecture of the library, so its flags are theirs. In a build of this repository's own
# tests they are those of the tests.

set(ZEROPOINT_COMPILED_FLAGS "${ZEROPOINT_TEST_ARCH_FLAGS}" CACHE STRING
    "Architecture flags of zeropoint::compiled and of all that link it, such as -mavx2 -mfma; empty for the compiler's baseline")
option(ZEROPOINT_INSTALL_COMPILED "Compile and install zeropoint::compiled as well" OFF)

add_library(zeropoint_compiled STATIC)
add_library(zeropoint::compiled ALIAS zeropoint_compiled)
set_target_properties(zeropoint_compiled PROPERTIES EXPORT_NAME compiled POSITION_INDEPENDENT_CODE ON)  # for plugins: same size, same speed
if(NOT ZEROPOINT_INSTALL_COMPILED)
    set_target_properties(zeropoint_compiled PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
file(GLOB sources CONFIGURE_DEPENDS src/*.cpp)
target_sources(zeropoint_compiled PRIVATE ${sources})
target_link_libraries(zeropoint_compiled PUBLIC zeropoint)
target_compile_definitions(zeropoint_compiled INTERFACE ZEROPOINT_COMPILED)
separate_arguments(flags UNIX_COMMAND "${ZEROPOINT_COMPILED_FLAGS}")
target_compile_options(zeropoint_compiled PUBLIC ${flags})
if(TARGET zeropoint_warnings)
    target_compile_options(zeropoint_compiled PRIVATE $<TARGET_PROPERTY:zeropoint_warnings,INTERFACE_COMPILE_OPTIONS>)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    # A program links the functions it calls and no others.
    target_compile_options(zeropoint_compiled PRIVATE -ffunction-sections -fdata-sections)
    if(APPLE)
        target_link_options(zeropoint_compiled INTERFACE LINKER:-dead_strip)
    elseif(UNIX)
        target_link_options(zeropoint_compiled INTERFACE LINKER:--gc-sections)
    endif()
endif()
