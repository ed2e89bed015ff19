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
/// How many inputs a batch of so many values holds.
template <class Prepared> void check_batch(std::size_t values, const char* what) {
    constexpr auto size = static_cast<std::size_t>(Prepared::input_shape.size());
    if (values == 0 || values % size != 0)
        raise<shape_error>("a calibration batch must hold one or more inputs of " + to_string(Prepared::input_shape) +
                           ", that is a multiple of " + std::to_string(size) + " " + what + ", but " +
                           std::to_string(values) + " came");
}
template <class Prepared>
void observe_batch(Prepared& network, std::span<const float> values, bool channels_first, std::vector<float>& image) {
    constexpr auto size = static_cast<std::size_t>(Prepared::input_shape.size());
    check_batch<Prepared>(values.size(), "floats");
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
/// All indices of a batch are checked before the first is observed.
template <class Prepared, index_value Index>
void observe_indices(Prepared& network, std::span<const Index> values, std::vector<std::int32_t>& indices) {
    constexpr auto size = static_cast<std::size_t>(Prepared::input_shape.size());
    check_batch<Prepared>(values.size(), "indices");
    for (std::size_t i = 0; i != values.size(); i += size) check_indices(Prepared::rows(), values.data() + i);
    indices.resize(size);
    for (std::size_t i = 0; i != values.size(); i += size) {
        for (std::size_t k = 0; k != size; ++k) indices[k] = static_cast<std::int32_t>(values[i + k]);
        network.observe(indices.data());
    }
}
/// Whether a range holds values that a network takes one after another.
template <class Prepared, class Range>
inline constexpr bool is_batch = [] {
    if constexpr (!Prepared::takes_indices) return std::is_convertible_v<const Range&, std::span<const float>>;
    else return index_value<std::remove_const_t<typename element_of<const Range>::type>>;
}();
template <class Range> inline constexpr bool is_nchw = false;
template <class Range> inline constexpr bool is_nchw<nchw_values<Range>> = true;
}  // namespace detail

/// Observes every input of every batch. `batches` is any range whose elements are contiguous ranges of floats, each one or
/// more inputs of height x width x channels one after another (or zp::nchw(...) of such a range); a contiguous range of
/// floats is taken as a single batch. Batches for a model of indices are ranges of integers of 32 or 64 bits; one outside of a
/// table raises value_error. `progress(calibration_progress)` is called after each batch. How inputs are grouped
/// into batches changes nothing: each input is one observation. Call it again on the result to go on.
template <class Net, class Config, class Arch, class Batches, class Progress = void (*)(const calibration_progress&)>
calibrated<Net, Config, Arch> calibrate(
    prepared<Net, Config, Arch> network, const Batches& batches,
    Progress progress = [](const calibration_progress&) {}) {
    calibration_progress done;
    using network_type = prepared<Net, Config, Arch>;
    std::vector<typename network_type::input_value> values_of_one;
    const auto one = [&](const auto& batch, bool channels_first) {
        if constexpr (network_type::takes_indices) detail::observe_indices(network, std::span(batch), values_of_one);
        else detail::observe_batch(network, std::span<const float>(batch), channels_first, values_of_one);
        ++done.batches;
        done.samples = network.samples();
        std::invoke(progress, std::as_const(done));
    };
    if constexpr (detail::is_nchw<Batches>) {
        static_assert(!network_type::takes_indices,
                      "calibrate(prepared, zp::nchw(...)): this model takes indices, which are no images");
        one(batches.values, true);
    } else if constexpr (detail::is_batch<network_type, Batches>) {
        one(batches, false);
    } else {
        for (const auto& batch : batches) {
            using batch_type = std::remove_cvref_t<decltype(batch)>;
            if constexpr (detail::is_nchw<batch_type>) {
                static_assert(
                    !network_type::takes_indices,
                    "calibrate(prepared, batches of zp::nchw): this model takes indices, which are no images");
                one(batch.values, true);
            } else {
                constexpr bool fits = detail::is_batch<network_type, batch_type>;
                static_assert(fits || !network_type::takes_indices,
                              "calibrate(prepared, batches): this model takes indices: batches must be a range of "
                              "contiguous ranges of integers of 32 or 64 bits, such as "
                              "std::vector<std::vector<std::int32_t>>");
                static_assert(fits || network_type::takes_indices,
                              "calibrate(prepared, batches): batches must be a range of contiguous ranges of floats, "
                              "such as std::vector<std::vector<float>>, or zp::nchw of such");
                if constexpr (fits) one(batch, false);
            }
        }
    }
    return calibrated<Net, Config, Arch>(std::move(network));
}

}  // namespace v0
}  // namespace zp
