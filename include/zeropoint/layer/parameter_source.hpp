// SPDX-License-Identifier: BSD-3-Clause
// Where layers on their own have their parameters from: tensors of the caller's, by name or in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zeropoint/layer/argument_checks.hpp>
#include <zeropoint/operators/quantize_parameters.hpp>

namespace zp::inline v0::detail {

/// Tensors in the order in which they are asked for, and none behind the last.
class tensors_in_order {
public:
    explicit tensors_in_order(std::span<const std::span<const float>> tensors) : tensors_(tensors) {}
    std::span<const float> operator()(const std::string&, int, int, bool) {
        return read_ == tensors_.size() ? std::span<const float>() : tensors_[read_++];
    }
    /// A shape_error where there are more than were asked for.
    void check_all_read(std::string_view where) const {
        std::size_t found = tensors_.size();
        while (found != read_ && tensors_[found - 1].empty()) --found;  // a bias that is none
        check_count(where, "tensors of parameters", read_, found);
    }

private:
    std::span<const std::span<const float>> tensors_;
    std::size_t read_ = 0;
};

/// Reads the parameters of nodes from what `find(name, rows, columns, optional)` gives, each tensor once: its name in a state dict,
/// columns = 0 for a vector; of an optional one, a bias, perhaps none. Raises shape_error for other counts and calibration_error
/// for values that are not finite, in the name of `where`.
template <class Find> class parameter_source {
public:
    parameter_source(std::string_view where, Find& find) : layer_(where), find_(find) {}

    /// What the form of node `v` is packed from, of which `from` has the arrays.
    template <class Quantizer, class Arch>
    node_parameters read(const node_view& v, const node_view& from, const parameter_quantization& how) {
        const node& n = from.n;
        std::vector<std::string> raised;
        const auto no_table = [](const parameter_array&, std::span<const float>) { return quantized_weights{}; };
        return quantize_parameters<Quantizer, Arch>(v, from, floats_of(n, parameters_of(from)).data(), how,
                                                    n.name[0] != 0 ? n.name : n.op->name, raised, no_table);
    }

private:
    std::vector<float> floats_of(const node& n, const parameter_list& list) {
        std::vector<float> block(static_cast<std::size_t>(list.offset_of(list.count)));
        std::string lacking, found;
        for (int i = 0; i != list.count; ++i) {
            const parameter_array& array = list.arrays[i];
            float* values = block.data() + list.offset_of(i);
            if (!array.in_state_dict) {
                std::fill_n(values, array.size(), array.otherwise);
                continue;
            }
            const std::string name = name_of(n, array);
            const bool may_lack =
                array.role == parameter_role::bias || std::string_view(array.name).starts_with("bias");
            const std::span<const float> whole = tensor(name, array, n.part.parts, may_lack);
            if (may_lack) (whole.empty() ? lacking : found) = name;
            if (whole.empty()) continue;
            const auto size = static_cast<std::size_t>(array.size());
            array_from_file(array, whole.subspan(static_cast<std::size_t>(n.part.part) * size, size).data(), values);
        }
        if (!lacking.empty() && !found.empty())
            raise<shape_error>(std::string(layer_) + ": expected all biases of a layer or none, found " + found +
                               " and no " + lacking);
        return block;
    }
    std::string name_of(const node& n, const parameter_array& array) const {
        if (n.part.name != nullptr) return std::string(n.part.name) + "_" + array.name;
        if (n.name[0] == 0 || n.name == layer_) return array.name;
        return std::string(n.name) + (array.name[0] == 0 ? "" : ".") + array.name;
    }
    std::span<const float> tensor(const std::string& name, const parameter_array& array, int parts, bool may_lack) {
        for (const auto& [known, values] : tensors_)
            if (known == name) return values;
        const int rows = parts * array.extents[0], columns = array.rank == 1 ? 0 : array.size() / array.extents[0];
        const std::span<const float> values = find_(name, rows, columns, may_lack);
        if (!values.empty() || !may_lack)
            check_count(layer_, ("values of " + name).c_str(),
                        static_cast<std::size_t>(parts) * static_cast<std::size_t>(array.size()), values.size());
        check_finite(layer_, name.c_str(), values);
        tensors_.emplace_back(name, values);
        return values;
    }

    std::string_view layer_;
    Find& find_;
    std::vector<std::pair<std::string, std::span<const float>>> tensors_;
};

}  // namespace zp::inline v0::detail
