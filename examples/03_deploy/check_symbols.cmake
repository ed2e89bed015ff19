# SPDX-License-Identifier: BSD-3-Clause
# Fails if a program contains observers or calibration. The demo, which has both, shows that the search finds them.
# Arguments: NM, PROGRAM, DEMO

set(calibration "observe|calibrate|histogram")
function(symbols_of program result)
    execute_process(COMMAND ${NM} -C ${program} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "per_channel_histogram" "" symbols "${symbols}")  # the qconfig's name, not a histogram
    set(${result} "${symbols}" PARENT_SCOPE)
endfunction()

symbols_of(${DEMO} symbols)
if(NOT symbols MATCHES "${calibration}")
    message(FATAL_ERROR "no calibration was found in ${DEMO}: are its symbols stripped?")
endif()
symbols_of(${PROGRAM} symbols)
string(REGEX MATCHALL "[^\n]*(${calibration})[^\n]*" in_program "${symbols}")
if(in_program)
    list(JOIN in_program "\n" lines)
    message(FATAL_ERROR "${PROGRAM} contains calibration:\n${lines}")
endif()
