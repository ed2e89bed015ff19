// SPDX-License-Identifier: BSD-3-Clause
// A network as those who time it see it: by name, without its type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/analysis/model_table.hpp>
#include <zeropoint/core/function_ref.hpp>
#include <zeropoint/core/shape.hpp>
#include <zeropoint/graph/cut.hpp>
#include <zeropoint/model/executor.hpp>

namespace models {

/// An executor without its type, which it refers to.
class any_executor {
public:
    template <zp::executor Executor>
    explicit any_executor(const Executor& with)
        : with_(&with),
          workers_(with.workers()),
          least_work_(zp::detail::least_work_of(with)),
          run_([](const void* of, int parts, zp::function_ref<void(int)> body) {
              static_cast<const Executor*>(of)->run(parts, body);
          }) {}
    int workers() const { return workers_; }
    std::int64_t least_work() const { return least_work_; }
    template <class Body> void run(int parts, const Body& body) const { run_(with_, parts, body); }

private:
    const void* with_;
    int workers_;
    std::int64_t least_work_;
    void (*run_)(const void*, int, zp::function_ref<void(int)>);
};

/// Both forms of a network with one set of random weights. One thread at a time may run it.
class timed_model {
public:
    timed_model() = default;
    timed_model(const timed_model&) = delete;
    timed_model& operator=(const timed_model&) = delete;
    virtual ~timed_model() = default;

    virtual zp::shape input_shape() const = 0;
    virtual zp::shape output_shape() const = 0;
    /// Products of one inference: twice as many operations, as all rates here count them.
    virtual std::int64_t multiplications() const = 0;
    /// Of the int8 network: activations and scratch of one call, and packed weights with their tables.
    virtual int arena_bytes() const = 0;
    virtual int parameter_bytes() const = 0;

    /// x: height x width x channels. Quantizing it and dequantizing y are part of the int8 network.
    virtual void run_int8(const float* x, float* y) noexcept = 0;
    virtual void run_float(const float* x, float* y) noexcept = 0;

    /// The int8 network row by row: its table, and a call of after(row) behind every row of an inference.
    virtual zp::model_table int8_table() const = 0;
    virtual void run_int8_by_row(const float* x, float* y, const std::function<void(int)>& after) = 0;

    /// By an executor, with at most most_workers parts a row; and into how many parts each row is cut.
    static constexpr int most_workers = 16;
    virtual void run_int8_by(const any_executor& with, const float* x, float* y,
                             const std::function<void(int)>& after) = 0;
    virtual std::vector<zp::node_cut::choice> parts_by(const any_executor& with) const = 0;

    /// The weights under PyTorch's names, shapes and order as safetensors: before batch norms are folded.
    virtual void save_float(const std::string& path) const = 0;
};

struct named_model {
    const char* name;
    std::unique_ptr<timed_model> (*make)();  // takes up to seconds: weights, calibration, packing
};
/// "mlp_64", "mlp_784", "lenet", "resnet18", "mobilenet_v2".
std::span<const named_model> timed_models();

std::unique_ptr<timed_model> make_mlp_64();
std::unique_ptr<timed_model> make_mlp_784();
std::unique_ptr<timed_model> make_lenet();
std::unique_ptr<timed_model> make_resnet18();
std::unique_ptr<timed_model> make_mobilenet_v2();

}  // namespace models
