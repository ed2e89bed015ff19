// The parameters of a described operator to codes: its matrices, a scale a row.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/layer/quantize_filters.hpp>
#include <zeropoint/layer/weight_layout.hpp>
#include <zeropoint/observe/min_max_observer.hpp>

namespace zp {
inline namespace v0 {

/// `floats` is the block of a float row. Raises calibration_error with the layer's name where a weight is not finite.
template <class Quantizer, class Arch>
quantized_parameters quantize_parameters(const parameter_list& list, const float* floats, std::string_view where) {
    quantized_parameters all;
    for (int i = 0; i != list.count; ++i) {
        const parameter_array& array = list.arrays[i];
        const auto size = static_cast<std::size_t>(array.size());
        if (array.matrix) {
            std::vector<float> ordered(size);
            array_to_file(array, floats, ordered.data());
            const std::vector<float> none(static_cast<std::size_t>(array.extents[0]));
            std::vector<std::string> raised;  // stays empty: only an integer bias can ask for it
            all.matrices.push_back(quantize_filters<Quantizer, Arch>(ordered, none, 1.0f, true,
                                                                     std::string(where) + "." + array.name, raised));
            all.matrices.back().float_bias.clear();
        } else {
            all.vectors.emplace_back(floats, floats + size);
        }
        floats += size;
    }
    return all;
}

/// Weights of recurrent layers in int8 models: int8, symmetric, a scale a row, whatever the qconfig says of weights.
struct recurrent_weight_quantizer {
    using dtype = qint8;
    using qscheme = per_channel_symmetric;
    using rule = pytorch_rule;
    using observer_type = per_channel_min_max_observer;
};

}  // namespace v0
}  // namespace zp
