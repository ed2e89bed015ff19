# SPDX-License-Identifier: BSD-3-Clause
"""Conan 2 recipe: the headers, and with -o "zeropoint/*:compiled=True" zeropoint::compiled beside them. docs/packages.md."""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.0"


class ZeropointConan(ConanFile):
    name = "zeropoint"
    description = "int8 quantization of neural networks, header-only C++20"
    license = "BSD-3-Clause"
    topics = ("quantization", "int8", "neural-network", "inference", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "compiled": [True, False],
        "architecture_flags": ["ANY"],  # of zeropoint::compiled and of all that link it, such as "-mavx2 -mfma"
    }
    default_options = {"compiled": False, "architecture_flags": ""}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"
    generators = "CMakeDeps"

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "zeropoint", "version.hpp"))
        self.version = ".".join(re.findall(r"define ZEROPOINT_VERSION_\w+ (\d+)", header))

    def configure(self):
        self.package_type = "static-library" if self.options.compiled else "header-library"
        if not self.options.compiled:
            self.options.rm_safe("architecture_flags")

    def requirements(self):
        self.requires("xsimd/[>=14.1 <15]", transitive_headers=True)

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # presets are the repository's own
        toolchain.cache_variables["ZEROPOINT_DEPENDENCY_SOURCES"] = "installed"
        for part in ("TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"ZEROPOINT_BUILD_{part}"] = False
        toolchain.cache_variables["ZEROPOINT_INSTALL_COMPILED"] = bool(self.options.compiled)
        toolchain.cache_variables["ZEROPOINT_COMPILED_FLAGS"] = str(self.options.get_safe("architecture_flags", ""))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # CMake reads the package's own configuration: the same targets, components and functions as after an installation.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "zeropoint")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        if self.options.compiled:
            self.cpp_info.libdirs = ["lib"]
            self.cpp_info.libs = ["zeropoint_compiled"]
            self.cpp_info.defines = ["ZEROPOINT_COMPILED"]
            self.cpp_info.cxxflags = str(self.options.architecture_flags).split()
