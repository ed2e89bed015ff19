// SPDX-License-Identifier: BSD-3-Clause
// The float network as the user wrote it.
#pragma once

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/model/network.hpp>
#include <zeropoint/model/source.hpp>
#include <zeropoint/model/stage.hpp>

namespace zp::inline v0 {

/// Batch norms and all: the stage that float parameters are loaded into.
template <class Net, class Arch> struct float_nodes {
    using net = Net;
    using architecture = Arch;
    using policies = stage_policies<void, void>;
    static_assert(sizeof(verdict<source<Net>>) != 0);
    static constexpr auto loose = shrink<source<Net>::table.size>(source<Net>::table);
};

template <class Net, class Arch = default_architecture> using float_stage = stage<float_nodes<Net, Arch>>;
/// The float network of a user's model, as it is written: what `zp::load<Net>(path)` gives. See zp::network.
template <class Net, class Arch = default_architecture> using float_model = network<float_stage<Net, Arch>>;

}  // namespace zp::inline v0
