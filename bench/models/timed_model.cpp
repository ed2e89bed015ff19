// SPDX-License-Identifier: BSD-3-Clause
// The list of all timed networks.
#include "timed_model.hpp"

std::span<const models::named_model> models::timed_models() {
    static constexpr named_model all[] = {{"mlp_64", make_mlp_64},
                                          {"mlp_784", make_mlp_784},
                                          {"lenet", make_lenet},
                                          {"resnet18", make_resnet18},
                                          {"mobilenet_v2", make_mobilenet_v2}};
    return all;
}
