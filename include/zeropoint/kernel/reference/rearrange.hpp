// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the operators that move values: for every output, where it comes from, one index formula each, sharing
// nothing with the kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include <zeropoint/core/shape.hpp>
#include <zeropoint/kernel/movement/pad.hpp>

namespace zp::inline v0::kernel::reference {

/// Row, column and channel of one value.
struct position {
    int h, w, c;
};

/// y[h][w][c] = x at source({h, w, c}) for all of `out`.
template <class T, class Source> void rearrange(const shape& in, const shape& out, const T* x, T* y, Source&& source) {
    for (int h = 0; h != out.height; ++h)
        for (int w = 0; w != out.width; ++w)
            for (int c = 0; c != out.channels; ++c) {
                const position p = source(position{h, w, c});
                *y++ = x[(std::ptrdiff_t{p.h} * in.width + p.w) * in.channels + p.c];
            }
}

/// y[i0][i1][i2] = x with index i_k along the input's axis order[k].
template <class T> void permute(const shape& in, const shape& out, const int (&order)[3], const T* x, T* y) {
    rearrange(in, out, x, y, [&](position p) {
        const int index[3] = {p.h, p.w, p.c};
        int of_axis[3] = {};
        for (int k = 0; k != 3; ++k) of_axis[order[k]] = index[k];
        return position{of_axis[0], of_axis[1], of_axis[2]};
    });
}

/// PyTorch's definition on [C][H][W]: channel c * r^2 + i * r + j of a pixel becomes channel c of pixel (i, j) in its
/// r x r pixels.
template <class T> void pixel_shuffle(const shape& in, const shape& out, int r, const T* x, T* y) {
    rearrange(in, out, x, y, [&](position p) {
        return position{p.h / r, p.w / r, p.c * r * r + p.h % r * r + p.w % r};
    });
}
template <class T> void pixel_unshuffle(const shape& in, const shape& out, int r, const T* x, T* y) {
    rearrange(in, out, x, y, [&](position p) {
        return position{p.h * r + p.c / r % r, p.w * r + p.c % r, p.c / (r * r)};
    });
}
/// TFLite's: channel (i * r + j) * C + c of a pixel becomes channel c of pixel (i, j).
template <class T> void depth_to_space(const shape& in, const shape& out, int r, const T* x, T* y) {
    rearrange(in, out, x, y, [&](position p) {
        return position{p.h / r, p.w / r, (p.h % r * r + p.w % r) * out.channels + p.c};
    });
}
template <class T> void space_to_depth(const shape& in, const shape& out, int r, const T* x, T* y) {
    rearrange(in, out, x, y, [&](position p) {
        const int part = p.c / in.channels;
        return position{p.h * r + part / r, p.w * r + part % r, p.c % in.channels};
    });
}

/// Channels as a [groups][C / groups] matrix, transposed.
template <class T> void channel_shuffle(const shape& in, int groups, const T* x, T* y) {
    rearrange(in, in, x, y, [&](position p) {
        return position{p.h, p.w, p.c % groups * (in.channels / groups) + p.c / groups};
    });
}

/// The n-th value of [C][H][W] becomes the n-th of [C'][H'][W'].
template <class T> void reshape(const shape& in, const shape& out, const T* x, T* y) {
    rearrange(in, out, x, y, [&](position p) {
        const int n = (p.c * out.height + p.h) * out.width + p.w;
        return position{n / in.width % in.height, n % in.width, n / (in.width * in.height)};
    });
}

/// The index within [0, extent) that stands at `index` of an axis that is continued on both sides; -1 for the constant.
inline int padded_index(pad_mode mode, int index, int extent) {
    if (index >= 0 && index < extent) return index;
    switch (mode) {
        case pad_mode::constant: return -1;
        case pad_mode::reflect: return index < 0 ? -index : 2 * (extent - 1) - index;
        case pad_mode::symmetric: return index < 0 ? -1 - index : 2 * extent - 1 - index;
        case pad_mode::replicate: return index < 0 ? 0 : extent - 1;
        case pad_mode::circular: return (index + extent) % extent;
    }
    return -1;
}
template <class T>
void pad(const shape& in, const shape& out, const pad_sides& sides, pad_mode mode, T value, const T* x, T* y) {
    for (int h = 0; h != out.height; ++h)
        for (int w = 0; w != out.width; ++w)
            for (int c = 0; c != out.channels; ++c) {
                const int from_h = padded_index(mode, h - sides.before[0], in.height);
                const int from_w = padded_index(mode, w - sides.before[1], in.width);
                const int from_c = padded_index(mode, c - sides.before[2], in.channels);
                const bool inside = from_h >= 0 && from_w >= 0 && from_c >= 0;
                *y++ = inside ? x[(std::ptrdiff_t{from_h} * in.width + from_w) * in.channels + from_c] : value;
            }
}

}  // namespace zp::inline v0::kernel::reference
