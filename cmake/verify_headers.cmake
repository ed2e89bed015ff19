# The target all_verify_interface_header_sets: compiles every header alone.

set_target_properties(zeropoint PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

# verify_with(<header in kernel/arch> <flags>...): a header of one instruction set is compiled with that set switched on,
# and not at all where the compiler does not know it.
function(verify_with header)
    include(CheckCXXCompilerFlag)
    list(JOIN ARGN " " flags)
    check_cxx_compiler_flag("${flags}" ZEROPOINT_COMPILER_KNOWS_${header})
    if(ZEROPOINT_COMPILER_KNOWS_${header})
        set(generated ${PROJECT_BINARY_DIR}/zeropoint_verify_interface_header_sets)
        set_source_files_properties(${generated}/zeropoint/kernel/arch/${header}.hpp.cxx PROPERTIES COMPILE_OPTIONS "${ARGN}")
    else()
        set_source_files_properties(include/zeropoint/kernel/arch/${header}.hpp PROPERTIES SKIP_LINTING ON)
    endif()
endfunction()
verify_with(avx2 -mavx2 -mfma)
