// SPDX-License-Identifier: BSD-3-Clause
// The networks of bench/models that run a step at a time, once more by RTNeural, behind a C interface. Compiled by rtneural.py against a
// checkout of RTNeural, with its backend Eigen.
#include <algorithm>
#include <memory>
#include <string>

#include <RTNeural/RTNeural.h>

namespace {

using json = nlohmann::json;
namespace rt = RTNeural;

class stream {
public:
    stream() = default;
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    virtual ~stream() = default;
    virtual void reset() = 0;
    virtual void run(const float* x, float* y, int steps) = 0;
};

template <int Inputs, int Outputs, class... Layers> class stream_of : public stream {
public:
    void reset() override { model.reset(); }
    void run(const float* x, float* y, int steps) override {
        for (int i = 0; i != steps; ++i) {
            std::copy(x, x + Inputs, input);
            model.forward(input);
            std::copy(model.getOutputs(), model.getOutputs() + Outputs, y);
            asm volatile("" ::: "memory");  // every step reads and writes anew
        }
    }

protected:
    rt::ModelT<float, Inputs, Outputs, Layers...> model;

private:
    alignas(64) float input[Inputs];
};

struct dense final : stream_of<64, 16, rt::DenseT<float, 64, 64>, rt::TanhActivationT<float, 64>,
                               rt::DenseT<float, 64, 64>, rt::TanhActivationT<float, 64>, rt::DenseT<float, 64, 16>> {
    explicit dense(const json& weights) {
        rt::torch_helpers::loadDense<float>(weights, "fc1.", model.get<0>());
        rt::torch_helpers::loadDense<float>(weights, "fc2.", model.get<2>());
        rt::torch_helpers::loadDense<float>(weights, "fc3.", model.get<4>());
    }
};
struct lstm final : stream_of<1, 1, rt::LSTMLayerT<float, 1, 32>, rt::DenseT<float, 32, 1>> {
    explicit lstm(const json& weights) {
        rt::torch_helpers::loadLSTM<float>(weights, "rnn.", model.get<0>());
        rt::torch_helpers::loadDense<float>(weights, "mix.", model.get<1>());
    }
};
struct gru final : stream_of<1, 1, rt::GRULayerT<float, 1, 24>, rt::DenseT<float, 24, 1>> {
    explicit gru(const json& weights) {
        rt::torch_helpers::loadGRU<float>(weights, "rnn.", model.get<0>());
        rt::torch_helpers::loadDense<float>(weights, "mix.", model.get<1>());
    }
};
template <int Inputs, int Dilation> using conv = rt::Conv1DT<float, Inputs, 16, 3, Dilation>;
using tanh_16 = rt::TanhActivationT<float, 16>;
struct tcn final : stream_of<1, 1, conv<1, 1>, tanh_16, conv<16, 2>, tanh_16, conv<16, 4>, tanh_16, conv<16, 8>,
                             tanh_16, rt::DenseT<float, 16, 1>> {
    explicit tcn(const json& weights) {
        rt::torch_helpers::loadConv1D<float>(weights, "conv1.", model.get<0>());
        rt::torch_helpers::loadConv1D<float>(weights, "conv2.", model.get<2>());
        rt::torch_helpers::loadConv1D<float>(weights, "conv3.", model.get<4>());
        rt::torch_helpers::loadConv1D<float>(weights, "conv4.", model.get<6>());
        rt::torch_helpers::loadDense<float>(weights, "mix.", model.get<8>());
    }
};

}  // namespace

extern "C" {

/// kind: dense, LSTM, GRU, TCN. weights: a state dict of PyTorch's as JSON.
void* rt_stream_new(const char* kind, const char* weights) {
    const json values = json::parse(weights);
    const std::string name = kind;
    stream* made = nullptr;
    if (name == "dense") made = new dense(values);
    if (name == "LSTM") made = new lstm(values);
    if (name == "GRU") made = new gru(values);
    if (name == "TCN") made = new tcn(values);
    made->reset();
    return made;
}
void rt_stream_reset(void* of) { static_cast<stream*>(of)->reset(); }
void rt_stream_run(void* of, const float* x, float* y, int steps) { static_cast<stream*>(of)->run(x, y, steps); }
void rt_stream_delete(void* of) { delete static_cast<stream*>(of); }
}
