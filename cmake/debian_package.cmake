# SPDX-License-Identifier: BSD-3-Clause
# Downloads packages of a Debian suite and unpacks them into a directory: no root, nothing of the system changed.
#
# apt-get gets a state directory and a source list of its own; the mirror is the one this machine already uses, read
# from apt itself (which knows it even where the package lists were never updated).

# zeropoint_debian_mirrors(<output>): the repositories this machine's apt uses, the release's own first.
function(zeropoint_debian_mirrors output)
    set(codename)
    if(EXISTS /etc/os-release)
        file(STRINGS /etc/os-release codename REGEX "^VERSION_CODENAME=")
        string(REGEX REPLACE "^VERSION_CODENAME=\"?([^\"]*)\"?$" "\\1" codename "${codename}")
    endif()
    execute_process(
        COMMAND ${APT_GET} indextargets --no-release-info --format "$(RELEASE) $(COMPONENT) $(REPO_URI)" "Created-By: Packages"
        OUTPUT_VARIABLE lines ERROR_QUIET)
    string(REPLACE "\n" ";" lines "${lines}")
    set(own)
    set(others)
    foreach(line IN LISTS lines)
        if(line MATCHES "^([^ ]+) main ([^ ]+)$")
            set(release ${CMAKE_MATCH_1})
            set(mirror ${CMAKE_MATCH_2})
            if(release STREQUAL codename OR release MATCHES "^(stable|testing|unstable|sid)$")
                list(APPEND own ${mirror})
            elseif(NOT release MATCHES "-security|/")
                list(APPEND others ${mirror})
            endif()
        endif()
    endforeach()
    set(mirrors ${own} ${others})
    list(REMOVE_DUPLICATES mirrors)
    set(${output} "${mirrors}" PARENT_SCOPE)
endfunction()

# zeropoint_unpack_debian_package(<package> <suite> <directory> <reason>): <reason> stays empty when <directory> has it. <package> may
# be a list, whose packages share the directory.
function(zeropoint_unpack_debian_package package suite directory reason)
    set(${reason} "" PARENT_SCOPE)
    get_filename_component(parent ${directory} DIRECTORY)
    file(MAKE_DIRECTORY ${parent})
    file(LOCK ${parent} DIRECTORY GUARD FUNCTION TIMEOUT 600)  # build trees configured at once share the directory
    if(EXISTS ${directory})
        return()
    endif()
    find_program(APT_GET apt-get NO_CACHE)
    find_program(DPKG_DEB dpkg-deb NO_CACHE)
    if(NOT APT_GET OR NOT DPKG_DEB)
        set(${reason} "this machine has no apt-get and dpkg-deb" PARENT_SCOPE)
        return()
    endif()
    zeropoint_debian_mirrors(mirrors)
    if(NOT mirrors)
        set(${reason} "apt on this machine names no repository with a component 'main'" PARENT_SCOPE)
        return()
    endif()

    set(private ${parent}/apt)
    set(signed_by)
    if(EXISTS /usr/share/keyrings/debian-archive-keyring.gpg)
        set(signed_by "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    endif()
    set(failures)
    foreach(mirror IN LISTS mirrors)
        list(JOIN package " " packages)
        message(STATUS "zeropoint: downloading ${packages} of Debian ${suite} from ${mirror}")
        file(REMOVE_RECURSE ${private})
        file(MAKE_DIRECTORY ${private}/lists/partial ${private}/cache/archives/partial ${private}/sources ${private}/unpacked)
        file(TOUCH ${private}/status)
        file(WRITE ${private}/sources/suite.sources
             "Types: deb\nURIs: ${mirror}\nSuites: ${suite}\nComponents: main\n${signed_by}")
        # Read after the system's configuration: its hooks and pins are not for this download, its proxies are.
        file(WRITE ${private}/apt.conf
             "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n#clear APT::Update::Post-Invoke-Success;\n"
             "Dir::Etc::SourceList \"/dev/null\";\nDir::Etc::SourceParts \"${private}/sources\";\n"
             "Dir::Etc::Preferences \"/dev/null\";\nDir::Etc::PreferencesParts \"/dev/null\";\n"
             "Dir::State \"${private}\";\nDir::State::Lists \"${private}/lists\";\nDir::State::Status \"${private}/status\";\n"
             "Dir::Cache \"${private}/cache\";\nDebug::NoLocking \"true\";\nAPT::Sandbox::User \"\";\n"
             "Acquire::Languages \"none\";\nAcquire::Retries \"2\";\nAPT::Update::Error-Mode \"any\";\n")
        set(steps update "download ${packages}")
        foreach(step IN LISTS steps)
            separate_arguments(step)
            execute_process(COMMAND ${APT_GET} --config-file=${private}/apt.conf -q ${step} WORKING_DIRECTORY ${private}
                            RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
            if(failed)
                break()
            endif()
        endforeach()
        if(NOT failed)
            foreach(one IN LISTS package)
                file(GLOB archive ${private}/${one}_*.deb)
                execute_process(COMMAND ${DPKG_DEB} -x ${archive} ${private}/unpacked RESULT_VARIABLE failed OUTPUT_VARIABLE output
                                ERROR_VARIABLE output)
                if(failed)
                    break()
                endif()
            endforeach()
        endif()
        if(NOT failed)
            file(RENAME ${private}/unpacked ${directory})  # last, and at once: an interrupted download leaves nothing
            file(REMOVE_RECURSE ${private})
            return()
        endif()
        string(REGEX MATCHALL "[EW]: [^\n]*" output "${output}")
        list(JOIN output " " output)
        list(APPEND failures "${mirror} (${suite}): ${output}")
    endforeach()
    list(JOIN failures " | " failures)
    set(${reason} "${package} could not be downloaded: ${failures}" PARENT_SCOPE)
endfunction()
