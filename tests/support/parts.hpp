// SPDX-License-Identifier: BSD-3-Clause
// Runs a network in one piece and in parts, and compares what every row leaves, bit for bit.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <zeropoint/model/network.hpp>

namespace zp_test {

/// One thread that runs the last part first, of nodes of any size, and counts them.
struct backwards {
    int count;
    int* calls = nullptr;

    int workers() const { return count; }
    static std::int64_t least_work() { return 0; }
    template <class Body> void run(int parts, const Body& body) const {
        if (calls != nullptr) ++*calls;
        for (int part = parts; part-- != 0;) body(part);
    }
};

/// The bytes of every row behind a call.
template <class Run> std::vector<std::vector<std::byte>> bytes_of_rows(std::span<const zp::node> rows, Run run) {
    std::vector<std::vector<std::byte>> all(rows.size());
    run([&](int i, const void* values) {
        const zp::node& row = rows[static_cast<std::size_t>(i)];
        const auto* bytes = static_cast<const std::byte*>(values);
        all[static_cast<std::size_t>(i)].assign(bytes, bytes + row.out.extents.size() * zp::size_of(row.out.storage));
    });
    return all;
}

/// Checks all parts of a network of one input and one output; gives the names of the operators that were cut.
template <class Network>
std::set<std::string> check_parts(const Network& model, const typename Network::input_value* x) {
    using memory_type = typename Network::template workspace_for<7>;
    const auto memory = std::make_unique<memory_type>();
    std::vector<typename Network::output_value> y(static_cast<std::size_t>(Network::output_shape.size()));
    const void* const xs[] = {x};
    void* const ys[] = {y.data()};
    std::memset(memory->bytes, 0xA5, sizeof memory->bytes);
    const auto wanted = bytes_of_rows(model.rows(), [&](auto after) { model.run(xs, ys, memory->bytes, after); });
    std::set<std::string> cut;
    for (const int parts : {1, 2, 3, 7}) {
        CAPTURE(parts);
        std::memset(memory->bytes, 0x5A, sizeof memory->bytes);
        int calls = 0;
        const backwards with{parts, &calls};
        int before = 0, last = -1;
        const auto got = bytes_of_rows(model.rows(), [&](auto after) {
            model.run_parts(xs, ys, memory->bytes, memory_type::workers, with, [&](int i, const void* values) {
                after(i, values);
                if (calls != before) cut.insert(model.rows()[static_cast<std::size_t>(i)].op->name);
                before = calls;
                last = i;
            });
        });
        CHECK((parts > 1 || calls == 0));
        REQUIRE(last + 1 == static_cast<int>(model.rows().size()));
        for (std::size_t i = 0; i != wanted.size(); ++i) {
            const std::string name = zp::display_name(model.rows(), static_cast<int>(i));
            const std::string kind = model.rows()[i].op->name;
            CAPTURE(name);
            CAPTURE(kind);
            std::size_t different = 0, first = 0;
            for (std::size_t k = wanted[i].size(); k-- != 0;)
                if (got[i][k] != wanted[i][k]) ++different, first = k;
            CAPTURE(first);
            CHECK(different == 0);
        }
    }
    return cut;
}

}  // namespace zp_test
