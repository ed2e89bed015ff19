# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for ConanCenter's xsimd where there is no network: packages headers that are on this machine.

conan create scripts/packaging/xsimd --version 14.3.0 -c user.zeropoint:xsimd=<a folder with xsimd/xsimd.hpp>
"""

import os

from conan import ConanFile
from conan.tools.files import copy


class XsimdConan(ConanFile):
    name = "xsimd"
    license = "BSD-3-Clause"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"

    def package_id(self):
        self.info.clear()

    def package(self):
        copy(self, "xsimd/*.hpp", self.conf.get("user.zeropoint:xsimd"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "xsimd")
        self.cpp_info.set_property("cmake_target_name", "xsimd")
        self.cpp_info.set_property("pkg_config_name", "xsimd")
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
