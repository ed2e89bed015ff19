// SPDX-License-Identifier: BSD-3-Clause
// State dicts with other names, or with more than the model needs.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <zeropoint/io/load_options.hpp>
#include <zeropoint/model/composition.hpp>

#include "../support/errors.hpp"

namespace {
namespace load_options_test {

struct net : zp::model<zp::input<1, 1, 2>, zp::linear<"stem", 3>, zp::linear<"head.fc", 2>> {};

/// The tensors of `net` behind these names of its layers, and others.
std::vector<std::byte> state_dict(const std::string& stem, const std::string& head,
                                  const std::vector<std::string>& others = {}) {
    zp::safetensors_writer writer;
    std::vector<float> values(6);
    for (std::size_t i = 0; i != values.size(); ++i) values[i] = static_cast<float>(i) + 0.5f;
    const std::span<const float> all(values);
    writer.add(stem + ".weight", {3, 2}, all);
    writer.add(stem + ".bias", {3}, all.first(3));
    writer.add(head + ".weight", {2, 3}, all);
    writer.add(head + ".bias", {2}, all.first(2));
    for (const std::string& name : others) writer.add(name, {1}, all.first(1));
    return writer.bytes();
}
std::vector<float> outputs(const zp::float_model<net>& model) {
    const auto y = model(std::array<float, 2>{1, -2});
    return {y.begin(), y.end()};
}
std::string said(const std::vector<std::byte>& file, const zp::load_options& options) {
    return zp_test::error_of<zp::file_error>([&] { (void)zp::load<net>(file, options, "f"); });
}

}  // namespace load_options_test
}  // namespace

TEST_CASE("load options: a prefix, other names, and more than is needed") {
    using namespace load_options_test;
    const auto expected = outputs(zp::load<net>(state_dict("stem", "head.fc")));
    CHECK(outputs(zp::load<net>(state_dict("module.stem", "module.head.fc"), zp::load_options{.prefix = "module."})) ==
          expected);
    CHECK(outputs(zp::load<net>(state_dict("module.stem", "head.fc"), zp::load_options{.prefix = "module."})) ==
          expected);
    CHECK(outputs(zp::load<net>(state_dict("conv1", "classifier"),
                                zp::load_options{.renames = {{"conv1", "stem"}, {"classifier", "head.fc"}}})) ==
          expected);
    CHECK(outputs(zp::load<net>(
              state_dict("m.net.first", "m.net.last"),
              {.prefix = "m.",
               .renames = {{"net.first.weight", "stem.weight"}, {"net.first", "stem"}, {"net.last", "head.fc"}}})) ==
          expected);
    // A name is changed whole, or up to a dot.
    CHECK(outputs(zp::load<net>(state_dict("st", "stem"),
                                zp::load_options{.renames = {{"st", "stem"}, {"stem", "head.fc"}}})) == expected);
    CHECK(outputs(zp::load<net>(state_dict("stem", "stem2"), zp::load_options{.renames = {{"stem2", "head.fc"}}})) ==
          expected);

    std::vector<std::string> ignored;
    const auto more = state_dict("stem", "head.fc", {"loss.weight", "stem.steps"});
    CHECK(outputs(zp::load<net>(more, zp::load_options{.ignores_others = true, .ignored = &ignored})) == expected);
    std::sort(ignored.begin(), ignored.end());
    CHECK(ignored == std::vector<std::string>{"loss.weight", "stem.steps"});
    CHECK(outputs(zp::load<net>(state_dict("stem", "head.fc"), zp::load_options{})) == expected);
}

TEST_CASE("load options: what is refused") {
    using namespace load_options_test;
    const auto more = state_dict("stem", "head.fc", {"loss.weight"});
    CHECK(said(more, {}) == "f: expected no tensors but the 4 that are needed, found also \"loss.weight\"");
    CHECK(said(state_dict("stem", "head"), {.ignores_others = true})
              .starts_with("f: expected a tensor \"head.fc.weight\", found none; the file has: "));
    CHECK(said(state_dict("stem", "head.fc"), {.prefix = "module."}) ==
          "f: expected names that begin with the prefix \"module.\", found none among 4");
    CHECK(said(state_dict("stem", "classifer"), {.renames = {{"classifier", "head.fc"}}}) ==
          "f: the rename of \"classifier\" fits no tensor: did you mean \"classifer\"?");
    CHECK(said(state_dict("stem", "last"), {.renames = {{"classifier", "head.fc"}}}) ==
          "f: the rename of \"classifier\" fits no tensor");
    CHECK(said(state_dict("stem", "head.fc"), {.renames = {{"head.fc", "stem"}}})
              .find("expected one tensor of that name behind the changes of names, found two") != std::string::npos);
    CHECK(zp_test::error_of<zp::file_error>([&] {
              (void)zp::load<net>(state_dict("module.stem", "module.head.fc"));
          }).ends_with("; zp::load_options{.prefix = \"module.\"} takes it off"));
}
