// SPDX-License-Identifier: BSD-3-Clause
// Names of types, as far as compilers agree.
#include <doctest/doctest.h>

#include <zeropoint/core/type_name.hpp>

namespace somewhere {
struct digits_cnn {};
template <class T> struct with {};
}  // namespace somewhere

static_assert(zp::type_name<int>() == "int");
static_assert(zp::type_name<somewhere::digits_cnn>().ends_with("somewhere::digits_cnn"));
static_assert(zp::type_name<somewhere::with<int>>().ends_with("somewhere::with<int>"));

TEST_CASE("type_name: of a type of this function") {
    struct inside {};
    CHECK(zp::type_name<inside>().find("inside") != std::string_view::npos);
}
