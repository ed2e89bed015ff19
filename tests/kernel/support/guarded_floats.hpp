// SPDX-License-Identifier: BSD-3-Clause
// Floats whose first or last byte touches an unreadable page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "../../support/guarded_memory.hpp"

namespace gradients {

using zp_test::guard;

/// A copy of values between unreadable pages.
class guarded_floats {
public:
    guarded_floats(const std::vector<float>& values, guard end)
        : size_(values.size()),
          memory_(values.size() * sizeof(float) + 1),
          data_(reinterpret_cast<float*>(memory_.place(values.size() * sizeof(float), end))) {
        std::copy(values.begin(), values.end(), data_);
    }
    float* data() const { return data_; }
    std::vector<float> values() const { return {data_, data_ + size_}; }

private:
    std::size_t size_;
    zp_test::guarded_memory memory_;
    float* data_;
};

}  // namespace gradients
