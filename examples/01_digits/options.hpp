// SPDX-License-Identifier: BSD-3-Clause
// The command line of the demo.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

struct options {
    std::string data = ZEROPOINT_SOURCE_DIR "/examples/01_digits/data";
    std::string out = "digits_int8";
    std::string json;  // empty: none
};

inline void print_usage(std::FILE* stream) {
    std::fputs(
        "Quantizes the digits network in seven ways and compares them.\n"
        "  --data DIR   where digits.safetensors and digits_cnn.safetensors lie\n"
        "  --out DIR    where the int8 models go (default: digits_int8)\n"
        "  --json FILE  writes all results as JSON\n"
        "  --help       prints this\n",
        stream);
}

/// Ends the program after --help, and with status 2 where it does not understand.
inline options parse_options(int argc, char** argv) {
    const auto fail = [](const std::string& message) {
        std::fprintf(stderr, "%s\n", message.c_str());
        print_usage(stderr);
        std::exit(2);
    };
    options parsed;
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--help") print_usage(stdout), std::exit(0);
        std::string* value = nullptr;
        if (name == "--data") value = &parsed.data;
        if (name == "--out") value = &parsed.out;
        if (name == "--json") value = &parsed.json;
        if (value == nullptr) fail("unknown option " + name);
        if (i + 1 == argc) fail(name + " needs a value behind it");
        *value = argv[i + 1];
    }
    return parsed;
}
