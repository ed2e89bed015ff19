// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/kernel/gradient/recurrent_gradient.hpp>

#include "../support/finite_differences.hpp"

namespace {

namespace kernel = zp::kernel;
using kernel::recurrent_kind;
using namespace gradients;

std::size_t size(std::ptrdiff_t count) { return static_cast<std::size_t>(count); }

struct parameters {
    doubles weight_ih, weight_hh, bias_ih, bias_hh, weight_hr;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// All samples in double, PyTorch's equations: h of [sample][step].
doubles forward(const kernel::recurrent_extents& e, const doubles& x, const parameters& p) {
    doubles y(size(e.samples * e.steps * e.outputs()));
    const int hidden = e.hidden;
    for (int sample = 0; sample != e.samples; ++sample) {
        doubles h(size(e.outputs())), c(size(hidden));
        for (int turn = 0; turn != e.steps; ++turn) {
            const int row = sample * e.steps + (e.reversed ? e.steps - 1 - turn : turn);
            doubles u = p.bias_ih, v = p.bias_hh, m(size(hidden));
            for (int g = 0; g != e.sums(); ++g) {
                for (int i = 0; i != e.inputs; ++i)
                    u[size(g)] += p.weight_ih[size(g * e.inputs + i)] * x[size(row * e.inputs + i)];
                for (int i = 0; i != e.outputs(); ++i)
                    v[size(g)] += p.weight_hh[size(g * e.outputs() + i)] * h[size(i)];
            }
            for (int j = 0; j != hidden; ++j) {
                const auto sum = [&](int gate) { return u[size(gate * hidden + j)] + v[size(gate * hidden + j)]; };
                double& cell = c[size(j)];
                if (e.kind == recurrent_kind::lstm) {
                    cell = sigmoid(sum(1)) * cell + sigmoid(sum(0)) * std::tanh(sum(2));
                    m[size(j)] = sigmoid(sum(3)) * std::tanh(cell);
                } else if (e.kind == recurrent_kind::gru) {
                    const double n = std::tanh(u[size(2 * hidden + j)] + sigmoid(sum(0)) * v[size(2 * hidden + j)]);
                    m[size(j)] = (1 - sigmoid(sum(1))) * n + sigmoid(sum(1)) * h[size(j)];
                } else {
                    m[size(j)] = e.kind == recurrent_kind::rnn_tanh ? std::tanh(sum(0)) : std::max(sum(0), 0.0);
                }
            }
            if (e.projection == 0) h = m;
            for (int j = 0; j != e.projection; ++j) {
                h[size(j)] = 0;
                for (int i = 0; i != hidden; ++i) h[size(j)] += p.weight_hr[size(j * hidden + i)] * m[size(i)];
            }
            std::copy(h.begin(), h.end(), y.begin() + row * e.outputs());
        }
    }
    return y;
}

void compare(const kernel::recurrent_extents& e, bool has_bias = true) {
    CAPTURE(static_cast<int>(e.kind));
    CAPTURE(e.samples);
    CAPTURE(e.steps);
    CAPTURE(e.hidden);
    CAPTURE(e.reversed);
    const auto values = [](std::ptrdiff_t count, std::uint64_t seed) {
        return arrays::reals(size(count), seed, -0.5f, 0.5f);
    };
    // Beside h of each step lie those of another direction.
    const std::ptrdiff_t y_row = e.outputs() + 3, y_stride = y_row * e.steps + 2, x_stride = e.steps * e.inputs + 1;
    const floats w_ih = values(e.sums() * e.inputs, 1), w_hh = values(e.sums() * e.outputs(), 2),
                 b_ih = has_bias ? values(e.sums(), 3) : floats(size(e.sums())),
                 b_hh = has_bias ? values(e.sums(), 4) : b_ih, w_hr = values(e.projection * e.hidden, 5),
                 xs = arrays::reals(size(x_stride * e.samples), 6, -2, 2),
                 dys = arrays::reals(size(y_stride * e.samples), 7, -1, 1);
    doubles x;
    floats dy;
    for (int i = 0; i != e.samples; ++i)
        for (int step = 0; step != e.steps; ++step) {
            for (int k = 0; k != e.inputs; ++k) x.push_back(xs[size(i * x_stride + step * e.inputs + k)]);
            for (int k = 0; k != e.outputs(); ++k) dy.push_back(dys[size(i * y_stride + step * y_row + k)]);
        }
    parameters p{widened(w_ih), widened(w_hh), widened(b_ih), widened(b_hh), widened(w_hr)};
    const auto loss = [&] { return weighted(forward(e, x, p), dy); };
    const doubles y = forward(e, x, p), dx = differences(x, loss, 1e-5), dw_ih = differences(p.weight_ih, loss, 1e-5),
                  dw_hh = differences(p.weight_hh, loss, 1e-5), db_ih = differences(p.bias_ih, loss, 1e-5),
                  db_hh = differences(p.bias_hh, loss, 1e-5), dw_hr = differences(p.weight_hr, loss, 1e-5);

    arrays::for_each_architecture([&]<class Arch>() {
        const kernel::recurrent_parameters<const float> given{
            w_ih.data(), w_hh.data(), has_bias ? b_ih.data() : nullptr, has_bias ? b_hh.data() : nullptr, w_hr.data()};
        floats ys(dys.size(), NAN), saved(e.saved(), NAN), dxs(xs.size(), NAN);
        floats scratch(kernel::recurrent_forward_scratch<Arch>(e), NAN);
        kernel::recurrent_forward<Arch>(e, {xs.data(), x_stride}, given, {ys.data(), y_stride}, y_row, saved.data(),
                                        scratch.data());
        floats our_y, our_dx;
        const floats before_ih = beginning(w_ih.size()), before_hh = beginning(w_hh.size());
        floats our_ih = before_ih, our_hh = before_hh, our_b_ih(b_ih.size()), our_b_hh(b_hh.size()),
               our_hr(w_hr.size());
        scratch.assign(kernel::recurrent_backward_scratch<Arch>(e), NAN);
        kernel::recurrent_backward<Arch>(e, {xs.data(), x_stride}, given, {ys.data(), y_stride}, {dys.data(), y_stride},
                                         y_row, saved.data(), {dxs.data(), x_stride},
                                         {our_ih.data(), our_hh.data(), has_bias ? our_b_ih.data() : nullptr,
                                          has_bias ? our_b_hh.data() : nullptr, our_hr.data()},
                                         scratch.data());
        for (int i = 0; i != e.samples; ++i)
            for (int step = 0; step != e.steps; ++step) {
                for (int k = 0; k != e.inputs; ++k) our_dx.push_back(dxs[size(i * x_stride + step * e.inputs + k)]);
                for (int k = 0; k != e.outputs(); ++k) our_y.push_back(ys[size(i * y_stride + step * y_row + k)]);
            }
        CHECK(distance(our_y, y) < 2e-6);
        CHECK(distance(our_dx, dx) < 4e-6);
        CHECK(distance(without(our_ih, before_ih), dw_ih) < 4e-6);
        CHECK(distance(without(our_hh, before_hh), dw_hh) < 4e-6);
        if (has_bias) CHECK(distance(our_b_ih, db_ih) < 4e-6);
        if (has_bias) CHECK(distance(our_b_hh, db_hh) < 4e-6);
        if (e.projection != 0) CHECK(distance(our_hr, dw_hr) < 4e-6);
    });
}

}  // namespace

TEST_CASE("gradients of LSTM, GRU and RNN: backpropagation through time") {
    for (const auto kind :
         {recurrent_kind::lstm, recurrent_kind::gru, recurrent_kind::rnn_tanh, recurrent_kind::rnn_relu}) {
        compare({kind, 3, 5, 4, 3, 0, false});
        compare({kind, 2, 4, 9, 11, 0, true});
        compare({kind, 2, 1, 3, 8, 0, false}, false);
        compare({kind, 7, 3, 1, 9, 0, false}, false);
    }
    compare({recurrent_kind::lstm, 3, 4, 5, 9, 4, false});  // a projection
    compare({recurrent_kind::lstm, 2, 3, 3, 6, 8, true});
}
