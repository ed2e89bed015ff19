// SPDX-License-Identifier: BSD-3-Clause
// The tensors of a state dict by name, for layers that are made of spans.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include <zeropoint/io/safetensors_reader.hpp>

namespace zp::inline v0 {

/// Reads parameters out of a file as layers on their own ask for them, and
/// keeps them. `prefix` stands before every name: "encoder." makes "encoder.weight_ih_l0" of "weight_ih_l0".
///
///     zp::state_dict parameters(file, "encoder.");
///     const zp::dynamic_lstm<40, 256> layer(parameters);
///     parameters.expect_nothing_else();
class state_dict {
public:
    explicit state_dict(const safetensors_file& file, std::string prefix = "")
        : file_(&file), prefix_(std::move(prefix)) {}

    /// rows x columns finite floats, columns = 0 for a vector. An `optional` tensor that the file lacks is empty. Raises
    /// file_error with the file, the tensor, what was expected and what was found.
    std::span<const float> operator()(const std::string& name, int rows, int columns = 0, bool optional = false) {
        const std::string whole = prefix_ + name;
        names_.push_back(whole);
        if (optional && file_->find(whole) == nullptr) return {};
        const file_shape shape = columns == 0 ? file_shape{rows} : file_shape{rows, columns};
        return values_.emplace_back(file_->finite_floats(whole, shape));
    }

    /// Raises file_error if the file has tensors that nothing asked for.
    void expect_nothing_else() const { file_->expect_no_other_than(names_); }

private:
    const safetensors_file* file_;
    std::string prefix_;
    std::vector<std::vector<float>> values_;  // whose elements stay where they are
    std::vector<std::string> names_;
};

}  // namespace zp::inline v0
