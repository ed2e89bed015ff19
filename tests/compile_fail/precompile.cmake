# SPDX-License-Identifier: BSD-3-Clause
# Precompiles what the cases include: cmake -D compiler= -D compiler_id= -D flags= -D includes= -D headers= -P precompile.cmake
# GCC and Clang both find the result beside `headers`, when that is given by -include. Clang also instantiates here what the headers themselves
# use of their templates, which is most of what each case would take.

cmake_minimum_required(VERSION 3.25)

list(TRANSFORM includes PREPEND "-I")
if(compiler_id STREQUAL Clang)
    list(APPEND flags -fpch-instantiate-templates)
endif()
execute_process(COMMAND ${compiler} -std=c++20 ${flags} ${includes} -x c++-header ${headers} -o ${headers}.gch
                RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(failed)
    message(FATAL_ERROR "${headers} does not compile:\n${output}")
endif()
