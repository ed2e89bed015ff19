// expect: give as many ranges as the model has inputs .see ranges_for_inputs<given, inputs>.
// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdint>
#include <vector>

#include <zeropoint/model/composition.hpp>
#include <zeropoint/observe/min_max_observer.hpp>
#include <zeropoint/workflow/calibrate.hpp>

using activations = zp::quantizer<zp::quint8, zp::per_tensor_affine, zp::min_max_observer>;
using weights = zp::quantizer<zp::qint8, zp::per_tensor_symmetric, zp::min_max_observer>;
struct config : zp::qconfig<activations, weights> {};
struct net : zp::model<zp::named<"a", zp::input<1, 1, 3>>, zp::named<"b", zp::input<1, 1, 3>>,
                       zp::add<zp::identity, zp::from<"a">>> {};

void run(const zp::prepared<net, config, zp::default_architecture>& model, const std::vector<float>& x) {
#ifdef ZEROPOINT_MUST_FAIL
    zp::calibrate(model, x);
#else
    zp::calibrate(model, zp::in(x, x));
#endif
}
