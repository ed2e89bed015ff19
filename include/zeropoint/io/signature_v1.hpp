// SPDX-License-Identifier: BSD-3-Clause
// A number that two networks share only if their nodes are the same: what ties an int8 file of format 1 to its type.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <zeropoint/graph/graph.hpp>

// Files of format 1 were first written when a node held other members than today's. What is hashed, and in which order, is
// what those members held: so that the files stay readable, this file changes only together with the format.

namespace zp::inline v0 {
namespace detail {

/// A node's own number of that name; null where its operator has none.
constexpr const int* find_option(const node& n, const char* name) {
    const std::span<const char* const> names = n.op->option_names;
    for (std::size_t i = 0; i != names.size(); ++i)
        if (std::string_view(names[i]) == name) return &n.options[i];
    return nullptr;
}
constexpr int option_or(const node& n, const char* name, int otherwise) {
    const int* option = find_option(n, name);
    return option == nullptr ? otherwise : *option;
}

/// FNV-1a over words of 32 bits.
class word_hash {
public:
    constexpr word_hash() = default;
    /// Goes on from a value().
    constexpr explicit word_hash(std::uint64_t from) : hash_(from) {}
    constexpr void mix(std::int64_t value) {
        hash_ = (hash_ ^ (static_cast<std::uint64_t>(value) & 0xffffffffu)) * 1099511628211ull;
    }
    constexpr void mix(float value) { mix(std::int64_t{std::bit_cast<std::int32_t>(value)}); }
    constexpr void mix_text(const char* text) {
        for (; *text != 0; ++text) mix(std::int64_t{static_cast<unsigned char>(*text)});
        mix(std::int64_t{-1});
    }
    constexpr void mix_function(const operator_info& op) {
        mix_text(op.name);
        if (op.function != nullptr)
            for (std::size_t i = 0; i != op.function->constants.size(); ++i) mix(op.function->constants[i]);
    }
    constexpr std::uint64_t value() const { return hash_; }

private:
    std::uint64_t hash_ = 14695981039346656037ull;
};

constexpr void mix_node(word_hash& hash, const node& n, int other_lut_bits) {
    const auto mix = [&](int value) { hash.mix(std::int64_t{value}); };
    const operator_info& op = *n.op;
    const epilogue& fused = n.fused;
    // The clamp of a node that is one is told by its kind.
    const operator_info* behind = fused.lut != nullptr ? fused.lut : (op.gives & bounds) == 0 ? fused.clamp : nullptr;
    hash.mix_text(op.kind->name);
    hash.mix_text(behind == nullptr ? "none" : behind->kind->name);
    hash.mix_text(n.name);
    for (int k = 0; k != n.input_count; ++k) mix(n.inputs[k]);
    const shape& y = n.out.extents;
    for (const int extent : {y.height, y.width, y.channels}) mix(extent);
    for (const char* name : {"kernel_height", "kernel_width", "stride_height", "stride_width"})
        mix(option_or(n, name, 1));
    for (const char* name : {"padding_top", "padding_left"}) mix(option_or(n, name, 0));
    for (const char* name : {"dilation_height", "dilation_width", "groups"}) mix(option_or(n, name, 1));
    const int numbers[] = {static_cast<int>(n.out.storage),
                           static_cast<int>(n.weights.storage),
                           n.weights.affine,
                           option_or(n, "count_include_pad", 1),
                           n.out.qparams_id,
                           fused.lut_qparams_id,
                           n.out.quant_min,
                           n.out.quant_max,
                           n.weights.quant_min,
                           n.weights.quant_max};
    for (const int number : numbers) mix(number);
    if (y.is_volume()) mix(y.depth);
    if (find_option(n, "kernel_depth") != nullptr)
        for (const char* name : {"kernel_depth", "stride_depth", "padding_front", "dilation_depth"})
            mix(option_or(n, name, 0));
    const int lut_bits = other_lut_bits != 0 && fused.lut != nullptr ? other_lut_bits : int{fused.lut_bits};
    if (lut_bits != 8) mix(lut_bits);
    hash.mix(fused.lut != nullptr ? fused.lut_parameter : n.parameter);
    if (fused.lut != nullptr && !fused.lut->signed_by_kind) hash.mix_function(*fused.lut);
    if (!op.signed_by_kind) {
        hash.mix_function(op);
        for (std::size_t i = 0; i != op.options.size(); ++i) mix(op.options[i]);
    }
    if (n.is_weight_only()) {
        hash.mix_text("weight only");
        mix(n.weights.group);
    }
    if (n.is_grouped()) {
        hash.mix_text("groups");
        mix(n.weights.group);
    }
    if (fused.clamp != nullptr && !fused.clamp->option_names.empty()) {
        hash.mix(fused.lowest);
        hash.mix(fused.highest);
    }
}

}  // namespace detail

/// Hash of everything that gives a file's integers their meaning: operators with their parameter, names, extents, windows,
/// dtypes with their ranges, who shares a scale, how many entries fused tables have, and `arithmetic`, the requantization
/// policy's name. Not of the architecture, nor of where things lie in memory. With `other_lut_bits`, what it would be with
/// fused tables of so many bits.
constexpr std::uint64_t signature_of(std::span<const node> nodes, const char* arithmetic, int other_lut_bits = 0) {
    detail::word_hash hash;
    hash.mix_text(arithmetic);
    for (std::size_t i = 0; i != nodes.size(); ++i) detail::mix_node(hash, nodes[i], other_lut_bits);
    return hash.value();
}
template <int N>
constexpr std::uint64_t signature_of(const graph<N>& g, const char* arithmetic, int other_lut_bits = 0) {
    return signature_of(std::span(g.nodes, static_cast<std::size_t>(g.size)), arithmetic, other_lut_bits);
}

namespace detail {
/// Of the first End nodes. 32 at a time are an evaluation of its own, because compilers limit the steps of one.
template <const auto& Graph, class Stage, int LutBits, int End>
inline constexpr std::uint64_t signature_up_to = [] {
    constexpr int begin = (End - 1) / 32 * 32;
    word_hash hash;
    if constexpr (begin == 0) hash.mix_text(Stage::arithmetic);
    else hash = word_hash(signature_up_to<Graph, Stage, LutBits, begin>);
    for (int i = begin; i != End; ++i) mix_node(hash, Graph.nodes[i], LutBits);
    return hash.value();
}();
}  // namespace detail
/// signature_of() of a stage's nodes, or of others of its, found when it is compiled.
template <class Stage, const auto& Graph, int LutBits = 0>
inline constexpr std::uint64_t signature_of_nodes = detail::signature_up_to<Graph, Stage, LutBits, Graph.size>;

/// Sixteen hexadecimal digits.
inline std::string signature_text(std::uint64_t signature) {
    std::string text(16, '0');
    for (std::size_t i = 0; i != 16; ++i) text[15 - i] = "0123456789abcdef"[signature >> (4 * i) & 15];
    return text;
}

}  // namespace zp::inline v0
