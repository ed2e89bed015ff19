# SPDX-License-Identifier: BSD-3-Clause
"""The programs whose compile time counts: one int8 network loaded and run, or the whole way from floats to it."""

# A network's name: its header.
NETWORKS = {
    "vgg16": "vgg",
    "resnet18": "resnet",
    "resnet50": "resnet",
    "resnext101_32x8d": "resnet",
    "mobilenet_v2": "mobilenet_v2",
    "mobilenet_v3_large": "mobilenet_v3",
    "shufflenet_v2_x1_0": "shufflenet_v2",
    "googlenet": "googlenet",
    "inception_v3": "inception_v3",
    "unet": "unet",
    "ds_cnn": "ds_cnn",
    "bert_encoder": "bert_encoder",
}

BEGINNING = """
#include <memory>
#include <vector>
#include <zeropoint/models/{header}.hpp>
#include <zeropoint/{umbrella}.hpp>

struct net : zp::models::{network}<> {{}};
using int8_net = zp::quantized<net, zp::default_qconfig>;

template <class Network> float run(const Network& network, const std::vector<float>& x) {{
    const auto memory = std::make_unique<typename Network::workspace>();
    std::vector<float> y(static_cast<std::size_t>(Network::output_shape.size()));
    network(x, y, *memory);
    return y[0];
}}
"""
DEPLOYMENT = """
int main(int, char** arguments) {{
    const std::vector<float> x(static_cast<std::size_t>(int8_net::input_shape.size()));
    return run(zp::load<int8_net>(arguments[1]), x) > 0;
}}
"""
PIPELINE = """
int main(int, char** arguments) {{
    const std::vector<std::vector<float>> xs(4, std::vector<float>(static_cast<std::size_t>(int8_net::input_shape.size())));
    const auto fused = zp::fuse(zp::load<net>(arguments[1]));
    const auto int8 = zp::convert(zp::calibrate(zp::prepare<zp::default_qconfig>(fused), xs));
    zp::save(int8, arguments[2]);
    return run(fused, xs[0]) + run(int8, xs[0]) > 0;
}}
"""
PROGRAMS = {"deployment": ("deploy", BEGINNING + DEPLOYMENT), "pipeline": ("zeropoint", BEGINNING + PIPELINE)}


def program_text(program: str, network: str) -> str:
    umbrella, text = PROGRAMS[program]
    return text.format(network=network, header=NETWORKS[network], umbrella=umbrella)
