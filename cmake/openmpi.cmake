# SPDX-License-Identifier: BSD-3-Clause
# Resolves MPI, which data-parallel training alone needs: the installed one, else, where ZEROPOINT_REQUIRE_MPI is set, because it is 26 MB
# in nine packages, Debian's Open MPI unpacked without root. Afterwards the
# target zeropoint_mpi exists and ZEROPOINT_MPIRUN is the command line that starts ranks, up to "-np"; or ZEROPOINT_MPI_REASON says why
# not.

set(reasons)
foreach(source IN LISTS ZEROPOINT_DEPENDENCY_SOURCES)
    if(TARGET zeropoint_mpi)
        break()
    elseif(source STREQUAL "installed")
        set(MPI_CXX_SKIP_MPICXX ON)  # the C interface is all that is used
        find_package(MPI QUIET COMPONENTS CXX)
        if(MPI_CXX_FOUND AND MPIEXEC_EXECUTABLE)
            add_library(zeropoint_mpi INTERFACE IMPORTED GLOBAL)
            set_target_properties(zeropoint_mpi PROPERTIES
                INTERFACE_INCLUDE_DIRECTORIES "${MPI_CXX_INCLUDE_DIRS}" INTERFACE_LINK_LIBRARIES "${MPI_CXX_LIBRARIES}"
                INTERFACE_LINK_OPTIONS "${MPI_CXX_LINK_FLAGS}")
            set(ZEROPOINT_MPIRUN ${MPIEXEC_EXECUTABLE})
            execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_QUIET)
            if(version MATCHES "Open MPI|OpenRTE")
                list(APPEND ZEROPOINT_MPIRUN --oversubscribe --allow-run-as-root)
            endif()
            message(STATUS "zeropoint: MPI ${MPI_CXX_VERSION}, started by ${MPIEXEC_EXECUTABLE}")
        else()
            list(APPEND reasons "installed: find_package(MPI) found none")
        endif()
    elseif(source STREQUAL "debian" AND NOT ZEROPOINT_REQUIRE_MPI)
        list(APPEND reasons "debian: -DZEROPOINT_REQUIRE_MPI=ON downloads its Open MPI")
    elseif(source STREQUAL "debian")
        # Open MPI with what it cannot start without; drivers of fast networks are left out.
        set(prefix ${ZEROPOINT_DEPENDENCY_CACHE}/debian/openmpi)
        zeropoint_unpack_debian_package(
            "libopenmpi-dev;libopenmpi3;openmpi-bin;openmpi-common;libhwloc15;libpmix2;libmunge2;libevent-core-2.1-7;libevent-pthreads-2.1-7"
            bookworm ${prefix} reason)
        file(GLOB library ${prefix}/usr/lib/*/libmpi.so.40)
        if(NOT reason AND NOT library)
            set(reason "${prefix} has no libmpi.so.40")
        endif()
        if(reason)
            list(APPEND reasons "debian: ${reason}")
        else()
            get_filename_component(libraries ${library} DIRECTORY)
            add_library(zeropoint_mpi INTERFACE IMPORTED GLOBAL)
            # What its libraries need of one another stands beside them, where programs look when they start.
            set_target_properties(zeropoint_mpi PROPERTIES
                INTERFACE_INCLUDE_DIRECTORIES ${libraries}/openmpi/include INTERFACE_LINK_LIBRARIES ${library}
                INTERFACE_LINK_OPTIONS -Wl,--allow-shlib-undefined)
            # It finds its own files below OPAL_PREFIX, and reads addresses of networks whose libraries are not here: quietly.
            set(ZEROPOINT_MPIRUN
                ${CMAKE_COMMAND} -E env OPAL_PREFIX=${prefix}/usr PMIX_INSTALL_PREFIX=${prefix}/usr LD_LIBRARY_PATH=${libraries}
                OMPI_MCA_mca_base_component_show_load_errors=0 PMIX_MCA_mca_base_component_show_load_errors=0 PMIX_MCA_pcompress_base_silence_warning=1
                OMPI_MCA_plm=isolated OMPI_MCA_btl=vader,self OMPI_MCA_pml=ob1 OMPI_MCA_mpi_yield_when_idle=1
                ${prefix}/usr/bin/orterun --oversubscribe --allow-run-as-root)
            message(STATUS "zeropoint: Open MPI, Debian's in ${library}")
        endif()
    endif()
endforeach()
list(JOIN reasons "; " ZEROPOINT_MPI_REASON)
