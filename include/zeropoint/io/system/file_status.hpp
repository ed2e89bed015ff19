// SPDX-License-Identifier: BSD-3-Clause
// What every system is asked about files.
#pragma once

#include <string>

namespace zp::inline v0 {

/// What stands at a path, behind symbolic links.
enum class file_kind { nothing, regular, directory, device, dangling_link };

/// The same, with where a link leads.
struct file_status {
    file_kind kind = file_kind::nothing;
    std::string path;   // of the file itself
    unsigned mode = 0;  // who may read and write it, where systems have that
};

}  // namespace zp::inline v0
