// SPDX-License-Identifier: BSD-3-Clause
// Passes are functions: called when the program runs, they give the table that the compiler computed. Over models that take every way through them.
#include <doctest/doctest.h>

#include <ratio>
#include <string>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/operators.hpp>
#include <zeropoint/pass/contract.hpp>
#include <zeropoint/workflow/presets.hpp>
#include <zeropoint/workflow/stages.hpp>

namespace {

using zp::axis;
using zp::conv;
using arch = zp::default_architecture;

/// All that the passes under test write.
std::string text_of(const zp::node& n) {
    std::string text = n.op->kind->name + std::string(":");
    for (const int number : {static_cast<int>(n.out.storage),
                             int{n.out.quant_min},
                             int{n.out.quant_max},
                             int{n.out.qparams_id},
                             n.out.extents.size(),
                             static_cast<int>(n.weights.storage),
                             int{n.weights.quant_min},
                             int{n.weights.quant_max},
                             n.weights.count,
                             n.weights.channels,
                             int{n.fused.lut_qparams_id},
                             int{n.fused.lut_bits},
                             int{n.fused.adds_input_1},
                             int{n.requantized_inputs},
                             int{n.config},
                             int{n.part.part},
                             int{n.part.parts},
                             int{n.flags.observed},
                             int{n.flags.keep_float},
                             int{n.flags.unshared},
                             int{n.flags.port_codes},
                             int{n.from.value()}})
        text += std::to_string(number) + " ";
    if (n.fused.lut != nullptr) text += n.fused.lut->kind->name;
    for (int k = 0; k != n.input_count; ++k) text += "<" + std::to_string(n.inputs[k]);
    return text + "\n";
}
template <class Graph> std::string text_of_all(const Graph& g) {
    std::string text;
    for (int i = 0; i != g.size; ++i) text += text_of(g.nodes[i]);
    return text;
}

template <class Net, class Config> void check() {
    using entries = zp::qconfig_entries<Config>;
    using by_compiler = zp::quantized_nodes<Net, Config, arch>;
    const auto fused = zp::fused_nodes<Net, arch>::loose;
    const auto prepared = zp::assign_qparams(zp::mark_code_ports<zp::checked_qconfig<Config>>(fused),
                                             [](const zp::node& n) { return entries::choose(n); });
    CHECK(text_of_all(prepared) == text_of_all(by_compiler::prepared));
    const auto quantized = zp::quantize_nodes<zp::most_quantized_nodes(by_compiler::prepared)>(
        prepared, zp::rule_of_entry<Config>, entries::template make_integer_weights<arch>, entries::merges_sums,
        zp::boundaries);
    CHECK(text_of_all(quantized) == text_of_all(by_compiler::wide));
}

using halves =
    zp::concat<zp::slice<axis::channels, 0, 4>, zp::sequential<zp::slice<axis::channels, 4, 8>, zp::sigmoid>>;
struct images : zp::model<zp::input<4, 4, 8>, zp::conv2d<"a", conv{.out_channels = 8}>, zp::hardswish,
                          zp::residual<zp::conv2d<"b", conv{.out_channels = 8, .kernel = 3, .padding = 1}>>, zp::relu,
                          halves, zp::maximum<zp::slice<axis::channels, 0, 4>, zp::slice<axis::channels, 4, 8>>,
                          zp::flatten, zp::linear<"fc", 3>> {};
struct words : zp::model<zp::indices<5>, zp::embedding<"words", 11, 8>, zp::layer_norm<"norm">, zp::linear<"fc", 4>> {};

struct two_outputs : zp::model<zp::input<1, 1, 6>, zp::linear<"hidden", 4>, zp::output<"codes">, zp::relu,
                               zp::linear<"last", 3>, zp::output<"scores">> {};
struct attention : zp::model<zp::input<1, 7, 24>, zp::self_attention<"a", 3>> {};

template <class DType> using activations = zp::quantizer<DType, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_channel_symmetric, zp::per_channel_min_max_observer>;
template <class... Options> struct with : zp::qconfig<activations<zp::quint8>, weights, Options...> {};
struct narrow : zp::qconfig<activations<zp::quint8_reduced>, weights> {};

}  // namespace

TEST_CASE("passes give the compiler's table when the program runs") {
    check<images, with<>>();
    check<images, with<zp::separate_sums>>();
    check<images, with<zp::keep_float<"b">>>();
    check<images, with<zp::for_layer<"b", narrow>>>();
    check<images, zp::int16_qconfig>();
    check<images, zp::tflite_qconfig>();
    check<words, with<>>();
    check<words, with<zp::keep_float_type<zp::op::embedding>>>();
    check<words, with<zp::embedding_bits<4>>>();
    check<two_outputs, with<>>();
    check<two_outputs, with<zp::codes_in<>, zp::codes_out<"codes">>>();
}

TEST_CASE("merge_parts gives the compiler's table when the program runs, with one node of three projections") {
    static constexpr auto contracted = zp::contract_nodes(
        zp::fuse_nodes(zp::source<attention>::table), [](const auto&, int, zp::node&, const auto&) { return true; });
    static constexpr auto merged = zp::merge_parts(contracted);
    const auto when_run = contracted;
    CHECK(text_of_all(zp::merge_parts(when_run)) == text_of_all(merged));
    CHECK(merged.size == contracted.size - 2);
}
