// SPDX-License-Identifier: BSD-3-Clause
// The timed form of a network's type. Only the files that make one model each include this: it compiles everything.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>

#include "quantize_randomly.hpp"
#include "timed_model.hpp"

namespace models {

template <class Net> class timed_model_of final : public timed_model {
    using float_network = zp::fused<Net>;
    using int8_network = zp::quantized<Net, zp::default_qconfig>;

public:
    zp::shape input_shape() const override { return int8_network::input_shape; }
    zp::shape output_shape() const override { return int8_network::output_shape; }
    std::int64_t multiplications() const override { return zp::budget_of<int8_network>.macs; }
    int arena_bytes() const override { return int8_network::arena_bytes; }
    int parameter_bytes() const override { return int8_network::parameter_bytes; }

    void run_int8(const float* x, float* y) noexcept override { int8_.run(x, y, int8_memory_->bytes); }
    void run_float(const float* x, float* y) noexcept override { float_.run(x, y, float_memory_->bytes); }
    zp::model_table int8_table() const override { return zp::table_of(int8_); }
    void run_int8_by_row(const float* x, float* y, const std::function<void(int)>& after) override {
        int8_.run(x, y, int8_memory_->bytes, [&](int row, const void*) { after(row); });
    }
    void run_int8_by(const any_executor& with, const float* x, float* y,
                     const std::function<void(int)>& after) override {
        if (!parts_memory_) parts_memory_ = std::make_unique<parts_memory>();
        const void* const xs[] = {x};
        void* const ys[] = {y};
        if (after)
            int8_.run_parts(xs, ys, parts_memory_->bytes, most_workers, with,
                            [&](int row, const void*) { after(row); });
        else int8_.run_parts(xs, ys, parts_memory_->bytes, most_workers, with);
    }
    std::vector<zp::node_cut::choice> parts_by(const any_executor& with) const override {
        std::vector<zp::node_cut::choice> parts;
        for (const zp::node_cut& cut : int8_network::stage::cuts)
            parts.push_back(cut.choose(std::min(most_workers, with.workers()), with.least_work()));
        return parts;
    }
    void save_float(const std::string& path) const override { zp::save(with_random_weights<Net>(), path); }

private:
    float_network float_ = zp::fuse(with_random_weights<Net>());
    int8_network int8_ = quantize_randomly<Net>(float_);
    std::unique_ptr<typename int8_network::workspace> int8_memory_ =
        std::make_unique<typename int8_network::workspace>();
    using parts_memory = typename int8_network::template workspace_for<most_workers>;
    std::unique_ptr<parts_memory> parts_memory_;
    std::unique_ptr<typename float_network::workspace> float_memory_ =
        std::make_unique<typename float_network::workspace>();
};

}  // namespace models
