// SPDX-License-Identifier: BSD-3-Clause
// Rows of the int8 network whose int32 sums are seen as they become codes, so that no product of floats has to say what was rounded.
#pragma once

#include <cstddef>

#include <zeropoint/kernel/gradient/with_values.hpp>
#include <zeropoint/model/stage.hpp>

namespace zp::inline v0 {

/// How a row runs where its form shows its sums. `images` samples lie one behind another, in codes and in values.
struct sums_rule {
    void (*run)(const node&, const context&, int images, const kernel::value_sink&) noexcept = nullptr;
    bool (*joins)(const node_view&) = nullptr;  // whether several samples go by one call
    std::size_t (*scratch_bytes)(const node_view&, int images) = nullptr;

    constexpr bool exists() const { return run != nullptr; }
};

namespace detail {

template <class Form>
void run_with_values(const node& n, const context& c, int images, const kernel::value_sink& sink) noexcept {
    using out = typename Form::out;
    Form::run_through(n, c, images, [&](const auto& codes, const float* scales, const float* biases) {
        using epilogue = std::remove_cvref_t<decltype(codes)>;
        return kernel::with_values<epilogue, out>{codes, c.range_in(n).scale, scales, biases, sink, c.out<out>(n)};
    });
}
template <class Form> constexpr sums_rule find_sums_rule() {
    if constexpr (requires { requires Form::shows_sums; })
        return {&run_with_values<Form>, [](const node_view& v) { return Form::joins_images(v); },
                [](const node_view& v, int images) { return Form::scratch_bytes_of_joined(v, images); }};
    else return {};
}
/// Of the nodes of a stage.
template <class Stage>
inline constexpr auto sums_rules = for_each_node<sums_rule, Stage::size>([]<int Node>() {
    return find_sums_rule<form_at<Stage, Node>>();
});

}  // namespace detail
}  // namespace zp::inline v0
