# SPDX-License-Identifier: BSD-3-Clause
# Runs PROGRAM for every architecture that it holds and this machine has, and with QEMU on models of other machines: all must
# print the same. RUN is the emulator of a program that was compiled for another processor, or nothing.

execute_process(COMMAND ${RUN} ${PROGRAM} OUTPUT_VARIABLE expected ERROR_VARIABLE chosen COMMAND_ERROR_IS_FATAL ANY)
message("${chosen}${expected}")
string(REGEX REPLACE ".*, of |\n" "" names "${chosen}")
string(REPLACE ", " ";" names "${names}")

foreach(name IN LISTS names)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env ZEROPOINT_ARCHITECTURE=${name} ${RUN} ${PROGRAM}
                    OUTPUT_VARIABLE printed ERROR_VARIABLE said RESULT_VARIABLE failed)
    string(FIND "${said}" "${name}, of " position)
    if(failed AND said MATCHES "this machine has it not")
        message("${said}")
    elseif(NOT printed STREQUAL expected OR NOT position EQUAL 0)
        message(FATAL_ERROR "for ${name}: expected the same as above, got ${said}${printed}")
    else()
        message("${name}: the same")
    endif()
endforeach()

execute_process(COMMAND ${CMAKE_COMMAND} -E env ZEROPOINT_ARCHITECTURE=abacus ${RUN} ${PROGRAM} ERROR_VARIABLE said RESULT_VARIABLE failed)
if(NOT failed EQUAL 2 OR NOT said MATCHES "expected one of .* got 'abacus'")
    message(FATAL_ERROR "for an architecture that is none: expected an error, got ${said}")
endif()

if(names MATCHES "sse2")
    set(qemu ${QEMU_X86_64})
    set(cpus Conroe-v1 qemu64-v1 Nehalem-v1 Haswell-v2)  # the first three have no AVX
elseif(names MATCHES "neon")
    set(qemu ${QEMU_AARCH64})
    set(cpus cortex-a53 cortex-a76 max)  # without dotprod, with it, with i8mm and SVE
endif()
if(qemu)
    foreach(cpu IN LISTS cpus)
        execute_process(COMMAND ${qemu} -cpu ${cpu} ${PROGRAM} OUTPUT_VARIABLE printed ERROR_VARIABLE said)
        if(NOT printed STREQUAL expected)
            message(FATAL_ERROR "on ${cpu}: expected the same as above, got ${said}${printed}")
        endif()
        string(REGEX REPLACE "qemu[^\n]*\n" "" said "${said}")
        string(STRIP "${said}" said)
        message("${cpu}: the same, by ${said}")
    endforeach()
endif()
