# SPDX-License-Identifier: BSD-3-Clause
# Fails if a program contains observers or calibration. The demo, which has both, shows that the search finds them.
# Arguments: NM, PROGRAM, DEMO

function(find_calibration program result)
    execute_process(COMMAND ${NM} -C ${program} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
    string(REPLACE "per_channel_histogram" "" symbols "${symbols}")  # the qconfig's name, not a histogram
    string(REGEX MATCHALL "[^\n]*(observe|calibrate|histogram)[^\n]*" found "${symbols}")
    set(${result} "${found}" PARENT_SCOPE)
endfunction()

find_calibration(${DEMO} in_demo)
if(NOT in_demo)
    message(FATAL_ERROR "no calibration was found in ${DEMO}: are its symbols stripped?")
endif()
find_calibration(${PROGRAM} in_program)
if(in_program)
    list(JOIN in_program "\n" lines)
    message(FATAL_ERROR "${PROGRAM} contains calibration:\n${lines}")
endif()
