// SPDX-License-Identifier: BSD-3-Clause
// What training raises when numbers leave the finite ones.
#pragma once

#include <zeropoint/core/error.hpp>

namespace zp::inline v0 {

#if defined(__cpp_exceptions)
/// A loss, a gradient or a weight that is NaN or infinite. The network keeps what it had before that step.
class training_error : public error {
public:
    using error::error;
};
#else
class training_error : public error {};
#endif

}  // namespace zp::inline v0
