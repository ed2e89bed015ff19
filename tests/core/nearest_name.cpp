// SPDX-License-Identifier: BSD-3-Clause
// Which name was probably meant.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include <zeropoint/core/nearest_name.hpp>

namespace {
namespace nearest_name_test {

std::string nearest(std::string_view wrong, std::initializer_list<std::string_view> names) {
    zp::name_search search(wrong);
    std::string found;
    for (const std::string_view name : names)
        if (search.is_nearer(name)) found = name;
    return found;
}

}  // namespace nearest_name_test
}  // namespace

TEST_CASE("nearest name: letters changed, added, left out and swapped count one each") {
    using zp::edit_distance;
    CHECK(edit_distance("", "") == 0);
    CHECK(edit_distance("conv", "conv") == 0);
    CHECK(edit_distance("conv", "") == 4);
    CHECK(edit_distance("", "conv") == 4);
    CHECK(edit_distance("conv1", "conv2") == 1);
    CHECK(edit_distance("fc", "fc1") == 1);
    CHECK(edit_distance("fc1", "fc") == 1);
    CHECK(edit_distance("wieght", "weight") == 1);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("ab", "cd") == 2);
    CHECK(edit_distance("ca", "abc") == 3);                                  // no letter is moved twice
    CHECK(edit_distance(std::string(100, 'a'), std::string(80, 'a')) == 0);  // the first 63
    static_assert(edit_distance("stam", "stem") == 1);
}
TEST_CASE("nearest name: the nearest of several, none where all are far") {
    using nearest_name_test::nearest;
    CHECK(nearest("stam", {"head", "stem", "step"}) == "stem");
    CHECK(nearest("fc", {"conv1", "fc1", "fc12"}) == "fc1");
    CHECK(nearest("fc", {"ab"}) == "");
    CHECK(nearest("conv9", {"conv1", "conv2"}) == "conv1");  // the first of equals
    CHECK(nearest("layer1.conv", {"layer4.convs", "head"}) == "layer4.convs");
    CHECK(nearest("a", {""}) == "");
    CHECK(nearest("gn", {}) == "");
}
