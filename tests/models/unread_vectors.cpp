// SPDX-License-Identifier: BSD-3-Clause
// No network of the golden file without a test: runs behind the files whose names come before (see unread_tensors).
#include <doctest/doctest.h>

#include "../support/extent.hpp"
#include "../support/golden_file.hpp"

// Needs a whole run of this program.
TEST_CASE("golden vectors: every network of the file was compared with PyTorch" * doctest::test_suite("whole_room")) {
    if (zp_test::fewer_problems == 1) CHECK(zp_test::unread_tensors("networks").empty());
}
