# SPDX-License-Identifier: BSD-3-Clause
# Fails unless PROGRAM prints what the file EXPECTED holds.

execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
file(READ ${EXPECTED} expected)
if(NOT found STREQUAL expected)
    message(FATAL_ERROR "other integers than those of ${EXPECTED}:\n${found}expected:\n${expected}")
endif()
