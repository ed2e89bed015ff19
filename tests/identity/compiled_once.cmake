# SPDX-License-Identifier: BSD-3-Clause
# Fails if objects that link zeropoint::compiled define what it has: an entry point that became inline, or that no list names any more.
# Arguments: NM, OBJECTS

execute_process(COMMAND ${NM} -C ${OBJECTS} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
foreach(name IN ITEMS kernel::convolve_bands kernel::winograd_conv2d kernel::pack_panels kernel::unpack_panels
                      int8_block<[^>]*>::pack detail::run_operator<[^\n]*::max_pool2d detail::read_nodes detail::write_nodes)
    if(NOT symbols MATCHES " U [^\n]*zp::v0::[^\n]*${name}")
        message(SEND_ERROR "${name} is not called, or not called by this name")
    endif()
    if(symbols MATCHES "[^\n]* [TWVt] [a-z: ]*zp::v0::[a-z0-9_:]*${name}[^\n]*")
        message(SEND_ERROR "compiled again, though zeropoint::compiled has it:\n${CMAKE_MATCH_0}")
    endif()
endforeach()
