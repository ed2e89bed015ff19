// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/io/file_metadata.hpp>

TEST_CASE("metadata are ordered by key, and the first entry of a key stays") {
    zp::file_metadata all{{"m", "1"}, {"b", "2"}, {"z", "3"}, {"b", "4"}};
    CHECK(all.size() == 3);
    CHECK(all.find("b")->second == "2");
    CHECK(all.find("c") == all.end());
    CHECK(all.contains("z"));
    CHECK(all.count("a") == 0);
    CHECK(all.emplace("a", "5").second);
    const auto again = all.emplace("m", "6");
    CHECK_FALSE(again.second);
    CHECK(again.first->second == "1");

    std::string keys;
    for (const auto& [key, value] : all) keys += key + value;
    CHECK(keys == "a5b2m1z3");
}

TEST_CASE("metadata of entries in any order") {
    std::vector<zp::file_metadata::value_type> entries;
    for (int i = 0; i != 100; ++i) entries.emplace_back(std::to_string(37 * i % 100), std::to_string(i));
    entries.emplace_back("7", "last");
    const zp::file_metadata all(entries);
    CHECK(all.size() == 100);
    for (int i = 0; i != 100; ++i)
        CHECK(all.find(entries[static_cast<std::size_t>(i)].first)->second == std::to_string(i));
    CHECK(all == zp::file_metadata(all));
    CHECK_FALSE(all == zp::file_metadata{{"0", "0"}});
    CHECK(zp::file_metadata().empty());
}
