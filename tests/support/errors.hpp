// SPDX-License-Identifier: BSD-3-Clause
// What a call that should fail says.
#pragma once

#include <string>

#include <zeropoint/core/error.hpp>

namespace zp_test {

/// The message of the Error that call() raises, or "no error". Other errors pass.
template <class Error = zp::error, class Call> std::string error_of(Call call) {
    try {
        call();
    } catch (const Error& error) { return error.what(); }
    return "no error";
}

}  // namespace zp_test
