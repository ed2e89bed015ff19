# SPDX-License-Identifier: BSD-3-Clause
# Compiles all headers without exceptions and run-time type information, and looks for forms of operators that nobody asked for: a call
# in a header that depends on no template argument is instantiated where it is written, and every program pays for it (decision 0038).
# g++ -Q prints what it instantiates; other compilers only compile.
# Arguments: COMPILER, COMPILER_ID, FLAGS, SOURCE

if(COMPILER_ID STREQUAL GNU)
    list(APPEND FLAGS -Q)
endif()
set(ENV{LC_ALL} C)
execute_process(COMMAND ${COMPILER} ${FLAGS} -fno-exceptions -fno-rtti -fsyntax-only ${SOURCE}
                RESULT_VARIABLE failed ERROR_VARIABLE output)
if(failed)
    string(FIND "${output}" " error: " first)
    string(SUBSTRING "${output}" ${first} 4000 output)
    message(FATAL_ERROR "${SOURCE} does not compile without exceptions:\n${output}")
endif()
if(COMPILER_ID STREQUAL GNU)
    string(REGEX REPLACE "[][;]" "|" output "${output}")  # lists of CMake
    if(NOT output MATCHES "run_operator\\(const zp")
        message(FATAL_ERROR "-Q names no run_operator: this test sees nothing")
    endif()
    string(REGEX MATCHALL "run_operator\\([^()|]*\\) +(noexcept )?.with Operator = [^|]*.[^|]*.[^|]*" forms "${output}")
    if(forms)
        list(JOIN forms "\n" forms)
        message(FATAL_ERROR "headers instantiate forms of operators that no network asked for; what calls them must be a template, as "
                            "lower(auto& b, int x) is:\n${forms}")
    endif()
endif()
