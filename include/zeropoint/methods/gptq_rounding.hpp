// SPDX-License-Identifier: BSD-3-Clause
// GPTQ: weights are rounded one input after another, and those not yet rounded make good what the error does to the outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include <zeropoint/core/float_values.hpp>
#include <zeropoint/kernel/float/double_products.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/methods/weight_grid.hpp>

// Frantar, Ashkboos, Hoefler, Alistarh, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", 2022,
// algorithm 1. With H^-1 = U' U, U upper triangular: e = (w_i - nearest(w_i)) / U_ii, and w_j -= e U_ij for j > i.
//
// U is found by one Cholesky factorization: H = R R' with R upper triangular, which is that of H with rows and columns reversed, and U =
// R^-1. All is in double.

namespace zp::inline v0 {

/// Upper triangular R of h = R R', in place of the upper triangle, `depth x depth`. False where h is not positive definite.
template <class Arch = default_architecture> bool upper_factor(std::span<double> h, std::size_t depth) {
    // Row by row from the last: R_jj = sqrt(h_jj - sum over k > j of R_jk^2), R_ij = (h_ij - sum over k > j of R_ik R_jk) / R_jj, i < j.
    // Column j of R is subtracted from what is in front of it as soon as it is there, so that loops go along rows of the transpose.
    std::vector<double> column(depth);
    for (std::size_t j = depth; j-- != 0;) {
        const double pivot = h[j * depth + j];
        if (!(pivot > 0) || !is_finite(pivot)) return false;
        const double root = std::sqrt(pivot);
        for (std::size_t i = 0; i != j; ++i) column[i] = h[i * depth + j] /= root;
        h[j * depth + j] = root;
        for (std::size_t i = 0; i != j; ++i)
            kernel::add_scaled<Arch>(-column[i], column.data() + i, j - i, h.data() + i * depth + i);
    }
    return true;
}
/// The inverse of an upper triangular matrix, in place.
template <class Arch = default_architecture> void invert_upper(std::span<double> r, std::size_t depth) {
    // Row i of the inverse: (e_i - sum over k > i of R_ik * row k) / R_ii, from the last row on.
    std::vector<double> row(depth);
    for (std::size_t i = depth; i-- != 0;) {
        double* own = r.data() + i * depth;
        std::fill(row.begin(), row.end(), 0.0);
        row[i] = 1;
        for (std::size_t k = i + 1; k != depth; ++k)
            kernel::add_scaled<Arch>(-own[k], r.data() + k * depth + k, depth - k, row.data() + k);
        const double pivot = own[i];
        for (std::size_t j = i; j != depth; ++j) own[j] = row[j] / pivot;
    }
}

/// How zp::gptq works.
struct gptq_options {
    double damping = 0.01;   ///< times the mean of H's diagonal, added to the diagonal
    bool act_order = false;  ///< inputs of the largest mean square first
};
struct gptq_outcome {
    double damping = 0;  ///< which one it took: ten times more each time that H was not positive definite
    int dead = 0;        ///< inputs that were always 0; their weights become 0
};

/// Rounds the weights of channels [first, first + rows) of a grid, `rows x depth`, which see the same inputs, of second moments h. In place.
template <class Arch = default_architecture>
gptq_outcome gptq_round(std::vector<double> h, const weight_grid& grid, std::size_t first, std::size_t rows,
                        const gptq_options& how, std::span<float> weights) {
    const std::size_t depth = grid.depth;
    gptq_outcome outcome;
    std::vector<bool> is_dead(depth);
    double mean = 0;
    for (std::size_t i = 0; i != depth; ++i) {
        double& diagonal = h[i * depth + i];
        is_dead[i] = diagonal == 0;
        if (is_dead[i]) diagonal = 1;
        outcome.dead += is_dead[i];
        mean += diagonal / static_cast<double>(depth);
    }
    std::vector<std::size_t> order(depth);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (how.act_order)
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return h[a * depth + a] > h[b * depth + b]; });
    std::vector<double> u(depth * depth);
    double damping = how.damping;
    for (;; damping = damping > 0 ? damping * 10 : 1e-6) {
        for (std::size_t i = 0; i != depth; ++i)
            for (std::size_t j = 0; j != depth; ++j)
                u[i * depth + j] = h[order[i] * depth + order[j]] + (i == j ? damping * mean : 0);
        if (upper_factor<Arch>(u, depth)) break;
        if (!is_finite(damping) || !is_finite(mean))
            raise<value_error>("gptq: the mean squares of a layer's inputs are not finite: calibrate with finite data");
    }
    invert_upper<Arch>(u, depth);
    outcome.damping = damping;
    // Some rows at a time, which share what is read of U.
    constexpr std::size_t together = 16;
    std::vector<double> w(together * depth);
    for (std::size_t begin = 0; begin < rows; begin += together) {
        const std::size_t count = std::min(together, rows - begin);
        for (std::size_t r = 0; r != count; ++r)
            for (std::size_t i = 0; i != depth; ++i)
                w[r * depth + i] = is_dead[order[i]] ? 0.0 : double{weights[(begin + r) * depth + order[i]]};
        for (std::size_t i = 0; i != depth; ++i)
            for (std::size_t r = 0; r != count; ++r) {
                double* own = w.data() + r * depth;
                float& rounded = weights[(begin + r) * depth + order[i]];
                rounded = grid.nearest(static_cast<float>(own[i]), first + begin + r, order[i]);
                const double error = (own[i] - double{rounded}) / u[i * depth + i];
                kernel::add_scaled<Arch>(-error, u.data() + i * depth + i, depth - i, own + i);
            }
    }
    return outcome;
}

}  // namespace zp::inline v0
