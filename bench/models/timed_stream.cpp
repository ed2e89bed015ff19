// SPDX-License-Identifier: BSD-3-Clause
// The list of all timed networks that run a step at a time, and what makes them: it compiles everything.
#include "timed_stream.hpp"

#include <atomic>
#include <cstddef>

#include <zeropoint/model/budget.hpp>
#include <zeropoint/workflow/streaming.hpp>

#include "quantize_randomly.hpp"
#include "streaming_networks.hpp"

namespace models {
namespace {

template <class Net> class timed_stream_of final : public timed_stream {
    using float_network = zp::fused<Net>;
    using int8_network = zp::quantized<Net, zp::default_qconfig>;
    using float_stream = zp::streaming<float_network>;
    using int8_stream = zp::streaming<int8_network>;
    static constexpr auto input_size = static_cast<std::size_t>(float_stream::input_shape.size());
    static constexpr auto output_size = static_cast<std::size_t>(float_stream::output_shape.size());

public:
    int inputs() const override { return static_cast<int>(input_size); }
    int outputs() const override { return static_cast<int>(output_size); }
    std::int64_t multiplications() const override { return zp::budget_of<typename float_stream::network_type>.macs; }
    void reset() noexcept override {
        float_->reset();
        int8_->reset();
    }
    void run_int8(const float* x, float* y, int steps) noexcept override { run(*int8_, x, y, steps); }
    void run_float(const float* x, float* y, int steps) noexcept override { run(*float_, x, y, steps); }
    void save_float(const std::string& path) const override { zp::save(with_random_weights<Net>(), path); }

private:
    template <class Stream> static void run(Stream& stream, const float* x, float* y, int steps) noexcept {
        for (int i = 0; i != steps; ++i) {
            stream(std::span<const float, input_size>(x, input_size), std::span<float, output_size>(y, output_size));
            std::atomic_signal_fence(std::memory_order_seq_cst);  // every step reads and writes anew
        }
    }
    std::unique_ptr<float_stream> float_ = std::make_unique<float_stream>(zp::fuse(with_random_weights<Net>()));
    std::unique_ptr<int8_stream> int8_ =
        std::make_unique<int8_stream>(quantize_randomly<Net>(zp::fuse(with_random_weights<Net>())));
};

template <class Net> std::unique_ptr<timed_stream> make() { return std::make_unique<timed_stream_of<Net>>(); }

}  // namespace
}  // namespace models

std::span<const models::named_stream> models::timed_streams() {
    static constexpr named_stream all[] = {{"dense 64-64-64-16", make<dense_64>},
                                           {"LSTM 1-32-1", make<lstm_1<32>>},
                                           {"GRU 1-24-1", make<gru_1<24>>},
                                           {"TCN 4 x 16", make<tcn_16>}};
    return all;
}
std::span<const models::named_stream> models::streams_without_peers() {
    static constexpr named_stream all[] = {{"residual TCN 4 x 32", make<residual_tcn_32>},
                                           {"wake word, 8 frames", make<wake_word>}};
    return all;
}
