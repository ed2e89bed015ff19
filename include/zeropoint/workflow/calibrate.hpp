// SPDX-License-Identifier: BSD-3-Clause
// calibrate: runs a prepared network over data, and what there is to know about it afterwards.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/model/executor.hpp>
#include <zeropoint/workflow/prepare.hpp>

namespace zp::inline v0 {

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
template <class Range> inline constexpr bool is_nchw = false;
template <class Range> inline constexpr bool is_nchw<nchw_values<Range>> = true;
/// What a batch of several inputs is given as.
template <class Batch> inline constexpr bool is_batch_of_ports = false;
template <class... Ranges> inline constexpr bool is_batch_of_ports<input_ranges<Ranges...>> = true;
template <class... Ranges> inline constexpr bool is_batch_of_ports<std::tuple<Ranges...>> = true;
template <class A, class B> inline constexpr bool is_batch_of_ports<std::pair<A, B>> = true;

/// What codes of input P mean before any data was seen: known where its observer is a fixed_qparams_observer.
template <class Prepared, int P> struct codes_of_input {
    static constexpr port at = Prepared::inputs()[static_cast<std::size_t>(P)];
    using stage = typename Prepared::stage;
    using quantizer = typename stage::entries::template entry<stage::table.nodes[at.node].config>::activation;
    static constexpr bool are_known = at.storage == scalar_type::float32 && requires {
        quantizer::observer_type::fixed;
    };
    template <class Value>
    static constexpr bool are = are_known&& std::is_same_v<Value, typename quantizer::dtype::storage>;
};

/// Whether a range holds values of input P, one input after another.
template <class Prepared, int P, class Range>
inline constexpr bool is_batch = [] {
    using plain = typename plain_range<Range>::type;
    constexpr scalar_type storage = Prepared::inputs()[static_cast<std::size_t>(P)].storage;
    if constexpr (storage != scalar_type::float32) return !is_nchw<Range> && index_value<value_of<const Range>>;
    else
        return std::is_convertible_v<const plain&, std::span<const float>> ||
               codes_of_input<Prepared, P>::template are<value_of<const plain>>;
}();

/// What the user reads of a batch whose size is part of its type, and is not that of whole inputs.
template <std::size_t Input, std::size_t Came> struct batch_of_inputs {
    static_assert(Came != 0 && Came % Input == 0,
                  "calibrate(prepared, batches): a batch must hold one or more whole inputs, height x width x channels "
                  "values each (see batch_of_inputs<values of an input, values that came>)");
};

/// Raises shape_error: a batch of so many values, which are not whole inputs. `name` is that of the input, empty where a network has one.
template <class = void>
[[noreturn, gnu::cold]] void raise_batch_size(std::string_view name, const shape& extents, std::string_view values,
                                              std::size_t came) {
    const std::string named = name.empty() ? std::string() : "\"" + std::string(name) + "\", ";
    raise<shape_error>("a calibration batch must hold one or more inputs of " + named + to_string(extents) +
                       ", that is a multiple of " + std::to_string(extents.size()) + " " + std::string(values) +
                       ", but " + std::to_string(came) + " came");
}
/// Raises shape_error: a batch of as many inputs of one port, and as many of another.
template <class = void>
[[noreturn, gnu::cold]] void raise_batch_counts(const port& first, std::size_t count, const port& other,
                                                std::size_t other_count) {
    raise<shape_error>("a calibration batch must hold as many inputs of every port, but \"" + std::string(first.name) +
                       "\" has " + std::to_string(count) + " and \"" + std::string(other.name) + "\" has " +
                       std::to_string(other_count));
}

/// The range of a batch that goes into input P of a prepared network. All its indices are checked before any input is observed.
template <class Prepared, int P, class Range> class batch_of_input {
    using plain = typename plain_range<Range>::type;
    using codes = codes_of_input<Prepared, P>;
    static constexpr port at = Prepared::inputs()[static_cast<std::size_t>(P)];
    static constexpr auto size = static_cast<std::size_t>(at.extents.size());
    static constexpr bool takes_indices = at.storage == scalar_type::int32;
    static constexpr bool has_codes = codes::template are<value_of<const plain>>;
    using given = std::conditional_t<takes_indices || has_codes, value_of<const plain>, float>;
    using value = storage_of<at.storage>;

public:
    explicit batch_of_input(const Range& x)
        : values_([&]() -> std::span<const given> {
              if constexpr (is_nchw<Range>) return x.values;
              else return x;
          }()) {
        if constexpr (constexpr std::size_t came = static_extent<const plain>; came != std::dynamic_extent)
            static_cast<void>(sizeof(batch_of_inputs<size, came>));
        if (values_.empty() || values_.size() % size != 0)
            raise_batch_size(Prepared::inputs().size() == 1 ? std::string_view() : std::string_view(at.name),
                             at.extents, has_codes ? "codes" : values_text(at.storage), values_.size());
        if constexpr (takes_indices)
            for (std::size_t i = 0; i != values_.size(); i += size)
                check_indices(Prepared::rows(), at.node, values_.data() + i);
    }
    std::size_t count() const { return values_.size() / size; }
    /// Input i as the network reads it, until the next is asked for.
    const void* input(std::size_t i) {
        const given* x = values_.data() + i * size;
        if constexpr (is_nchw<Range>) {
            ordered_.resize(size);
            kernel::nchw_to_nhwc(x, at.extents, ordered_.data());
            x = ordered_.data();
        }
        if constexpr (std::is_same_v<given, value>) {
            return x;
        } else {
            changed_.resize(size);
            for (std::size_t k = 0; k != size; ++k) {
                if constexpr (has_codes) changed_[k] = dequantize(x[k], codes::quantizer::observer_type::fixed);
                else changed_[k] = static_cast<value>(x[k]);
            }
            return changed_.data();
        }
    }

private:
    std::span<const given> values_;
    std::vector<given> ordered_;
    std::vector<value> changed_;
};

/// Observes the inputs of a batch, of which each port has as many.
template <class Prepared, class... Batches> void observe_in_step(Prepared& network, Batches... batches) {
    const std::size_t counts[] = {batches.count()...};
    for (std::size_t p = 1; p < sizeof...(Batches); ++p)
        if (counts[p] != counts[0])
            raise_batch_counts(Prepared::inputs()[0], counts[0], Prepared::inputs()[p], counts[p]);
    for (std::size_t i = 0; i != counts[0]; ++i) {
        const void* const xs[] = {batches.input(i)...};
        network.observe(xs);
    }
}
/// A batch of ranges, one a port or each with the name of its.
template <class Prepared, class... Ranges> void observe_batch(Prepared& network, const input_ranges<Ranges...>& batch) {
    using side = input_side<typename Prepared::stage, input_ranges<Ranges...>>;
    constexpr bool is_judged = Prepared::stage::is_valid;  // else the verdict has said what is wrong
    if constexpr (is_judged) side::check_rules();
    if constexpr (side::fits && is_judged) {
        // Named: GCC 14 quotes all of a lambda that is called where it stands.
        const auto observe = [&]<int... P>(std::integer_sequence<int, P...>) {
            constexpr bool fits =
                (is_batch<Prepared, P, std::remove_const_t<typename side::template argument_at<P>::range>> && ...);
            constexpr bool has_several = sizeof...(P) != 1;
            static_assert(fits || !has_several,
                          "calibrate(prepared, batches): this model has several inputs: a batch is zp::in(a, b, ...) "
                          "or a std::tuple "
                          "of ranges in the order of declaration, of floats, or zp::nchw of such, for a zp::input and "
                          "of integers "
                          "of 32 or 64 bits for zp::indices");
            static_assert(fits || has_several || !Prepared::takes_indices,
                          "calibrate(prepared, batches): this model takes indices: batches must be a range of "
                          "contiguous ranges of integers of 32 or 64 bits, such as "
                          "std::vector<std::vector<std::int32_t>>");
            static_assert(fits || has_several || Prepared::takes_indices,
                          "calibrate(prepared, batches): batches must be a range of contiguous ranges of floats, "
                          "such as std::vector<std::vector<float>>, or zp::nchw of such; of codes, such as bytes of "
                          "a camera, where the qconfig gives the input a zp::fixed_qparams_observer of their dtype");
            if constexpr (fits)
                observe_in_step(
                    network,
                    batch_of_input<Prepared, P, std::remove_const_t<typename side::template argument_at<P>::range>>(
                        side::template argument_at<P>::values(
                            std::get<static_cast<std::size_t>(side::template argument_of<P>)>(batch.values)))...);
        };
        observe(side::sequence);
    }
}
template <class Prepared, class Batch> void observe_batch(Prepared& network, const Batch& batch) {
    if constexpr (is_batch_of_ports<Batch>)
        std::apply([&](const auto&... ranges) { observe_batch(network, in(ranges...)); }, batch);
    else observe_batch(network, in(batch));
}
/// Whether an argument of calibrate is one batch, not a range of batches.
template <class Prepared, class Batches>
inline constexpr bool is_single_batch =
    is_batch_of_ports<Batches> || is_nchw<Batches> || is_batch<Prepared, 0, Batches>;
/// one(batch) for each batch of an argument of calibrate.
template <class Prepared, class Batches, class One> void for_each_batch(const Batches& batches, const One& one) {
    if constexpr (is_single_batch<Prepared, Batches>) {
        one(batches);
    } else {
        for (const auto& batch : batches) one(batch);
    }
}
/// observe(batch) for each of them, and behind each the progress of the network that they are for.
template <class Prepared, class Batches, class Progress, class Observe>
void observe_batches(const Prepared& network, const Batches& batches, Progress& progress, const Observe& observe) {
    calibration_progress done;
    for_each_batch<Prepared>(batches, [&](const auto& batch) {
        observe(batch);
        ++done.batches;
        done.samples = network.samples();
        std::invoke(progress, std::as_const(done));
    });
}
}  // namespace detail

/// Observes every input of every batch. `batches` is any range whose elements are contiguous ranges of floats, each one or
/// more inputs of height x width x channels one after another (or zp::nchw(...) of such a range); a contiguous range of
/// floats is taken as a single batch. Batches for a model of indices are ranges of integers of 32 or 64 bits; one outside of a
/// table raises value_error. Where the qconfig gives an input a fixed_qparams_observer, as camera bytes have, batches may hold
/// codes of its dtype in place of floats. `progress(calibration_progress)` is called after each batch. How inputs are grouped
/// into batches changes nothing: each input is one observation. Call it again on the result to go on.
///
/// For a model of several inputs a batch has a range for each, which hold as many inputs: zp::in(ids, mask) of ranges that are there,
/// or a std::tuple that owns them; `batches` is one such batch, or a range of them.
template <class Net, class Config, class Arch, class Batches, class Progress = void (*)(const calibration_progress&)>
calibrated<Net, Config, Arch> calibrate(
    prepared<Net, Config, Arch> network, const Batches& batches,
    Progress progress = [](const calibration_progress&) {}) requires(!executor<Progress>) {
    detail::observe_batches(network, batches, progress,
                            [&](const auto& batch) { detail::observe_batch(network, batch); });
    return calibrated<Net, Config, Arch>(std::move(network));
}

}  // namespace zp::inline v0
