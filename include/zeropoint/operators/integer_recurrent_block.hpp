// SPDX-License-Identifier: BSD-3-Clause
// The blocks of recurrent nodes that compute in integers: a header, and behind it the parts of each layer and direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include <zeropoint/core/aligned_buffer.hpp>
#include <zeropoint/graph/form.hpp>
#include <zeropoint/operators/recurrent_steps.hpp>

namespace zp::inline v0 {

/// The parameters of one layer and direction. Biases are empty where there are none.
struct recurrent_weights {
    const quantized_weights &ih, &hh;
    const std::vector<float>&bias_ih, &bias_hh;

    const std::int8_t* codes_ih() const { return reinterpret_cast<const std::int8_t*>(ih.codes.data()); }
    const std::int8_t* codes_hh() const { return reinterpret_cast<const std::int8_t*>(hh.codes.data()); }
};

/// What fills such a block, and its inverse. Form has header_of(preparation); pack_layer(), null or a sentence where scales cannot be;
/// and unpack_layer(), which gives the codes of both matrices. A Layout says where the scales and biases lie that files have: `floats`.
template <class Form, class Header, class Layout> struct integer_recurrent_block {
    static constexpr int parameter_bytes(const node_view& v) {
        return static_cast<int>(align_up(sizeof(Header)) + bytes_of_layers<Layout>(recurrent_geometry(v)));
    }
    static refusal pack(const preparation& p, const node_parameters& from) {
        const recurrent_geometry g(p.at);
        const auto& header = *new (p.block) Header(Form::header_of(p));
        std::byte* block = p.block + align_up(sizeof header);
        const std::vector<float> none;
        std::size_t matrix = 0, vector = 0;
        for (int layer = 0; layer != g.options.layers; ++layer)
            for (int direction = 0; direction != g.directions(); ++direction, matrix += 2) {
                const Layout at(g, layer);
                const recurrent_weights weights{from.matrices[matrix], from.matrices[matrix + 1],
                                                g.options.bias ? from.vectors[vector++] : none,
                                                g.options.bias ? from.vectors[vector++] : none};
                if (const char* problem = Form::pack_layer(p, header, g, layer, at, weights, block)) return {problem};
                std::byte* floats = block + at.floats;
                for (const auto* values :
                     {&weights.ih.scales, &weights.hh.scales, &weights.bias_ih, &weights.bias_hh}) {
                    if (!values->empty()) std::memcpy(floats, values->data(), values->size() * sizeof(float));
                    floats += sizeof(float) * static_cast<std::size_t>(g.sums());
                }
                block += at.bytes;
            }
        return {};
    }
    static node_parameters unpack(const preparation& p) {
        const recurrent_geometry g(p.at);
        const std::byte* block = p.block + align_up(sizeof(Header));
        node_parameters all;
        for (int layer = 0; layer != g.options.layers; ++layer)
            for (int direction = 0; direction != g.directions(); ++direction) {
                const Layout at(g, layer);
                const auto* floats = reinterpret_cast<const float*>(block + at.floats);
                const auto next = [&] {
                    floats += g.sums();
                    return std::vector<float>(floats - g.sums(), floats);
                };
                const auto sums = static_cast<std::size_t>(g.sums());
                quantized_weights ih, hh;
                ih.codes.resize(sums * static_cast<std::size_t>(g.inputs_of(layer)));
                hh.codes.resize(sums * static_cast<std::size_t>(g.hidden));
                Form::unpack_layer(at, block, reinterpret_cast<std::int8_t*>(ih.codes.data()),
                                   reinterpret_cast<std::int8_t*>(hh.codes.data()));
                ih.scales = next();
                hh.scales = next();
                all.matrices.push_back(std::move(ih));
                all.matrices.push_back(std::move(hh));
                for (int i = 0; i != (g.options.bias ? 2 : 0); ++i) all.vectors.push_back(next());
                block += at.bytes;
            }
        return all;
    }
};

}  // namespace zp::inline v0
