// The float network as the user wrote it: a stage, and how any float table is planned.
#pragma once

#include <array>

#include <zeropoint/kernel/architecture.hpp>
#include <zeropoint/layer/float_steps.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/model/plan.hpp>
#include <zeropoint/model/source.hpp>

namespace zp {
inline namespace v0 {

template <class Arch, int N> constexpr graph<N> plan_float(graph<N> g) {
    if (g.error.broken != rule::none) return g;
    for (int i = 0; i != g.size; ++i) {
        g.nodes[i].parameter_bytes = float_parameter_bytes(g.nodes[i]);
        g.nodes[i].scratch_bytes = float_scratch_bytes<Arch>(g.nodes[i]);
    }
    place_parameters(g);
    place_activations(g);
    return g;
}

template <class Arch, int N> constexpr auto plan_float_steps(const graph<N>& g) {
    std::array<step_function, N> steps{};
    for (int i = 0; i != g.size; ++i) steps[static_cast<std::size_t>(i)] = float_step<Arch>(g.nodes[i]);
    return steps;
}

/// As the user wrote it, batch norms and all: the stage that float parameters are loaded into.
template <class Net, class Arch = default_architecture> struct float_stage {
    using net = Net;
    using architecture = Arch;
    static_assert(sizeof(verdict<source<Net>>) != 0);
    static constexpr auto table = plan_float<Arch>(shrink<source<Net>::table.size>(source<Net>::table));
    static constexpr std::array<step_function, static_cast<std::size_t>(table.size)> steps =
        plan_float_steps<Arch>(table);
};

template <class Net, class Arch = default_architecture> using float_model = network<float_stage<Net, Arch>>;

}  // namespace v0
}  // namespace zp
