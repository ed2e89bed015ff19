// calibrate: runs a prepared network over data, and what there is to know about it afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/workflow/prepare.hpp>

namespace zp {
inline namespace v0 {

/// What a progress callback gets after every batch.
struct calibration_progress {
    std::uint64_t batches = 0;  // done so far
    std::uint64_t samples = 0;  // inputs done so far
};

/// A prepared network that has seen data: the only thing that zp::convert takes. `zp::report` tells what it saw.
template <class Net, class Config, class Arch> class calibrated : public prepared<Net, Config, Arch> {
public:
    explicit calibrated(prepared<Net, Config, Arch> observed) : prepared<Net, Config, Arch>(std::move(observed)) {}
};

namespace detail {
template <class Prepared>
void observe_batch(Prepared& network, std::span<const float> values, bool channels_first, std::vector<float>& image) {
    constexpr auto size = static_cast<std::size_t>(Prepared::input_shape.size());
    if (values.empty() || values.size() % size != 0)
        raise<shape_error>("a calibration batch must hold one or more inputs of " + to_string(Prepared::input_shape) +
                           ", that is a multiple of " + std::to_string(size) + " floats, but " +
                           std::to_string(values.size()) + " came");
    for (std::size_t i = 0; i != values.size(); i += size) {
        const float* x = values.data() + i;
        if (channels_first) {
            image.resize(size);
            kernel::nchw_to_nhwc(x, Prepared::input_shape, image.data());
            x = image.data();
        }
        network.observe(x);
    }
}
template <class Range> inline constexpr bool is_nchw = false;
template <class Range> inline constexpr bool is_nchw<nchw_values<Range>> = true;
}  // namespace detail

/// Observes every input of every batch. `batches` is any range whose elements are contiguous ranges of floats, each one or
/// more inputs of height x width x channels one after another (or zp::nchw(...) of such a range); a contiguous range of
/// floats is taken as a single batch. `progress(calibration_progress)` is called after each batch. How inputs are grouped
/// into batches changes nothing: each input is one observation. Call it again on the result to go on.
template <class Net, class Config, class Arch, class Batches, class Progress = void (*)(const calibration_progress&)>
calibrated<Net, Config, Arch> calibrate(
    prepared<Net, Config, Arch> network, const Batches& batches,
    Progress progress = [](const calibration_progress&) {}) {
    calibration_progress done;
    std::vector<float> image;
    const auto one = [&](std::span<const float> values, bool channels_first) {
        detail::observe_batch(network, values, channels_first, image);
        ++done.batches;
        done.samples = network.samples();
        std::invoke(progress, std::as_const(done));
    };
    if constexpr (detail::is_nchw<Batches>) {
        one(std::span(batches.values), true);
    } else if constexpr (std::is_convertible_v<const Batches&, std::span<const float>>) {
        one(batches, false);
    } else {
        for (const auto& batch : batches) {
            using batch_type = std::remove_cvref_t<decltype(batch)>;
            if constexpr (detail::is_nchw<batch_type>) {
                one(std::span(batch.values), true);
            } else {
                static_assert(std::is_convertible_v<const batch_type&, std::span<const float>>,
                              "calibrate(prepared, batches): batches must be a range of contiguous ranges of floats, "
                              "such as std::vector<std::vector<float>>, or zp::nchw of such");
                if constexpr (std::is_convertible_v<const batch_type&, std::span<const float>>) one(batch, false);
            }
        }
    }
    return calibrated<Net, Config, Arch>(std::move(network));
}

}  // namespace v0
}  // namespace zp
