// SPDX-License-Identifier: BSD-3-Clause
// The inputs that each output of a layer with filters is made of, as rows of a matrix, whatever family its filters are of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <zeropoint/graph/operator_info.hpp>
#include <zeropoint/graph/window.hpp>
#include <zeropoint/operators/filters.hpp>

namespace zp::inline v0 {

/// y[position][c] = bias[c] + sum over k of window(position)[group of c][k] * weights[c][k], for all layers with filters: k counts taps and
/// the channels of a group, as weights do.
class window_reader {
public:
    explicit window_reader(const node_view& v)
        : groups_(operators::groups_of_filters(v)),
          outputs_(v.n.weights.channels),
          depth_(v.n.weights.count / outputs_),
          values_(static_cast<std::size_t>(v.x_shape().size())) {
        switch (v.n.op->filters) {
            case filter_kernels::conv3d: add_places<false>(volume_window(v)); break;
            case filter_kernels::conv_transpose2d:
                add_places<true>(kernel::conv_transpose3d_geometry{transposed_window(v)});
                break;
            case filter_kernels::conv_transpose3d: add_places<true>(transposed_volume_window(v)); break;
            default: add_places<false>(kernel::conv3d_geometry{v.n.op->geometry(v)});
        }
    }

    int positions() const { return static_cast<int>(places_.size()) / taps_; }
    int groups() const { return groups_; }
    int outputs() const { return outputs_; }
    int group_out() const { return outputs_ / groups_; }
    /// Weights of an output channel.
    int depth() const { return depth_; }
    int taps() const { return taps_; }
    /// Channels of the input.
    int channels() const { return depth_ / taps_ * groups_; }
    /// Values of an input.
    std::size_t values() const { return values_; }
    /// Values of a window: groups x depth.
    int size() const { return groups_ * depth_; }
    bool has_padding() const { return std::find(places_.begin(), places_.end(), outside) != places_.end(); }

    /// window[group][tap][channel of the group] of one output, zeros where there is no input.
    void read(const float* x, int position, float* window) const {
        visit(position, [&](int tap, int pixel, int group, int group_in) {
            float* to = window + (group * taps_ + tap) * group_in;
            if (pixel == outside) std::fill_n(to, group_in, 0.0f);
            else std::copy_n(x + pixel * channels() + group * group_in, group_in, to);
        });
    }
    /// The adjoint: adds the values of a window to where they were read from.
    void add(const float* window, int position, float* x) const {
        visit(position, [&](int tap, int pixel, int group, int group_in) {
            if (pixel == outside) return;
            const float* from = window + (group * taps_ + tap) * group_in;
            float* to = x + pixel * channels() + group * group_in;
            for (int j = 0; j != group_in; ++j) to[j] += from[j];
        });
    }

private:
    static constexpr int outside = -1;

    template <class Visit> void visit(int position, Visit visit_run) const {
        const int group_in = depth_ / taps_;
        const int* places = places_.data() + static_cast<std::ptrdiff_t>(position) * taps_;
        for (int tap = 0; tap != taps_; ++tap)
            for (int group = 0; group != groups_; ++group) visit_run(tap, places[tap], group, group_in);
    }
    /// The input along one axis that a tap of an output reads: of a transposed one only where a stride leads there.
    template <bool Transposed> static int place(int out, int tap, int stride, int padding, int dilation, int extent) {
        int at = Transposed ? out + padding - tap * dilation : out * stride - padding + tap * dilation;
        if (Transposed) at = at >= 0 && at % stride == 0 ? at / stride : outside;
        return at >= 0 && at < extent ? at : outside;
    }
    template <bool Transposed, class Volume> void add_places(const Volume& g) {
        const auto& p = g.plane;
        taps_ = g.taps();
        places_.reserve(static_cast<std::size_t>(g.out_depth) * static_cast<std::size_t>(p.out.pixels()) *
                        static_cast<std::size_t>(taps_));
        for (int z = 0; z != g.out_depth; ++z)
            for (int y = 0; y != p.out.height; ++y)
                for (int x = 0; x != p.out.width; ++x)
                    for (int tap = 0; tap != taps_; ++tap) {
                        const int kz = tap / p.taps(), ky = tap % p.taps() / p.kernel_width, kx = tap % p.kernel_width;
                        const int iz = place<Transposed>(z, kz, g.stride_depth, g.padding_front, g.dilation_depth,
                                                         g.in_depth),
                                  iy = place<Transposed>(y, ky, p.stride_height, p.padding_top, p.dilation_height,
                                                         p.in.height),
                                  ix = place<Transposed>(x, kx, p.stride_width, p.padding_left, p.dilation_width,
                                                         p.in.width);
                        const bool is_inside = iz != outside && iy != outside && ix != outside;
                        places_.push_back(is_inside ? (iz * p.in.height + iy) * p.in.width + ix : outside);
                    }
    }

    int groups_, outputs_, depth_, taps_ = 1;
    std::size_t values_;
    std::vector<int> places_;  // positions x taps: pixels of the input
};

}  // namespace zp::inline v0
