// SPDX-License-Identifier: BSD-3-Clause
// Losses over rows of floats, and their gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/core/number_text.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/vector/float_functions.hpp>
#include <zeropoint/kernel/vector/number.hpp>
#include <zeropoint/kernel/vector/ordered_double_sum.hpp>
#include <zeropoint/kernel/vector/uncontracted.hpp>
#include <zeropoint/training/fake_quantize.hpp>

// A loss is a mean over rows: one a sample, or several where there is a label a pixel or a step. Each call gets some of the rows
// of a batch and `factor`, 1 / (rows of the whole batch), writes factor * dloss/dlogits, and returns the sum of its rows' losses,
// not multiplied. A row's gradient depends on that row alone, with the same bits on every machine: however a batch is cut, it is
// the same.

namespace zp::inline v0 {

namespace losses {

/// exp((x - max) / temperature) into `e`, and what makes probabilities and their logarithms of it.
struct softmax_row {
    double max, temperature, sum;

    template <class Arch> static softmax_row of(std::span<const float> x, double temperature, float* e) {
        const float max = *std::max_element(x.begin(), x.end());
        const auto inverse = static_cast<float>(1 / temperature);
        kernel::for_each_number<Arch>(
            x.size(), [&](std::size_t i, auto number) __attribute__((always_inline)) {
                using Number = decltype(number);
                const Number below = kernel::load_number<Number>(x.data() + i) - Number(max);
                kernel::store_number(kernel::exp_of_nonpositive(kernel::rounded(Number(below * Number(inverse)))),
                                     e + i);
            });
        const double sum =
            kernel::sum_in_double<Arch>(x.size(), [&](std::size_t i) { return static_cast<double>(e[i]); });
        return {static_cast<double>(max), temperature, sum};
    }
    double log_probability(float x) const { return (static_cast<double>(x) - max) / temperature - std::log(sum); }
};

inline std::size_t rows_of(std::size_t count, std::size_t width, const char* function) {
    if (width == 0 || count % width != 0)
        raise<shape_error>(std::string(function) + ": expected whole rows of " + std::to_string(width) +
                           " values, got " + std::to_string(count) + " values");
    return count / width;
}
inline void require_label(std::int32_t label, std::size_t classes, std::size_t row, const char* function) {
    if (label < 0 || static_cast<std::size_t>(label) >= classes)
        raise<value_error>(std::string(function) + ": row " + std::to_string(row) + " has the label " +
                           std::to_string(label) + ", expected a class from 0 to " + std::to_string(classes - 1));
}

}  // namespace losses

/// torch.nn.functional.cross_entropy over class numbers: -log softmax(logits)[label], with label smoothing the mean of that over
/// all classes mixed in. Rows labelled `ignored` have no loss and no gradient; `factor` is then 1 / counted(labels).
struct cross_entropy {
    double label_smoothing = 0;   // in [0, 1): the share of the mean over all classes
    std::int32_t ignored = -100;  // the label of rows that do not count

    /// How many of these rows count.
    std::size_t counted(std::span<const std::int32_t> labels) const {
        return labels.size() - static_cast<std::size_t>(std::count(labels.begin(), labels.end(), ignored));
    }
    /// logits and gradient: [labels][classes]. The gradient is factor * (softmax(logits) - target). A value_error for a label
    /// that is no class, before anything is written.
    template <class Arch = default_architecture>
    double backward(std::span<const float> logits, std::size_t classes, std::span<const std::int32_t> labels,
                    double factor, std::span<float> gradient) const {
        const char* const name = "cross_entropy";
        const std::size_t rows = losses::rows_of(logits.size(), classes, name);
        require_equal_sizes(rows, labels.size(), name, "the labels");
        require_equal_sizes(logits.size(), gradient.size(), name, "the gradient");
        if (!(label_smoothing >= 0 && label_smoothing <= 1))
            raise<value_error>("cross_entropy: label_smoothing is " + number_text(label_smoothing) +
                               ", expected 0 to 1");
        for (std::size_t row = 0; row != rows; ++row)
            if (labels[row] != ignored) losses::require_label(labels[row], classes, row, name);
        const double everywhere = label_smoothing / static_cast<double>(classes);
        double loss = 0;
        for (std::size_t row = 0; row != rows; ++row) {
            const std::span<const float> x = logits.subspan(row * classes, classes);
            const std::span<float> g = gradient.subspan(row * classes, classes);
            if (labels[row] == ignored) {
                std::fill(g.begin(), g.end(), 0.0f);
                continue;
            }
            const auto label = static_cast<std::size_t>(labels[row]);
            const auto soft = losses::softmax_row::of<Arch>(x, 1, g.data());
            double row_loss = -(1 - label_smoothing) * soft.log_probability(x[label]);
            if (label_smoothing != 0) {
                const double log_sum = std::log(soft.sum);
                const double sum = kernel::sum_in_double<Arch>(
                    classes, [&](std::size_t i) { return static_cast<double>(x[i]) - soft.max - log_sum; });
                row_loss -= everywhere * sum;
            }
            loss += row_loss;
            for (std::size_t i = 0; i != classes; ++i) {
                const double target = everywhere + (i == label ? 1 - label_smoothing : 0);
                g[i] = static_cast<float>((static_cast<double>(g[i]) / soft.sum - target) * factor);
            }
        }
        return loss;
    }
};

/// torch.nn.functional.mse_loss: the mean over a row of (value - target)^2.
struct mean_squared_error {
    /// values, targets and gradient: [rows][width]. The gradient is factor * 2 * (value - target) / width.
    template <class Arch = default_architecture>
    double backward(std::span<const float> values, std::size_t width, std::span<const float> targets, double factor,
                    std::span<float> gradient) const {
        const char* const name = "mean_squared_error";
        const std::size_t rows = losses::rows_of(values.size(), width, name);
        require_equal_sizes(values.size(), targets.size(), name, "the targets");
        require_equal_sizes(values.size(), gradient.size(), name, "the gradient");
        double loss = 0;
        const double each = 1 / static_cast<double>(width);
        for (std::size_t row = 0; row != rows; ++row) {
            const auto difference = [&](std::size_t i) {
                return static_cast<double>(values[row * width + i]) - static_cast<double>(targets[row * width + i]);
            };
            loss +=
                each * kernel::sum_in_double<Arch>(width, [&](std::size_t i) { return difference(i) * difference(i); });
            for (std::size_t i = 0; i != width; ++i)
                gradient[row * width + i] = static_cast<float>(2 * each * factor * difference(i));
        }
        return loss;
    }
};

/// torch.nn.functional.kl_div(log_softmax(logits), targets, reduction="batchmean"): the sum over a row of
/// target * (log target - log softmax(logits)), with targets that are probabilities.
struct kl_divergence {
    /// logits, targets and gradient: [rows][classes]. The gradient is factor * (sum(target) * softmax(logits) - target).
    template <class Arch = default_architecture>
    double backward(std::span<const float> logits, std::size_t classes, std::span<const float> targets, double factor,
                    std::span<float> gradient) const {
        const char* const name = "kl_divergence";
        const std::size_t rows = losses::rows_of(logits.size(), classes, name);
        require_equal_sizes(logits.size(), targets.size(), name, "the targets");
        require_equal_sizes(logits.size(), gradient.size(), name, "the gradient");
        for (std::size_t i = 0; i != targets.size(); ++i)
            if (!(targets[i] >= 0))
                raise<value_error>("kl_divergence: target " + std::to_string(i) + " is " + number_text(targets[i]) +
                                   ", expected probabilities");
        double loss = 0;
        for (std::size_t row = 0; row != rows; ++row) {
            const std::span<const float> x = logits.subspan(row * classes, classes),
                                         t = targets.subspan(row * classes, classes);
            const std::span<float> g = gradient.subspan(row * classes, classes);
            const auto soft = losses::softmax_row::of<Arch>(x, 1, g.data());
            double mass = 0;
            for (std::size_t i = 0; i != classes; ++i) {
                const auto target = static_cast<double>(t[i]);
                mass += target;
                if (target > 0) loss += target * (std::log(target) - soft.log_probability(x[i]));
            }
            for (std::size_t i = 0; i != classes; ++i)
                g[i] = static_cast<float>((mass * (static_cast<double>(g[i]) / soft.sum) - static_cast<double>(t[i])) *
                                          factor);
        }
        return loss;
    }
};

/// Distillation (Hinton et al., 2015) from a teacher's logits, those of the float network as a rule:
///     (1 - weight) * cross_entropy(logits, label) + weight * T^2 * KL(softmax(teacher / T) || softmax(logits / T))
struct distillation {
    double temperature = 4;        // T, above 0
    double weight = 0.5;           // of the teacher, in [0, 1]
    cross_entropy labels_by = {};  // how labels count

    /// logits, teacher and gradient: [rows][classes]; without labels (an empty span) weight counts as 1. An ignored row has the
    /// teacher's part alone.
    template <class Arch = default_architecture>
    double backward(std::span<const float> logits, std::size_t classes, std::span<const float> teacher,
                    std::span<const std::int32_t> labels, double factor, std::span<float> gradient) const {
        const char* const name = "distillation";
        const std::size_t rows = losses::rows_of(logits.size(), classes, name);
        require_equal_sizes(logits.size(), teacher.size(), name, "the teacher's logits");
        require_equal_sizes(logits.size(), gradient.size(), name, "the gradient");
        if (!(temperature > 0) || !(weight >= 0 && weight <= 1))
            raise<value_error>("distillation: temperature is " + number_text(temperature) + " and weight " +
                               number_text(weight) + ", expected a temperature above 0 and a weight from 0 to 1");
        const double soft_weight = labels.empty() ? 1 : weight;
        double loss = 0;
        if (soft_weight < 1)
            loss = (1 - soft_weight) *
                   labels_by.backward<Arch>(logits, classes, labels, (1 - soft_weight) * factor, gradient);
        else std::fill(gradient.begin(), gradient.end(), 0.0f);
        std::vector<float> student(classes), wanted(classes);
        const double t = temperature;
        for (std::size_t row = 0; row != rows; ++row) {
            const std::span<const float> x = logits.subspan(row * classes, classes),
                                         y = teacher.subspan(row * classes, classes);
            const std::span<float> g = gradient.subspan(row * classes, classes);
            const auto soft = losses::softmax_row::of<Arch>(x, t, student.data());
            const auto target = losses::softmax_row::of<Arch>(y, t, wanted.data());
            double divergence = 0;
            for (std::size_t i = 0; i != classes; ++i) {
                const double p = static_cast<double>(wanted[i]) / target.sum,
                             q = static_cast<double>(student[i]) / soft.sum;
                if (p > 0) divergence += p * (target.log_probability(y[i]) - soft.log_probability(x[i]));
                g[i] =
                    static_cast<float>(static_cast<double>(g[i]) + kernel::rounded(soft_weight * t * (q - p) * factor));
            }
            loss += soft_weight * t * t * divergence;
        }
        return loss;
    }
};

}  // namespace zp::inline v0
