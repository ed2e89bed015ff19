# SPDX-License-Identifier: BSD-3-Clause
# Compiles sources of a target once an architecture, so that one program has the best code for many machines.
#
#   zeropoint_compile_for(<target> SOURCES <file>... [ARCHITECTURES <name>...])
#
# The sources define functions that take an architecture as their first argument, and instantiate them for
# zp::default_architecture; zp::dispatched calls the best copy that the machine at hand has. The other sources of the
# target, its main() among them, are compiled with the flags they have anyway, which should be the lowest.
# docs/dispatch.md shows a whole program, and the same without CMake.
#
# Names of architectures, best first; without ARCHITECTURES those marked with *:
#   x86-64   avx512_amx, avx512vnni_vbmi2, avx512vnni *, avx512bw, avxvnni *, avx2 *, sse4_2, ssse3 *, sse2 *
#   AArch64  sve512_i8mm, sve256_i8mm, sve128_i8mm, i8mm *, sve512, sve256, sve128, dotprod *, neon64 *; on Linux
#   others   default *: what the compiler's flags allow
#
# Each copy is linked into one object whose symbols are local but for those that name its architecture. Otherwise the
# linker would keep one copy of every inline function that they share, std::vector's say, and it could be one with
# instructions that a machine has not.

# Of each: what xsimd calls it, the flags of GCC and Clang, and a pattern of the symbols that name it.
set(ZEROPOINT_ARCHITECTURES_X86_64 avx512_amx avx512vnni_vbmi2 avx512vnni avx512bw avxvnni avx2 sse4_2 ssse3 sse2)
set(zeropoint_avx512 "-mavx2 -mfma -mavx512f -mavx512cd -mavx512dq -mavx512vl -mavx512bw")
set(ZEROPOINT_ARCHITECTURE_avx512vnni_vbmi2 "xsimd::avx512vnni<xsimd::avx512vbmi2>"
    "${zeropoint_avx512} -mavx512ifma -mavx512vbmi -mavx512vbmi2 -mavx512vnni" "*10avx512vnniI*11avx512vbmi2E*")
set(ZEROPOINT_ARCHITECTURE_avx512_amx "zp::avx512_amx"
    "${zeropoint_avx512} -mavx512ifma -mavx512vbmi -mavx512vbmi2 -mavx512vnni -mamx-tile -mamx-int8" "*10avx512_amx*")
set(ZEROPOINT_ARCHITECTURE_avx512vnni "xsimd::avx512vnni<xsimd::avx512bw>" "${zeropoint_avx512} -mavx512vnni"
    "*10avx512vnniI*8avx512bwE*")
set(ZEROPOINT_ARCHITECTURE_avx512bw "xsimd::avx512bw" "${zeropoint_avx512}" "*8avx512bw*")
set(ZEROPOINT_ARCHITECTURE_avxvnni "xsimd::avxvnni" "-mavx2 -mfma -mavxvnni" "*7avxvnni*")
set(ZEROPOINT_ARCHITECTURE_avx2 "xsimd::fma3<xsimd::avx2>" "-mavx2 -mfma" "*4fma3I*4avx2E*")
set(ZEROPOINT_ARCHITECTURE_sse4_2 "xsimd::sse4_2" "-msse4.2" "*6sse4_2*")
set(ZEROPOINT_ARCHITECTURE_ssse3 "xsimd::ssse3" "-mssse3" "*5ssse3*")
set(ZEROPOINT_ARCHITECTURE_sse2 "xsimd::sse2" "-msse2" "*4sse2*")
set(ZEROPOINT_ARCHITECTURES_AARCH64 sve512_i8mm sve256_i8mm sve128_i8mm i8mm sve512 sve256 sve128 dotprod neon64)
foreach(bits IN ITEMS 128 256 512)
    set(ZEROPOINT_ARCHITECTURE_sve${bits}_i8mm "zp::sve_i8mm<${bits}>"
        "-march=armv8.2-a+sve+dotprod+i8mm -msve-vector-bits=${bits}" "*8sve_i8mmILm${bits}E*")
    set(ZEROPOINT_ARCHITECTURE_sve${bits} "xsimd::detail::sve<${bits}>" "-march=armv8.2-a+sve -msve-vector-bits=${bits}"
        "*3sveILm${bits}E*")
endforeach()
set(ZEROPOINT_ARCHITECTURE_i8mm "xsimd::i8mm<xsimd::neon64>" "-march=armv8.2-a+dotprod+i8mm" "*4i8mmI*6neon64E*")
set(ZEROPOINT_ARCHITECTURE_dotprod "zp::neon64_dotprod" "-march=armv8.2-a+dotprod" "*14neon64_dotprod*")
set(ZEROPOINT_ARCHITECTURE_neon64 "xsimd::neon64" "-march=armv8-a" "*6neon64*")
set(ZEROPOINT_ARCHITECTURE_default "zp::default_architecture" "" "*")

function(zeropoint_compile_for target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ARCHITECTURES")
    if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "zeropoint_compile_for(${target}): expected SOURCES <file>... and perhaps ARCHITECTURES "
                            "<name>..., got '${ARGN}'")
    endif()
    set(known default)
    set(best_first default)
    if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND CMAKE_OBJCOPY)
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
            set(known ${ZEROPOINT_ARCHITECTURES_X86_64})
            set(best_first avx512vnni avxvnni avx2 ssse3 sse2)
        elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
            set(known ${ZEROPOINT_ARCHITECTURES_AARCH64})
            set(best_first i8mm dotprod neon64)
        endif()
    endif()
    if(known STREQUAL "default" AND arg_ARCHITECTURES AND NOT arg_ARCHITECTURES STREQUAL "default")
        message(FATAL_ERROR "zeropoint_compile_for(${target}): expected ARCHITECTURES default, because several copies "
                            "are made for x86-64 and for AArch64 Linux only, by GCC or Clang and with objcopy; "
                            "got '${arg_ARCHITECTURES}'")
    endif()
    if(arg_ARCHITECTURES)
        foreach(name IN LISTS arg_ARCHITECTURES)
            if(NOT name IN_LIST known)
                list(JOIN known ", " known)
                message(FATAL_ERROR "zeropoint_compile_for(${target}): expected ARCHITECTURES among ${known}; got '${name}'")
            endif()
        endforeach()
        set(best_first ${known})
        list(JOIN arg_ARCHITECTURES "|" chosen)
        list(FILTER best_first INCLUDE REGEX "^(${chosen})$")
    endif()

    set(tags)
    foreach(name IN LISTS best_first)
        list(GET ZEROPOINT_ARCHITECTURE_${name} 0 tag)
        list(GET ZEROPOINT_ARCHITECTURE_${name} 1 flags)
        list(GET ZEROPOINT_ARCHITECTURE_${name} 2 symbols)
        list(APPEND tags ${tag})
        if(name STREQUAL "default")
            target_sources(${target} PRIVATE ${arg_SOURCES})
            continue()
        endif()
        # Compiled as the target is; the architecture's flags come behind its own.
        set(copy ${target}.${name})
        add_library(${copy} STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
        target_link_libraries(${copy} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
        target_include_directories(${copy} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
        target_compile_definitions(${copy} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
        separate_arguments(flags UNIX_COMMAND "${flags}")
        target_compile_options(${copy} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS> ${flags})
        if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
            target_compile_options(${copy} PRIVATE -fno-gnu-unique)  # objcopy cannot make unique symbols local
        endif()
        if(name MATCHES "^avx512" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
            # GCC bug 105593: its own headers of AVX-512 are said to use what is uninitialized.
            target_compile_options(${copy} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
        endif()
        set_target_properties(${copy} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF
            POSITION_INDEPENDENT_CODE $<BOOL:$<TARGET_PROPERTY:${target},POSITION_INDEPENDENT_CODE>>)
        target_compile_definitions(${copy} PRIVATE "ZEROPOINT_EXPECTED_ARCHITECTURE=${tag}")
        set(object ${CMAKE_CURRENT_BINARY_DIR}/${copy}${CMAKE_CXX_OUTPUT_EXTENSION})
        add_custom_command(
            OUTPUT ${object} VERBATIM
            COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} --whole-archive
                    $<TARGET_FILE:${copy}>
            COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=${symbols} ${object}
            DEPENDS ${copy} COMMENT "Closing ${object}")
        set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
        target_sources(${target} PRIVATE ${object})
    endforeach()
    list(JOIN tags "," tags)
    target_compile_definitions(${target} PRIVATE "ZEROPOINT_COMPILED_ARCHITECTURES=${tags}")
endfunction()
