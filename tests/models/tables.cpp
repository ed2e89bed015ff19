// SPDX-License-Identifier: BSD-3-Clause
// Every variant of the networks at its default extents: how many parameters it trains, as torchvision counts them, and how
// many multiply-accumulates it takes. Tables only; nothing runs.
#include <cstdint>
#include <string_view>

#include <doctest/doctest.h>

#include <zeropoint/model/budget.hpp>
#include <zeropoint/model/source.hpp>
#include <zeropoint/model/verdict.hpp>
#include <zeropoint/models/ds_cnn.hpp>
#include <zeropoint/models/googlenet.hpp>
#include <zeropoint/models/inception_v3.hpp>
#include <zeropoint/models/mobilenet_v2.hpp>
#include <zeropoint/models/mobilenet_v3.hpp>
#include <zeropoint/models/resnet.hpp>
#include <zeropoint/models/vgg.hpp>

namespace {

struct totals {
    std::int64_t parameters = 0, macs = 0;
};
template <class Net> constexpr totals totals_of() {
    static_assert(sizeof(zp::verdict<zp::source<Net>>) != 0);
    totals t;
    for (int i = 0; i != zp::source<Net>::table.size; ++i) {
        const zp::node_view v = zp::source<Net>::table.view(i);
        const zp::parameter_list list = zp::parameters_of(v);
        for (int k = 0; k != list.count; ++k) {
            const bool is_statistic = std::string_view(list.arrays[k].name).starts_with("running_");
            if (list.arrays[k].in_state_dict && !is_statistic) t.parameters += list.arrays[k].size();
        }
        t.macs += zp::macs_of(v);
    }
    return t;
}
template <class Net> constexpr bool has(std::int64_t parameters, std::int64_t million_macs) {
    constexpr totals t = totals_of<Net>();
    return t.parameters == parameters && t.macs / 1'000'000 == million_macs;
}

using namespace zp::models;

static_assert(has<resnet18<>>(11'689'512, 1814));
static_assert(has<resnet34<>>(21'797'672, 3663));
static_assert(has<resnet50<>>(25'557'032, 4089));
static_assert(has<resnet101<>>(44'549'160, 7801));
static_assert(has<resnext50_32x4d<>>(25'028'904, 4230));
static_assert(has<resnext101_32x8d<>>(88'791'336, 16414));
static_assert(has<vgg11<>>(132'863'336, 7609));
static_assert(has<vgg13<>>(133'047'848, 11308));
static_assert(has<vgg16<>>(138'357'544, 15470));
static_assert(has<vgg19<>>(143'667'240, 19632));
static_assert(has<vgg11_bn<>>(132'868'840, 7609));
static_assert(has<vgg16_bn<>>(138'365'992, 15470));
static_assert(has<googlenet<>>(6'624'904, 1498));
static_assert(has<inception_v3<>>(23'834'568, 5713));
static_assert(has<mobilenet_v2<>>(3'504'872, 300));
static_assert(has<mobilenet_v3_large<>>(5'483'032, 216));
static_assert(has<mobilenet_v3_small<>>(2'542'856, 56));
static_assert(has<ds_cnn<>>(23'180, 2));

}  // namespace

TEST_CASE("a network's extents follow from those of its images") {
    CHECK(zp::source<resnet18<zp::input<96, 128, 3>, 10>>::table.output().out.extents == zp::shape{1, 1, 10});
    CHECK(zp::source<mobilenet_v2<zp::input<96, 128, 1>, 10, 50>>::table.nodes[1].out.extents == zp::shape{48, 64, 16});
}
