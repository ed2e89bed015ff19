# SPDX-License-Identifier: BSD-3-Clause
# Compiles the repaired code of all cases together, each in a namespace of its own: one run of the compiler, not one a case.
# cmake -D compiler= -D cases= -D flags= -D includes= -D headers= -P twins.cmake, cases separated by spaces

cmake_minimum_required(VERSION 3.25)

separate_arguments(cases)
set(included "")
set(code "")
set(number 0)
foreach(case IN LISTS cases)
    file(READ ${case} text)
    string(REGEX MATCHALL "\n#include [^\n]*" lines "${text}")
    list(JOIN lines "" lines)
    string(APPEND included "${lines}")
    string(REGEX REPLACE "\n#include [^\n]*" "\n" text "${text}")
    math(EXPR number "${number} + 1")
    string(APPEND code "\nnamespace case_${number} {\n#line 1 \"${case}\"\n${text}\n}\n")
endforeach()
set(source ${headers}.twins.cpp)
file(WRITE ${source} "${included}\n${code}")

list(TRANSFORM includes PREPEND "-I")
set(ENV{LC_ALL} C)
execute_process(COMMAND ${compiler} -std=c++20 ${flags} -fsyntax-only ${includes} -include ${headers} ${source}
                RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed)
    message(FATAL_ERROR "a twin without the mistake must compile, and does not:\n${output}")
endif()
