// Attention between projections of any name and what stands around it, each in int8 beside float32.
#include "operator_sweep.hpp"

#include <zeropoint/operators.hpp>

namespace {

using operator_sweep::entry;

// clang-format off
struct attention : operator_sweep::branches<zp::input<1, 16, 8>,
    entry<"attention", zp::attention<2, zp::linear<"a", 8>, zp::linear<"b", 8>, zp::linear<"c", 8>>>,
    entry<"rms_norm", zp::rms_norm<"d">>> {};
// clang-format on

}  // namespace

TEST_CASE("operator sweep: attention and its norms") { operator_sweep::check<attention>(); }
