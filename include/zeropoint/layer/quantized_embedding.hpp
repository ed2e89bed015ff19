// SPDX-License-Identifier: BSD-3-Clause
// Embedding tables of 8 or 4 bits a weight for use on their own: rows by index, and sums and means of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/movement/embedding.hpp>
#include <zeropoint/operators/embedding_bag.hpp>
#include <zeropoint/operators/quantize_rows.hpp>
#include <zeropoint/layer/argument_checks.hpp>

namespace zp::inline v0 {

/// The table of an embedding: quantized once, each row with a scale and an offset of its own.
template <int Bits = 8> class quantized_embedding_table {
    static_assert(Bits == 8 || Bits == 4, "quantized_embedding<Bits>: Bits must be 8 or 4");

public:
    /// `weights`: rows x columns floats. Raises shape_error where they are no whole rows, and what quantize_rows raises.
    quantized_embedding_table(std::span<const float> weights, int columns)
        : table_(quantize_rows<Bits>(checked(weights, columns), columns)) {}

    int rows() const noexcept { return static_cast<int>(table_.rows.size()); }
    int columns() const noexcept { return table_.columns; }
    const quantized_rows<Bits>& table() const noexcept { return table_; }

protected:
    template <class Index> void check_indices(const char* layer, std::span<const Index> indices) const {
        static_assert(std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::int64_t>,
                      "quantized_embedding: indices must be std::int32_t or std::int64_t");
        zp::check_indices(layer, indices.data(), 0, static_cast<std::ptrdiff_t>(indices.size()), rows());
    }

private:
    static std::span<const float> checked(std::span<const float> weights, int columns) {
        if (columns < 1 || weights.empty() || weights.size() % static_cast<std::size_t>(columns) != 0)
            raise<shape_error>("quantized_embedding: expected whole rows of " + std::to_string(columns) +
                               " weights, found " + std::to_string(weights.size()) + " weights");
        return weights;
    }

    quantized_rows<Bits> table_;
};

/// Rows by index, dequantized: y[i][columns] = the values of row indices[i].
template <int Bits = 8, class Arch = default_architecture>
class quantized_embedding : public quantized_embedding_table<Bits> {
public:
    using quantized_embedding_table<Bits>::quantized_embedding_table;

    /// Raises value_error for an index that is not in [0, rows), shape_error where y has not indices x columns values.
    template <class Index> void operator()(std::span<const Index> indices, std::span<float> y) const {
        this->check_indices("quantized_embedding", indices);
        check_count("quantized_embedding", "outputs", indices.size() * static_cast<std::size_t>(this->columns()),
                    y.size());
        kernel::embedding<Arch>(this->table().view(), indices.data(), indices.size(), y.data());
    }
};

/// Sums or means of rows: bag b has indices [offsets[b], offsets[b + 1]), the last bag the rest.
template <int Bits = 8, class Arch = default_architecture>
class quantized_embedding_bag : public quantized_embedding_table<Bits> {
public:
    /// Rows `padding_index` are left out of every bag; -1: none is.
    quantized_embedding_bag(std::span<const float> weights, int columns,
                            embedding_bag_mode mode = embedding_bag_mode::sum, int padding_index = -1)
        : quantized_embedding_table<Bits>(weights, columns), mode_(mode), padding_index_(padding_index) {
        if (padding_index < -1 || padding_index >= this->rows())
            raise<value_error>("quantized_embedding_bag: expected a padding_index below " +
                               std::to_string(this->rows()) + ", or -1 for none, got " + std::to_string(padding_index));
    }

    /// y[bags][columns] of sums or means, each row multiplied by weights[i] before, where there are weights. Raises
    /// value_error for an index or an offset out of range and for the mean of weighted rows, which PyTorch has not either;
    /// shape_error where counts do not fit.
    template <class Index>
    void operator()(std::span<const Index> indices, std::span<const Index> offsets, std::span<float> y,
                    std::span<const float> weights = {}) const {
        constexpr const char* name = "quantized_embedding_bag";
        this->check_indices(name, indices);
        check_count(name, "outputs", offsets.size() * static_cast<std::size_t>(this->columns()), y.size());
        if (!weights.empty()) check_count(name, "weights, one an index", indices.size(), weights.size());
        if (!weights.empty() && mode_ == embedding_bag_mode::mean)
            raise<value_error>(std::string(name) + ": weights are for sums, not for means");
        for (std::size_t bag = 0; bag != offsets.size(); ++bag) {
            const Index before = bag == 0 ? Index{0} : offsets[bag - 1];
            const bool in_order = offsets[bag] >= before && static_cast<std::size_t>(offsets[bag]) <= indices.size() &&
                                  (bag != 0 || offsets[bag] == 0);
            if (!in_order)
                raise<value_error>(std::string(name) + ": offset " + std::to_string(offsets[bag]) + " at position " +
                                   std::to_string(bag) + ": offsets begin with 0, rise, and are at most " +
                                   std::to_string(indices.size()) + ", the number of indices");
        }
        kernel::embedding_bag<Arch>(this->table().view(), indices.data(), indices.size(), offsets.data(),
                                    offsets.size(), weights.empty() ? nullptr : weights.data(), mode_, padding_index_,
                                    y.data());
    }

private:
    embedding_bag_mode mode_;
    int padding_index_;
};

}  // namespace zp::inline v0
