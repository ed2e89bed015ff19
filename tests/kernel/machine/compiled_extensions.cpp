// SPDX-License-Identifier: BSD-3-Clause
// Whether the machine lacks something that the tests are compiled for. Machines that do: scripts/architectures/dispatch.py.
#include <doctest/doctest.h>

#include <zeropoint/kernel/machine/architecture.hpp>
#include <zeropoint/kernel/machine/compiled_extensions.hpp>

TEST_CASE("lacking_extension: none where the tests run") {
    CHECK(zp::detail::lacking_extension<zp::default_architecture>() == nullptr);
    zp::detail::require_extensions<zp::default_architecture>();  // returns
}
