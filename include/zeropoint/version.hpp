// SPDX-License-Identifier: BSD-3-Clause
// The one place where the version is written: CMake, Conan and vcpkg read it from here.
#pragma once

#define ZEROPOINT_VERSION_MAJOR 0
#define ZEROPOINT_VERSION_MINOR 1
#define ZEROPOINT_VERSION_PATCH 0
