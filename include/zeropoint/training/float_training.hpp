// SPDX-License-Identifier: BSD-3-Clause
// A float network as training sees it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/io/signature_v1.hpp>
#include <zeropoint/model/float_stage.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/training/block_runner.hpp>
#include <zeropoint/training/make_tape.hpp>
#include <zeropoint/training/trained_part.hpp>

namespace zp::inline v0::detail {

/// Refers to a network of a float stage, whose parameters are trained where they are. Batch norms of a network as written take the
/// statistics of batches; what zp::fuse has left of them stays as it is.
template <class Stage> class float_training {
public:
    using architecture = typename Stage::architecture;
    using network_type = network<Stage>;

    explicit float_training(network_type& trained) : network_(trained) { append_parts_of_parameters<Stage>(parts_); }

    static constexpr std::span<const port> inputs() { return network_type::inputs(); }
    static constexpr std::span<const node> rows() { return network_type::rows(); }
    static constexpr std::span<const port> outputs() { return network_type::outputs(); }
    static std::string row_name(int row) { return display_name(rows(), row); }
    static std::string training_signature() { return signature_text(signature_of(rows(), "float training")); }

    tape make_tape(int block) const { return make_float_tape<Stage>(block, is_live_); }
    static constexpr bool has_batch_norms() {
        if (!std::is_same_v<Stage, float_stage<typename Stage::net, architecture>>) return false;
        for (const gradient_rule& rule : stage_gradients<Stage>::rules)
            if (rule.running_mean != nullptr) return true;
        return false;
    }
    bool batch_norms_are_live() const { return is_live_; }
    void set_batch_norms_live(bool live) { is_live_ = live && has_batch_norms(); }
    std::span<float> values() {
        return {floats_of(network_), static_cast<std::size_t>(network_type::parameter_bytes) / sizeof(float)};
    }
    std::span<const float> values() const { return const_cast<float_training*>(this)->values(); }
    const std::vector<trained_part>& parts() const { return parts_; }
    static std::vector<trained_part> variances() {
        std::vector<trained_part> all;
        append_variances<Stage>(all);
        return all;
    }
    tape_parameters pack() const { return floats(); }
    tape_parameters floats() const { return {network_.parameters(), nullptr, nullptr}; }

    // Without codes there are no ranges.
    static constexpr bool has_ranges() { return true; }
    static void observe(const void* const*) {}
    static void begin() {}
    static void follow(std::span<const observed_range>) {}
    static void finish_gradient(std::span<float>, std::span<const range_gradient>) {}
    static void finish() {}
    static std::vector<float> range_state() { return {}; }
    static std::string problem_of_range_state(std::span<const float>) { return {}; }
    template <class Require> void set_state(std::span<const float>, std::span<const float> values, Require&& require) {
        require(this->values().size(), parts());
        std::copy(values.begin(), values.end(), this->values().begin());
    }

private:
    static float* floats_of(network_type& n) { return reinterpret_cast<float*>(n.parameters()); }

    network_type& network_;
    std::vector<trained_part> parts_;
    bool is_live_ = has_batch_norms();
};

/// What the trainer sees of a network.
template <class Network> Network& trainee_of(Network& network) { return network; }
template <class Stage> float_training<Stage> trainee_of(network<Stage>& floats) {
    return float_training<Stage>(floats);
}

}  // namespace zp::inline v0::detail
