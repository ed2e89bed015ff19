# SPDX-License-Identifier: BSD-3-Clause
# Judges one must-fail case: cmake -D compiler= -D compiler_id= -D case= -D flags= -D includes= -D headers= [-D told=] -P check.cmake
# `headers` is a file that precompile.cmake has precompiled, `compiler_id` is CMake's: GNU, Clang. `told` is the folder where together.py wrote
# what the compiler said of each case. Where that is not as it should be, the case is compiled alone, and that counts.
#
# One mistake is one error: `// errors: GNU 4, Clang 4` in the second line allows more, where the compiler itself must say them before any
# of our sentences. No case has more lines than one reads.

cmake_minimum_required(VERSION 3.25)

file(STRINGS ${case} first LIMIT_COUNT 1)
if(NOT first MATCHES "^// expect: (.+)$")
    message(FATAL_ERROR "${case}: the first line must be '// expect: <regex>'")
endif()
set(expected "${CMAKE_MATCH_1}")
set(most_errors 1)
set(most_lines 75)
file(STRINGS ${case} limits REGEX "^// errors: ")
if(limits MATCHES "// errors: [^\n]*${compiler_id} ([0-9]+)")
    set(most_errors ${CMAKE_MATCH_1})
endif()
file(STRINGS ${case} branches REGEX "^#(ifdef ZEROPOINT_MUST_FAIL|else)")
list(LENGTH branches count)
if(NOT count EQUAL 2)
    message(FATAL_ERROR "${case}: it must have one #ifdef ZEROPOINT_MUST_FAIL with an #else, the twin that compiles")
endif()

# Sets `complaint`, which is empty where `output` is what its user should read, and `found`, the line that says it.
function(judge output)
    set(complaint "" PARENT_SCOPE)
    # Square brackets and semicolons are syntax in CMake lists: matched line by line in the text instead.
    if(NOT "\n${output}" MATCHES "\n[^\n]*error[^\n]*")
        set(complaint "the compiler failed without an error line" PARENT_SCOPE)
        return()
    endif()
    string(REGEX REPLACE "[][;]" " " text "${output}")
    string(REPLACE "\n" ";" lines "${text}")
    list(FILTER lines INCLUDE REGEX "(error|static assertion|static_assert)")
    list(FILTER lines INCLUDE REGEX "${expected}")
    if(NOT lines)
        set(complaint "no error line matches\n  ${expected}" PARENT_SCOPE)
        return()
    endif()
    list(GET lines 0 line)
    string(REGEX MATCHALL "error: " errors "${output}")
    list(LENGTH errors errors)
    string(REGEX MATCHALL "\n" ends "${output}")
    list(LENGTH ends length)
    if(errors GREATER most_errors OR length GREATER most_lines)
        set(complaint "${errors} errors in ${length} lines, where ${most_errors} in ${most_lines} are enough" PARENT_SCOPE)
    endif()
    set(found "${errors} errors, ${length} lines: ${line}" PARENT_SCOPE)
endfunction()

if(told)
    get_filename_component(name ${case} NAME_WE)
    file(READ ${told}/${name}.txt output)
    judge("${output}")
    if(NOT complaint)
        message(STATUS "among others, ${found}")
        return()
    endif()
endif()

list(TRANSFORM includes PREPEND "-I")
set(ENV{LC_ALL} C)
execute_process(COMMAND ${compiler} -std=c++20 ${flags} -fsyntax-only ${includes} -include ${headers} -DZEROPOINT_MUST_FAIL ${case}
                RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT failed)
    message(FATAL_ERROR "${case}: this must not compile, and does")
endif()
judge("${output}")
if(complaint)
    message(FATAL_ERROR "${case}: ${complaint}. The compiler said:\n${output}")
endif()
message(STATUS "${found}")
