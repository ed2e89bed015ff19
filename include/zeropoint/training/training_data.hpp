// SPDX-License-Identifier: BSD-3-Clause
// What a network is trained with: inputs, and what belongs to each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <zeropoint/core/error.hpp>
#include <zeropoint/kernel/movement/layout.hpp>
#include <zeropoint/model/port_ranges.hpp>

namespace zp::inline v0 {

namespace detail {
/// How data keep a range: by reference, but what zp::in and zp::nchw make of some by value.
template <class Range> struct kept { using type = const Range&; };
template <class... Ranges> struct kept<input_ranges<Ranges...>> { using type = input_ranges<Ranges...>; };
template <class Range> struct kept<nchw_values<Range>> { using type = nchw_values<Range>; };
}  // namespace detail

/// Inputs with a class number each, or one a pixel or step of the output.
template <class Inputs, class Labels> struct labelled_data {
    typename detail::kept<Inputs>::type inputs;  // one sample after another
    const Labels& labels;                        // in the order of the samples
};
/// Inputs with the values that should come out.
template <class Inputs, class Targets> struct paired_data {
    typename detail::kept<Inputs>::type inputs;  // one sample after another
    const Targets& targets;                      // in the order of the samples
};
/// What a marked output should give: class numbers where `values` is a range of integers, values where it is one of floats.
template <class Values> struct output_targets {
    std::string_view output;  // its name
    const Values& values;     // in the order of the samples
};
/// Inputs with what each of several outputs should give.
template <class Inputs, class... Values> struct data_with_targets {
    typename detail::kept<Inputs>::type inputs;       // one sample after another
    std::tuple<output_targets<Values>...> by_output;  // one entry an output
};
/// Inputs alone, of which a teacher knows.
template <class Inputs> struct unlabelled_data { typename detail::kept<Inputs>::type inputs; };

/// `inputs` is a contiguous range of floats (of integers for a model of indices), one input behind the other, or a contiguous range of
/// such ranges, one an input; zp::nchw of either; for several inputs zp::in(ranges...). `labels` is a contiguous range of integers. They
/// are referred to, and must outlive the call of zp::train.
template <class Inputs, class Labels>
labelled_data<Inputs, Labels> labelled(const Inputs& inputs, const Labels& labels) {
    return {inputs, labels};
}
/// Inputs as of zp::labelled, with the floats that should come out for each, one sample behind the other. Both must
/// outlive the call of zp::train.
template <class Inputs, class Targets>
paired_data<Inputs, Targets> paired(const Inputs& inputs, const Targets& targets) {
    return {inputs, targets};
}
/// Inputs alone, for losses that need no targets, such as distillation. They must outlive the call of zp::train.
template <class Inputs> unlabelled_data<Inputs> unlabelled(const Inputs& inputs) { return {inputs}; }
/// What the marked output of that name should give.
template <class Values> output_targets<Values> targets(std::string_view output, const Values& values) {
    return {output, values};
}
/// For several outputs: zp::with_targets(images, zp::targets("class", labels), zp::targets("box", boxes)), with a loss for each of them in
/// training_options::losses.
template <class Inputs, class... Values>
data_with_targets<Inputs, Values...> with_targets(const Inputs& inputs, const output_targets<Values>&... by_output) {
    return {inputs, {by_output...}};
}

namespace detail {

/// The samples of one port.
template <class Range> class port_samples {
    static constexpr bool is_nchw_range = requires(const Range& r) { r.values; };
    using plain = std::remove_cvref_t<typename plain_range<Range>::type>;
    using element = value_of<const plain>;
    static constexpr bool is_flat = std::is_arithmetic_v<element>;
    static constexpr auto find_value() {
        if constexpr (is_flat) return std::type_identity<element>();
        else return std::type_identity<value_of<const element>>();
    }
    using value = typename decltype(find_value())::type;
    static_assert(std::is_same_v<value, float> || std::is_integral_v<value>,
                  "train: inputs must be contiguous ranges of floats, of integers for a model of indices, or of such "
                  "ranges, one an "
                  "input: std::vector<float>, std::vector<std::array<float, 64>>");

public:
    port_samples(const Range& range, const port& at, const std::string& which)
        : values_(plain_of(range)), at_(at), size_(static_cast<std::size_t>(at.extents.size())) {
        const bool takes_indices = at.storage == scalar_type::int32;
        if (takes_indices != std::is_integral_v<value>)
            raise<value_error>("train: " + which + " takes " + (takes_indices ? "indices" : "floats") + ", but " +
                               (takes_indices ? "floats" : "integers") + " came");
        const std::span<const element> all(*values_);
        if constexpr (is_flat) {
            if (all.size() % size_ != 0)
                raise<shape_error>("train: " + which + " is " + to_string(at.extents) + ", so that a multiple of " +
                                   std::to_string(size_) + " values was expected, but " + std::to_string(all.size()) +
                                   " came");
            count_ = all.size() / size_;
        } else {
            count_ = all.size();
            for (std::size_t i = 0; i != count_; ++i)
                if (std::size(all[i]) != size_)
                    raise<shape_error>("train: " + which + " is " + to_string(at.extents) + ", that is " +
                                       std::to_string(size_) + " values, but input " + std::to_string(i) + " has " +
                                       std::to_string(std::size(all[i])));
        }
    }
    std::size_t count() const { return count_; }
    const value* sample(std::size_t i) const {
        const std::span<const element> all(*values_);
        if constexpr (is_flat) return all.data() + i * size_;
        else return std::data(all[i]);
    }
    void copy(std::size_t i, void* to) const {
        const value* from = sample(i);
        if constexpr (!std::is_same_v<value, float>)
            for (std::size_t k = 0; k != size_; ++k)
                static_cast<std::int32_t*>(to)[k] = static_cast<std::int32_t>(from[k]);
        else if constexpr (is_nchw_range) kernel::nchw_to_nhwc(from, at_.extents, static_cast<float*>(to));
        else std::memcpy(to, from, sizeof(float) * size_);
    }
    /// Raises value_error where an index lies outside of a table that it chooses rows of.
    void check(std::span<const node> rows) const {
        if constexpr (index_value<value>)
            for (std::size_t i = 0; i != count_; ++i) check_indices(rows, at_.node, sample(i));
    }

private:
    static const plain* plain_of(const Range& range) {
        if constexpr (is_nchw_range) return &range.values;
        else return &range;
    }
    const plain* values_;
    port at_;
    std::size_t size_, count_ = 0;
};

template <class Inputs> struct ranges_of { using type = std::tuple<const Inputs&>; };
template <class... Ranges> struct ranges_of<input_ranges<Ranges...>> { using type = std::tuple<const Ranges&...>; };

/// The samples of all ports of a network.
template <class Network, class Inputs> class input_samples {
    using ranges = typename ranges_of<Inputs>::type;
    static constexpr std::size_t ports = Network::inputs().size();
    static_assert(std::tuple_size_v<ranges> == ports,
                  "train: give a range for each input of the network: zp::in(first, second) where it has two");
    template <std::size_t... P>
    static auto make_type(std::index_sequence<P...>)
        -> std::tuple<port_samples<std::remove_cvref_t<std::tuple_element_t<P, ranges>>>...>;
    using all_ports = decltype(make_type(std::make_index_sequence<ports>()));

public:
    explicit input_samples(const Inputs& inputs) : ports_(make(inputs, std::make_index_sequence<ports>())) {
        std::apply(
            [&](const auto& first, const auto&... others) {
                count_ = first.count();
                ((others.count() == count_ ? void() : reject_counts(count_, others.count())), ...);
            },
            ports_);
        std::apply([](const auto&... each) { (each.check(Network::rows()), ...); }, ports_);
    }
    std::size_t count() const { return count_; }
    /// to(port) says where the values of sample i go.
    template <class To> void copy(std::size_t i, const To& to) const {
        int port = 0;
        std::apply([&](const auto&... each) { (each.copy(i, to(port++)), ...); }, ports_);
    }

private:
    [[noreturn]] static void reject_counts(std::size_t first, std::size_t other) {
        raise<shape_error>("train: the ranges of inputs must hold as many inputs, but one has " +
                           std::to_string(first) + " and another " + std::to_string(other));
    }
    template <std::size_t... P> static all_ports make(const Inputs& inputs, std::index_sequence<P...>) {
        const auto range = [&]<std::size_t I>() -> decltype(auto) {
            if constexpr (requires {
                              inputs.values;
                              std::tuple_size<decltype(inputs.values)>::value;
                          })
                return std::get<I>(inputs.values);
            else return (inputs);
        };
        return all_ports(std::tuple_element_t<P, all_ports>(
            range.template operator()<P>(), Network::inputs()[P],
            ports == 1 ? std::string("the input") : "input \"" + std::string(Network::inputs()[P].name) + "\"")...);
    }

    all_ports ports_;
    std::size_t count_ = 0;
};

}  // namespace detail

/// What belongs to the samples, in the order of samples, for one output: class numbers, or values. Perhaps neither.
struct training_targets {
    std::vector<std::int32_t> labels;  // class numbers, or none
    std::span<const float> values;     // values, or none
    std::size_t each = 0;              // labels or values a sample

    /// Whether there are neither.
    bool empty() const { return labels.empty() && values.empty(); }
};

namespace detail {

template <class Labels> training_targets labels_for(const Labels& given, std::size_t samples, const port& output) {
    using label = value_of<const Labels>;
    static_assert(
        std::is_integral_v<label>,
        "zp::labelled(inputs, labels): labels must be a contiguous range of integers, such as std::vector<int>");
    training_targets result;
    result.each = static_cast<std::size_t>(output.extents.pixels());
    const std::span<const label> labels(given);
    if (labels.size() != samples * result.each)
        raise<shape_error>("train: " + std::to_string(samples) + " inputs came, so that " +
                           std::to_string(samples * result.each) + " labels were expected" +
                           (result.each == 1 ? "" : " (one a pixel of the output)") + ", but " +
                           std::to_string(labels.size()) + " came");
    result.labels.assign(labels.begin(), labels.end());
    return result;
}
template <class Values> training_targets values_for(const Values& given, std::size_t samples, const port& output) {
    training_targets result;
    result.values = std::span<const float>(given);
    result.each = static_cast<std::size_t>(output.extents.size());
    if (result.values.size() != samples * result.each)
        raise<shape_error>("train: " + std::to_string(samples) + " inputs came, so that " +
                           std::to_string(samples * result.each) + " target values were expected, but " +
                           std::to_string(result.values.size()) + " came");
    return result;
}

/// One entry an output; those of labelled and paired data are the first's.
template <class Data>
std::vector<training_targets> targets_of(const Data& data, std::size_t samples, std::span<const port> outputs) {
    std::vector<training_targets> all(outputs.size());
    if constexpr (requires { data.labels; }) all[0] = labels_for(data.labels, samples, outputs[0]);
    else if constexpr (requires { data.targets; }) all[0] = values_for(data.targets, samples, outputs[0]);
    else if constexpr (requires { data.by_output; }) {
        const auto take = [&](const auto& one) {
            for (std::size_t k = 0; k != outputs.size(); ++k) {
                if (one.output != outputs[k].name) continue;
                using value = value_of<const std::remove_cvref_t<decltype(one.values)>>;
                if constexpr (std::is_integral_v<value>) all[k] = labels_for(one.values, samples, outputs[k]);
                else all[k] = values_for(one.values, samples, outputs[k]);
                return;
            }
            raise<value_error>("train: targets came for an output \"" + std::string(one.output) +
                               "\", which the network has not");
        };
        std::apply([&](const auto&... each) { (take(each), ...); }, data.by_output);
    }
    return all;
}

}  // namespace detail
}  // namespace zp::inline v0
