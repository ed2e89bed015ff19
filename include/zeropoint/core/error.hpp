// SPDX-License-Identifier: BSD-3-Clause
// What zeropoint throws. Every message says what was expected, what came and what to do.
#pragma once

#include <string>
#include <utility>

#if defined(__cpp_exceptions)
#include <stdexcept>
#else
#include <cstdio>
#include <cstdlib>
#endif

namespace zp::inline v0 {

#if defined(__cpp_exceptions)
/// Base of all errors of this library.
class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
/// An argument outside its domain: an empty range, a scale of zero, a bin count of none.
class value_error : public error {
public:
    using error::error;
};
/// Extents that do not fit: a batch of the wrong size, a tensor of the wrong rank.
class shape_error : public error {
public:
    using error::error;
};
/// Calibration that cannot be trusted: no samples, NaN, infinity.
class calibration_error : public error {
public:
    using error::error;
};
/// A file that cannot be read, or whose content is not what the model needs.
class file_error : public error {
public:
    using error::error;
};
/// A machine without the instructions that the program was compiled for.
class machine_error : public error {
public:
    using error::error;
};

/// The one way errors leave the library.
template <class Error> [[noreturn]] void raise(std::string message) { throw Error(std::move(message)); }
#else
class error {};
class value_error : public error {};
class shape_error : public error {};
class calibration_error : public error {};
class file_error : public error {};
class machine_error : public error {};

/// Without exceptions an error ends the program, with its message on stderr.
template <class Error> [[noreturn]] void raise(std::string message) {
    std::fprintf(stderr, "zeropoint: %s\n", message.c_str());
    std::abort();
}
#endif

}  // namespace zp::inline v0
