// SPDX-License-Identifier: BSD-3-Clause
// A program that knows of a plugin nothing but its function.
#include <cstddef>

extern "C" bool plugin_accepts(const unsigned char* file, std::size_t size);

int main() {
    const unsigned char no_file[8] = {};
    return plugin_accepts(no_file, sizeof(no_file)) ? 1 : 0;
}
