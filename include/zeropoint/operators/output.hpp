// SPDX-License-Identifier: BSD-3-Clause
// What comes out of a model that says so: a value that is given to the caller, under a name.
#pragma once

#include <zeropoint/operators/copy.hpp>
#include <zeropoint/operators/input.hpp>

namespace zp::inline v0 {
namespace op {
inline constexpr operator_kind output{"output"};
}
namespace operators {

/// The plan lets who makes the value write it to the caller's memory; where it cannot, the value is copied.
inline constexpr operator_info output = [] {
    operator_info info = detail::make_info<copy>(op::output);
    info.option_names = port_option;
    info.is_output = true;
    return info;
}();

}  // namespace operators

template <> struct forms_of<op::output> : forms_by_storage<operators::copy> {};

constexpr int builder::output(int x, const char* name) {
    append(unary(operators::output, keyed_rules_of<operators::copy>, x, name));
    return x;
}

}  // namespace zp::inline v0
