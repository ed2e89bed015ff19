// The command line of the demo.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

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

/// Ends the program after --help, and with status 2 after an option that it does not know.
inline options parse_options(int argc, char** argv) {
    options parsed;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--help") print_usage(stdout), std::exit(0);
        std::string* value = name == "--data" ? &parsed.data : name == "--out" ? &parsed.out : name == "--json" ? &parsed.json : nullptr;
        if (value == nullptr || ++i == argc) {
            std::fprintf(stderr, value == nullptr ? "unknown option %s\n" : "%s needs a value behind it\n", argv[value == nullptr ? i : i - 1]);
            print_usage(stderr);
            std::exit(2);
        }
        *value = argv[i];
    }
    return parsed;
}
