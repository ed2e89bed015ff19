# SPDX-License-Identifier: BSD-3-Clause
# Fails if a program asks for a heap, throws, formats text or has anything of streams and locales: what a microcontroller has no room for.
# Of a linked program without shared libraries that says all; of objects, what they name. CONTROL, which does most of that,
# shows that the search finds it.
# Arguments: NM; PROGRAM or OBJECTS; CONTROL, not for PROGRAM

set(forbidden "operator new|operator delete|__cxa_(throw|begin_catch|allocate_exception)|std::(__throw|terminate|ios_base|basic_[io]?stream|locale|__cxx11::basic_string|basic_string)|[ _](malloc|free|calloc|realloc|_malloc_r|_sbrk|s?n?printf|_printf_r|_svfprintf_r|abort|exit|atexit)$")

function(find_forbidden result)
    execute_process(COMMAND ${NM} -C ${ARGN} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE ";" "," symbols "${symbols}")
    string(REPLACE "\n" ";" symbols "${symbols}")
    list(FILTER symbols INCLUDE REGEX "${forbidden}")
    set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

if(CONTROL)
    find_forbidden(found ${CONTROL})
    if(NOT found)
        message(FATAL_ERROR "nothing was found in ${CONTROL}, which allocates and throws: are names written otherwise?")
    endif()
endif()
find_forbidden(found ${PROGRAM} ${OBJECTS})
if(found)
    list(JOIN found "\n" lines)
    message(FATAL_ERROR "${PROGRAM}${OBJECTS} has what no program from packed images may have:\n${lines}")
endif()
