// A linear layer of any policy, and what becomes of its outputs.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/linear_after.hpp>

namespace zp {
inline namespace v0 {
namespace detail {

/// y = after(linear(x)) for `rows` rows: within the layer, where it takes an `after` of kernel/linear_after.hpp, else in a
/// sweep over y. The same bits. Rows that `after` takes must not be y.
template <class Arch, class Linear, class After>
void run_linear(const Linear& linear, const float* x, int rows, float* y, typename Linear::workspace& memory,
                const After& after) noexcept {
    if constexpr (requires { linear.run(x, rows, y, memory, after); }) {
        linear.run(x, rows, y, memory, after);
    } else {
        linear.run(x, rows, y, memory);
        kernel::apply_after<Arch>(after, y, static_cast<std::size_t>(rows) * Linear::outputs);
    }
}

}  // namespace detail
}  // namespace v0
}  // namespace zp
