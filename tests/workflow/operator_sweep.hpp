// SPDX-License-Identifier: BSD-3-Clause
// The sweep: every layer as a branch of its own over normal data, in float32 and in int8 under the default qconfig, and what
// the int8 layer loses, in decibels. Branches of one kind of input make one network, because networks are what takes long to
// compile: a layer that does nothing, and has no int8 form, reads them all, so that each is dequantized by itself.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/histogram_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/calibrate.hpp>
#include <zeropoint/workflow/convert.hpp>
#include <zeropoint/workflow/presets.hpp>

#include "../support/generator.hpp"
#include "../support/guarded_rows.hpp"
#include "../support/nodes.hpp"
#include "../support/parts.hpp"

namespace operator_sweep {

/// How a layer's int8 result is judged.
enum class measure {
    decibels,  // of the signal above the error: at least 30
    answers    // the share of outputs that are equal, where outputs are decisions: at least 0.97
};

template <zp::fixed_string Name, class Layer, measure Measure = measure::decibels> struct entry {
    static constexpr std::string_view name = Name.text;
    static constexpr measure judged_by = Measure;
    static constexpr int nodes = zp::nodes_of<Layer>;
    static constexpr int lower(zp::builder& b, int x) { return zp::sequential<Layer>::lower(b, x); }
};

/// Reads up to eight values of any extents.
struct sink {
    static constexpr const char* kind = "sink";
    static constexpr bool takes_volumes = true;
    static constexpr bool accepts(std::span<const zp::shape>) { return true; }
    static constexpr zp::shape output_shape(std::span<const zp::shape>) { return {1, 1, 1}; }
    static void forward(const zp::operands<float>& o) { o.y()[0] = 0; }
};
inline bool is_sink(const zp::node& row) { return std::string_view(row.op->name) == sink::kind; }

/// Entries as the branches of a model.
template <class Input, class... Entries> struct branches {
    static constexpr int count = sizeof...(Entries);
    static constexpr int nodes = 1 + zp::nodes_of<Entries...> + count;
    static constexpr std::string_view names[] = {Entries::name...};
    static constexpr measure measures[] = {Entries::judged_by...};

    static constexpr void lower(zp::builder& b) {
        const int x = b.input(Input::extents);
        using lower_function = int (*)(zp::builder&, int);
        const lower_function appends[] = {&Entries::lower...};
        int rows[count] = {}, left = count;
        for (int i = 0; i != count; ++i) rows[i] = appends[i](b, x);
        do {
            int sinks = 0;
            for (int i = 0; i < left; i += 8) {
                const auto together = static_cast<std::size_t>(left - i < 8 ? left - i : 8);
                rows[sinks++] = zp::append_operator<zp::op::custom, sink>(b, {rows + i, together});
            }
            left = sinks;
        } while (left > 1);
    }
};

/// The values that the sinks read, of each entry.
template <class Network> std::vector<std::vector<float>> values_of_entries(const Network& model, const float* x) {
    const auto memory = std::make_unique<typename Network::workspace>();
    float y = 0;
    std::vector<std::vector<float>> of_rows(model.rows().size()), of_entries;
    model.run(x, &y, memory->bytes, [&](int i, const void* values) {
        const zp::node& row = model.rows()[static_cast<std::size_t>(i)];
        if (row.out.storage == zp::scalar_type::float32) {
            const auto* floats = static_cast<const float*>(values);
            of_rows[static_cast<std::size_t>(i)].assign(floats, floats + row.out.extents.size());
        }
        if (!is_sink(row)) return;
        for (int k = 0; k != row.input_count; ++k) {
            const auto read = static_cast<std::size_t>(row.inputs[k]);
            if (!is_sink(model.rows()[read])) of_entries.push_back(of_rows[read]);
        }
    });
    return of_entries;
}

/// Normally distributed, by sums of twelve.
inline float normal(zp_test::generator& next) {
    float sum = 0;
    for (int i = 0; i != 12; ++i) sum += next.real(-0.5f, 0.5f);
    return sum;
}

/// A network whose layers keep the deviation of their inputs: filters have a norm of 1, factors are near 1, offsets near 0.
template <class Net> zp::float_model<Net> trained() {
    zp::float_model<Net> model;
    zp_test::generator next(7);
    for (const zp::node& row : model.rows()) {
        auto* block = reinterpret_cast<float*>(model.parameters() + row.at.parameter_offset);
        const zp::parameter_list list = zp::parameters_of(zp_test::view_of(model.rows(), row));
        if (zp_test::is(row, zp::op::batch_norm)) {
            for (float& value : zp_test::array_of(model, row, 0)) value = next.real(0.5f, 1.5f);
            for (float& value : zp_test::array_of(model, row, 1)) value = next.real(-0.5f, 0.5f);
            for (float& value : zp_test::array_of(model, row, 2)) value = next.real(-0.5f, 0.5f);
            for (float& value : zp_test::array_of(model, row, 3)) value = next.real(0.5f, 2.0f);
        } else if (!row.op->multiplies) {
            for (int i = 0; i != list.count; ++i) {
                const std::string_view name = list.arrays[i].name;
                const bool factor = name == "weight" || name == "running_var";
                for (int k = 0; k != list.arrays[i].size(); ++k)
                    *block++ = factor ? next.real(0.5f, 1.5f) : next.real(-0.5f, 0.5f);
            }
        } else {
            const int depth = row.weights.count / row.weights.channels;
            for (int c = 0; c != row.weights.channels; ++c) {
                float* filter = block + c * depth;
                double squares = 0;
                for (int i = 0; i != depth; ++i) squares += std::pow(double{filter[i] = normal(next)}, 2);
                for (int i = 0; i != depth; ++i) filter[i] /= static_cast<float>(std::sqrt(squares));
            }
            if (row.weights.has_bias)
                for (float& value : zp_test::array_of(model, row, 1)) value = next.real(-0.5f, 0.5f);
        }
    }
    return model;
}

/// Through all stages: calibrated on some inputs, judged on others. `shape_value` makes an input's value of a normal one.
/// With ZEROPOINT_PRINT_SWEEP in the environment it prints the rows of docs/accuracy.md.
template <class Net, class Config = zp::default_qconfig>
void check(const std::function<float(float)>& shape_value = [](float x) { return x; }) {
    const auto model = trained<Net>();
    zp_test::generator next(11);
    const auto make = [&] {
        std::vector<float> x(static_cast<std::size_t>(model.input_shape.size()));
        for (float& value : x) value = shape_value(normal(next));
        return x;
    };
    std::vector<std::vector<float>> seen(512);
    for (auto& x : seen) x = make();
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<Config>(zp::fuse(model)), seen));
    zp_test::check_parts(model, make().data());
    zp_test::check_parts(int8, make().data());
    zp_test::check_guarded(model, make().data());
    zp_test::check_guarded(int8, make().data());
    struct sums {
        double signal = 0, noise = 0, equal = 0, all = 0;
    };
    std::array<sums, Net::count> of_entries{};
    for (int image = 0; image != 32; ++image) {
        const std::vector<float> x = make();
        const auto wanted = values_of_entries(model, x.data()), got = values_of_entries(int8, x.data());
        REQUIRE(wanted.size() == Net::count);
        REQUIRE(got.size() == Net::count);
        for (std::size_t i = 0; i != Net::count; ++i) {
            REQUIRE(!wanted[i].empty());
            REQUIRE(got[i].size() == wanted[i].size());
            for (std::size_t k = 0; k != wanted[i].size(); ++k) {
                const double real = wanted[i][k], error = got[i][k] - real;
                of_entries[i].signal += real * real;
                of_entries[i].noise += error * error;
                of_entries[i].equal += error == 0 ? 1 : 0;
                of_entries[i].all += 1;
            }
        }
    }
    for (std::size_t i = 0; i != Net::count; ++i) {
        const std::string name(Net::names[i]);
        const sums& s = of_entries[i];
        const bool in_decibels = Net::measures[i] == measure::decibels;
        const double decibels = s.noise == 0 ? 99 : 10 * std::log10(s.signal / s.noise), share = s.equal / s.all;
        if (std::getenv("ZEROPOINT_PRINT_SWEEP") != nullptr) {
            if (s.noise == 0) std::printf("| `%s` | exact |\n", name.c_str());
            else if (in_decibels) std::printf("| `%s` | %.1f dB |\n", name.c_str(), decibels);
            else std::printf("| `%s` | %.1f %% equal |\n", name.c_str(), 100 * share);
        }
        CAPTURE(name);
        CHECK(s.signal > 0);
        if (in_decibels) CHECK(decibels >= 30);
        else CHECK(share >= 0.97);
    }
}

}  // namespace operator_sweep
