// Weights of transposed convolutions between the order of files and the library's.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/transposed_geometry.hpp>

namespace zp {
inline namespace v0 {
namespace kernel {

/// Calls visit(index in [in_channels][out_channels / groups][taps], which is how PyTorch stores them, index in
/// [out_channels][taps][in_channels / groups]) for each weight.
template <class Visit> constexpr void for_each_transposed_weight(const conv_transpose2d_geometry& g, Visit visit) {
    std::ptrdiff_t inside = 0;
    for (int channel = 0; channel != g.out.channels; ++channel) {
        const std::ptrdiff_t first_in = channel / g.group_out() * g.group_in(), out = channel % g.group_out();
        for (int tap = 0; tap != g.taps(); ++tap)
            for (int i = 0; i != g.group_in(); ++i, ++inside)
                visit(((first_in + i) * g.group_out() + out) * g.taps() + tap, inside);
    }
}

/// PyTorch's order to the library's.
template <class T> void iohw_to_ohwi(const conv_transpose2d_geometry& g, const T* file, T* inside) {
    for_each_transposed_weight(g, [&](std::ptrdiff_t from, std::ptrdiff_t to) { inside[to] = file[from]; });
}
/// The inverse, for saving.
template <class T> void ohwi_to_iohw(const conv_transpose2d_geometry& g, const T* inside, T* file) {
    for_each_transposed_weight(g, [&](std::ptrdiff_t to, std::ptrdiff_t from) { file[to] = inside[from]; });
}

}  // namespace kernel
}  // namespace v0
}  // namespace zp
