# SPDX-License-Identifier: BSD-3-Clause
# Puts a file's bytes into a program: those of a packed image into a microcontroller's flash, say.
#
#   zeropoint_embed(<target> <file> [SYMBOL <name>] [SECTION <section>] [METHOD embed|incbin|array])
#
# Afterwards sources of the target may include <name.hpp>, which has, for a file keyword_net.image,
#
#   inline constexpr std::size_t keyword_net_bytes = 26048;
#   inline std::span<const std::byte, keyword_net_bytes> keyword_net() noexcept;
#
# The name is the file's without its last extension, or SYMBOL. The bytes lie at a 64-byte boundary among read-only data, or in SECTION: a linker
# script then says where, in flash that is executed in place for instance. The file may be made when the project is built: name
# it by its whole path. Without METHOD it is the first that the compiler has:
#
#   embed    #embed: Clang 19 or newer, GCC 15 or newer
#   incbin   the assembler's .incbin, by GCC or Clang for ELF, Mach-O and WebAssembly is left to the next
#   array    a list of numbers: any compiler, slow from a megabyte on
#
# Without CMake: `zeropoint embed keyword_net.image -o keyword_net.hpp`, of the Python package.

# As a script, cmake -D FILE=... -D SYMBOL=... -D METHOD=... -D SECTION=... -D HEADER=... -D SOURCE=... -P this, it writes both files.
if(CMAKE_SCRIPT_MODE_FILE AND DEFINED SOURCE)
    cmake_minimum_required(VERSION 3.25)
    if(NOT EXISTS ${FILE})
        message(FATAL_ERROR "zeropoint_embed: there is no file ${FILE}: name one that exists, or that a custom command makes")
    endif()
    file(SIZE ${FILE} size)
    if(size EQUAL 0)
        message(FATAL_ERROR "zeropoint_embed: ${FILE} is empty")
    endif()
    get_filename_component(name ${FILE} NAME)
    set(attribute)
    if(SECTION)
        set(attribute "[[gnu::section(\"${SECTION}\")]] ")
    endif()
    file(WRITE ${HEADER}.new "// The bytes of ${name}. Made by zeropoint_embed().
#pragma once

#include <cstddef>
#include <span>

inline constexpr std::size_t ${SYMBOL}_bytes = ${size};
extern \"C\" const unsigned char ${SYMBOL}_data[${SYMBOL}_bytes];

/// At a 64-byte boundary.
inline std::span<const std::byte, ${SYMBOL}_bytes> ${SYMBOL}() noexcept {
    return std::as_bytes(std::span(${SYMBOL}_data));
}
")
    set(begin "// The bytes of ${name}. Made by zeropoint_embed().\n")
    string(APPEND array "#include \"${SYMBOL}.hpp\"\n\n${attribute}alignas(64) constinit "
           "const unsigned char ${SYMBOL}_data[${SYMBOL}_bytes] = {\n")
    if(METHOD STREQUAL "embed")
        set(text "${begin}${array}#embed \"${FILE}\"\n};\n")
    elseif(METHOD STREQUAL "array")
        file(READ ${FILE} numbers HEX)
        string(REPEAT "[0-9a-f]" 48 line)
        string(REGEX REPLACE "(${line})" "\\1\n" numbers "${numbers}")
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," numbers "${numbers}")
        set(text "${begin}${array}${numbers}\n};\n")
    else()
        set(section ".rodata.${SYMBOL}_data")
        if(SECTION)
            set(section ${SECTION})
        endif()
        set(text "${begin}
asm(\".section ${section}, \\\"a\\\", %progbits\\n\"
    \".balign 64\\n\"
    \".global ${SYMBOL}_data\\n\"
    \".type ${SYMBOL}_data, %object\\n\"
    \"${SYMBOL}_data:\\n\"
    \".incbin \\\"${FILE}\\\"\\n\"
    \".size ${SYMBOL}_data, . - ${SYMBOL}_data\\n\"
    \".previous\\n\");
")
    endif()
    file(WRITE ${SOURCE} "${text}")
    file(COPY_FILE ${HEADER}.new ${HEADER} ONLY_IF_DIFFERENT)
    return()
endif()

set(ZEROPOINT_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

# The first method that the compiler has.
function(zeropoint_choose_embed_method result)
    if(NOT DEFINED ZEROPOINT_HAS_EMBED)
        include(CheckCXXSourceCompiles)
        set(probe ${CMAKE_CURRENT_BINARY_DIR}/zeropoint_embed_probe)
        file(WRITE ${probe} "x")
        set(CMAKE_REQUIRED_QUIET TRUE)
        check_cxx_source_compiles("
            #if !defined(__has_embed)
            #error no #embed
            #elif __has_embed(\"${probe}\") != __STDC_EMBED_FOUND__
            #error not found
            #endif
            constexpr unsigned char bytes[] = {
            #embed \"${probe}\"
            };
            static_assert(sizeof bytes == 1 && bytes[0] == 'x');
            int main() {}" ZEROPOINT_HAS_EMBED)
    endif()
    if(ZEROPOINT_HAS_EMBED)
        set(${result} embed PARENT_SCOPE)
        return()
    endif()
    if(NOT DEFINED ZEROPOINT_HAS_INCBIN)
        include(CheckCXXSourceCompiles)
        set(CMAKE_REQUIRED_QUIET TRUE)
        check_cxx_source_compiles("
            #if !defined(__ELF__) || !defined(__GNUC__) || defined(__wasm__)
            #error not the assembler that is known here
            #endif
            int main() {}" ZEROPOINT_HAS_INCBIN)
    endif()
    if(ZEROPOINT_HAS_INCBIN)
        set(${result} incbin PARENT_SCOPE)
    else()
        set(${result} array PARENT_SCOPE)
    endif()
endfunction()

function(zeropoint_embed target file)
    cmake_parse_arguments(PARSE_ARGV 2 arg "" "SYMBOL;SECTION;METHOD" "")
    if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "zeropoint_embed(${target} ${file}): expected [SYMBOL <name>] [SECTION <section>] "
                            "[METHOD embed|incbin|array], got '${ARGN}'")
    endif()
    if(NOT TARGET ${target})
        message(FATAL_ERROR "zeropoint_embed(${target} ${file}): expected a target, and '${target}' is none: call it "
                            "behind add_executable() or add_library()")
    endif()
    get_filename_component(file ${file} ABSOLUTE)
    if(NOT arg_SYMBOL)
        get_filename_component(arg_SYMBOL ${file} NAME_WLE)
    endif()
    if(NOT arg_SYMBOL MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
        message(FATAL_ERROR "zeropoint_embed(${target} ${file}): expected a name of C++, got '${arg_SYMBOL}': give another "
                            "by SYMBOL <name>")
    endif()
    if(NOT arg_METHOD)
        zeropoint_choose_embed_method(arg_METHOD)
    elseif(NOT arg_METHOD MATCHES "^(embed|incbin|array)$")
        message(FATAL_ERROR "zeropoint_embed(${target} ${file}): expected METHOD embed, incbin or array, got '${arg_METHOD}'")
    endif()
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded)
    set(header ${folder}/${arg_SYMBOL}.hpp)
    set(source ${folder}/${arg_SYMBOL}.cpp)
    add_custom_command(
        OUTPUT ${header} ${source} VERBATIM
        COMMAND ${CMAKE_COMMAND} -D FILE=${file} -D SYMBOL=${arg_SYMBOL} -D METHOD=${arg_METHOD} -D SECTION=${arg_SECTION}
                -D HEADER=${header} -D SOURCE=${source} -P ${ZEROPOINT_EMBED_SCRIPT}
        DEPENDS ${file} ${ZEROPOINT_EMBED_SCRIPT} COMMENT "Embedding ${file}")
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${file} SKIP_PRECOMPILE_HEADERS ON)
    if(arg_METHOD STREQUAL "embed" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Wno-c23-extensions")
    elseif(arg_METHOD STREQUAL "embed")
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-Wno-pedantic")
    endif()
    target_sources(${target} PRIVATE ${source} ${header})
    target_include_directories(${target} PRIVATE ${folder})
endfunction()
