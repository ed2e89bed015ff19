// SPDX-License-Identifier: BSD-3-Clause
// Scale and zero point that do not depend on data: outputs whose range is known, such as a sigmoid's.
#pragma once

#include <string_view>
#include <vector>

#include <zeropoint/observe/observer.hpp>

namespace zp::inline v0 {

/// What the bytes of an image mean where byte b stands for (b / 255 - mean) / deviation, of all channels alike. The zero point is the
/// byte nearest to 255 * mean. (Means of channels are a zp::normalize behind the input.)
constexpr qparams qparams_of_bytes(double mean = 0, double deviation = 1) {
    return {static_cast<float>(1 / (255 * deviation)), static_cast<int>(255 * mean + 0.5)};
}

/// PyTorch's FixedQParamsObserver: `fixed_qparams_observer<qparams{1.0f / 256, 0}>` for [0, 1] as quint8,
/// `<qparams{2.0f / 256, 128}>` for [-1, 1]. Needs no data, but watches it for reports, and rejects NaN and infinity.
template <qparams Params> class fixed_qparams_observer : public widest_range {
    static_assert(is_finite(Params.scale) && Params.scale > 0,
                  "fixed_qparams_observer<Params>: Params.scale must be finite and greater than 0");

public:
    static constexpr qparams fixed = Params;  // scale and zero point, whatever is seen

    void merge(const fixed_qparams_observer& other) { merge_base(other); }
    /// Always Params.
    template <class DType, class QScheme, class Rule = pytorch_rule>
    std::vector<qparams> calculate_qparams(std::string_view) const {
        static_assert(is_valid<DType>(Params),
                      "fixed_qparams_observer<Params>: Params.zero_point lies outside the dtype's codes: [0, 255] for "
                      "zp::quint8, [-128, 127] for zp::qint8");
        static_assert(QScheme::is_per_tensor,
                      "fixed_qparams_observer<Params> has one scale: it serves per_tensor schemes");
        return {Params};
    }
};

}  // namespace zp::inline v0
