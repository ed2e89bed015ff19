// SPDX-License-Identifier: BSD-3-Clause
// Qschemes: what their traits say.
#include <string_view>

#include <doctest/doctest.h>

#include <zeropoint/core/dtype.hpp>
#include <zeropoint/scheme/qscheme.hpp>

namespace {

template <class S> constexpr bool is(bool symmetric, bool per_tensor, bool per_channel, bool per_group) {
    return zp::qscheme_type<S> && S::is_symmetric == symmetric && S::is_per_tensor == per_tensor &&
           S::is_per_channel == per_channel && S::is_per_group == per_group;
}

static_assert(is<zp::per_tensor_affine>(false, true, false, false) &&
              is<zp::per_tensor_symmetric>(true, true, false, false));
static_assert(is<zp::per_channel_affine>(false, false, true, false) &&
              is<zp::per_channel_symmetric>(true, false, true, false));
static_assert(is<zp::qscheme<zp::per_group<32>, zp::symmetric>>(true, false, false, true));
static_assert(zp::per_channel_symmetric::axis == 0 && zp::qscheme<zp::per_channel<3>, zp::affine>::axis == 3);
static_assert(zp::per_tensor_affine::axis == -1 && zp::per_tensor_affine::group_size == 0);
static_assert(zp::qscheme<zp::per_group<32>, zp::affine>::group_size == 32);
static_assert(!zp::qscheme_type<zp::quint8> && !zp::qscheme_type<zp::per_tensor> && !zp::granularity_type<zp::affine> &&
                  !zp::symmetry_type<zp::per_tensor>,
              "tags of one kind are not taken for another");

}  // namespace

TEST_CASE("qscheme: the usual four have names") {
    CHECK(std::string_view(zp::per_tensor_affine::name) == "per_tensor_affine");
    CHECK(std::string_view(zp::per_channel_symmetric::name) == "per_channel_symmetric");
}
