// SPDX-License-Identifier: BSD-3-Clause
// Scales, zero points and codes that PyTorch wrote: scripts/golden/observers.py and quantize.py say what is in the
// files.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <zeropoint/scheme/choose_qparams.hpp>
#include <zeropoint/scheme/quantize.hpp>

#include "../support/golden_file.hpp"

namespace {

using zp_test::golden_file;

template <class T> std::vector<T> read(const golden_file& file, const std::string& name) {
    return file.values<T>(name);
}

/// Every row of choose_qparams/<name>.
template <class D, class S, class Rule = zp::pytorch_rule>
void check_choose(const golden_file& file, const std::string& name) {
    INFO(name);
    const auto min = read<float>(file, "choose_qparams/min"), max = read<float>(file, "choose_qparams/max");
    const auto scale = read<float>(file, "choose_qparams/" + name + "/scale");
    const auto zero_point = read<std::int32_t>(file, "choose_qparams/" + name + "/zero_point");
    REQUIRE(min.size() > 30);
    for (std::size_t i = 0; i != min.size(); ++i) {
        INFO("range ", min[i], " to ", max[i]);
        const zp::qparams params = zp::choose_qparams<D, S, Rule>(min[i], max[i]);
        CHECK(params.scale == scale[i]);
        CHECK(params.zero_point == zero_point[i]);
    }
}

struct quantized_group {
    std::vector<float> x, dequantized;
    std::vector<zp::qparams> params;
    std::vector<std::int32_t> codes;
};

template <class D> quantized_group read_group(const golden_file& file, const std::string& name) {
    quantized_group group{read<float>(file, name + "/x"), read<float>(file, name + "/dequantized"), {}, {}};
    const auto scale = read<float>(file, name + "/scale");
    const auto zero_point = read<std::int32_t>(file, name + "/zero_point");
    for (std::size_t i = 0; i != scale.size(); ++i) group.params.push_back({scale[i], zero_point[i]});
    for (const auto code : read<typename D::storage>(file, name + "/codes")) group.codes.push_back(code);
    return group;
}

/// Equal codes, and equal values after dequantizing PyTorch's codes. `inner` values after another share their qparams.
template <class D> void check_quantize(const golden_file& file, const std::string& name, std::size_t inner) {
    INFO(name);
    const quantized_group group = read_group<D>(file, name);
    std::vector<typename D::storage> codes(group.x.size());
    zp::quantize_per_channel<D>(group.x, group.params, inner, codes);
    REQUIRE(group.x.size() >= 160);
    for (std::size_t i = 0; i != codes.size(); ++i) {
        const zp::qparams& params = group.params[i / inner % group.params.size()];
        INFO("x ", group.x[i], ", scale ", params.scale, ", zero point ", params.zero_point);
        CHECK(codes[i] == group.codes[i]);
        CHECK(zp::dequantize(group.codes[i], params) == group.dequantized[i]);
    }
}

/// The stated deviation: PyTorch adds the zero point before it rounds, so codes differ by one, on ties or next to them.
template <class D> void check_next_to_tie(const golden_file& file, const std::string& name) {
    INFO(name);
    const quantized_group group = read_group<D>(file, name);
    const std::size_t inner = group.x.size() / group.params.size();
    for (std::size_t i = 0; i != group.x.size(); ++i) {
        const std::int32_t distance = zp::quantize<D>(group.x[i], group.params[i / inner]) - group.codes[i];
        CHECK((distance == 1 || distance == -1));
    }
}

}  // namespace

TEST_CASE("PyTorch: choose_qparams gives equal scales and zero points") {
    const golden_file file("observers");
    check_choose<zp::quint8, zp::per_tensor_affine>(file, "quint8/affine");
    check_choose<zp::quint8, zp::per_tensor_symmetric>(file, "quint8/symmetric");
    check_choose<zp::qint8, zp::per_tensor_affine>(file, "qint8/affine");
    check_choose<zp::qint8, zp::per_tensor_symmetric>(file, "qint8/symmetric");
    check_choose<zp::qint8_narrow, zp::per_tensor_affine>(file, "qint8_narrow/affine");
    check_choose<zp::qint8_narrow, zp::per_tensor_symmetric>(file, "qint8_narrow/symmetric");
    check_choose<zp::qint8_narrow, zp::per_tensor_symmetric, zp::pytorch_rule_with_epsilon<-12>>(
        file, "qint8_narrow/symmetric_coarse_eps");
    check_choose<zp::quint8_reduced, zp::per_tensor_affine>(file, "quint8_reduced/affine");
    check_choose<zp::quint8, zp::per_tensor_affine, zp::reduce_range<>>(file, "quint8_reduced/affine");
    check_choose<zp::qint8, zp::per_tensor_affine, zp::reduce_range<>>(file, "qint8_reduced/affine");
    check_choose<zp::qint8, zp::per_tensor_symmetric, zp::reduce_range<>>(file, "qint8_reduced/symmetric");
    check_choose<zp::qint8_reduced, zp::per_tensor_affine>(file, "qint8_reduced/affine");
    check_choose<zp::qint8_reduced, zp::per_tensor_symmetric>(file, "qint8_reduced/symmetric");
    check_choose<zp::quint4, zp::per_tensor_affine>(file, "quint4/affine");
    check_choose<zp::quint4, zp::per_tensor_symmetric>(file, "quint4/symmetric");
    check_choose<zp::qint4, zp::per_tensor_affine>(file, "qint4/affine");
    check_choose<zp::qint4, zp::per_tensor_symmetric>(file, "qint4/symmetric");
}

TEST_CASE("PyTorch: quantize_per_tensor and quantize_per_channel give equal integers") {
    const golden_file file("quantize");
    check_quantize<zp::quint8>(file, "per_tensor/quint8", 120);
    check_quantize<zp::qint8>(file, "per_tensor/qint8", 120);
    check_quantize<zp::quint8>(file, "per_channel/quint8", 120);
    check_quantize<zp::qint8>(file, "per_channel/qint8", 120);
    check_quantize<zp::qint8>(file, "per_channel_axis_1/qint8", 1);
}

TEST_CASE("PyTorch: codes are one apart where it rounds the sum with the zero point") {
    const golden_file file("quantize");
    check_next_to_tie<zp::quint8>(file, "zero_point_first/per_tensor/quint8");
    check_next_to_tie<zp::qint8>(file, "zero_point_first/per_tensor/qint8");
    check_next_to_tie<zp::quint8>(file, "zero_point_first/per_channel/quint8");
    check_next_to_tie<zp::qint8>(file, "zero_point_first/per_channel/qint8");
}

TEST_CASE("PyTorch: all of these vectors were read") {
    CHECK(zp_test::unread_tensors("quantize").empty());
    for (const std::string& name : zp_test::unread_tensors("observers"))  // the others: tests/observe
        CHECK(name.rfind("choose_qparams/", 0) != 0);
}
