#!/usr/bin/env python3
"""What compiling a program with one of the classic networks costs: seconds and memory, kernels included, as a table.

    bench/compile_time/networks.py [--compiler g++-12] [--flags "-O2 -mavx2 -mfma"] [networks...]

Two programs a network. `deployment` loads an int8 file and runs it. `pipeline` loads a float state dict too, calibrates,
converts and runs both. The file of include flags is written by CMake's configure step.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from measure import longest_symbol, measured, newest_include_flags

AIM_NETWORK, AIM_SECONDS, AIM_MEBIBYTES = "resnet50", 10, 500

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--flags", default="-O2 -mavx2 -mfma")
    parser.add_argument("--include-flags", default=newest_include_flags(), help="response file with -I flags")
    parser.add_argument("--repeats", type=int, default=1, help="the fastest of so many compilations counts")
    parser.add_argument("networks", nargs="*", help="all without")
    options = parser.parse_args()
    if options.include_flags is None:
        parser.error("no build/*/include_flags.txt: configure first, with cmake --preset dev")
    if unknown := set(options.networks) - NETWORKS.keys():
        parser.error(f"unknown networks: {', '.join(sorted(unknown))}")

    command = [options.compiler, "-std=c++20", "-DNDEBUG", *options.flags.split(), "@" + options.include_flags, "-c"]
    version = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    print(f"{version.splitlines()[0]}, {options.flags}; CPU seconds, peak MiB, longest symbol\n")
    print("| network | " + " | ".join(f"{program}: s | MiB | symbol" for program in PROGRAMS) + " |")
    print("|---|" + "---|---|---|" * len(PROGRAMS))
    missed = []
    with tempfile.TemporaryDirectory() as folder:
        source, object_file = pathlib.Path(folder) / "program.cpp", pathlib.Path(folder) / "program.o"
        for network in options.networks or NETWORKS:
            cells = [network]
            for program, (umbrella, text) in PROGRAMS.items():
                source.write_text(text.format(network=network, header=NETWORKS[network], umbrella=umbrella))
                runs = [measured([*command, str(source), "-o", str(object_file)]) for _ in range(options.repeats)]
                _, seconds, memory = min(runs, key=lambda run: run[1])
                cells += [f"{seconds:.1f}", f"{memory:.0f}", str(len(longest_symbol(object_file)))]
                if network == AIM_NETWORK and (seconds >= AIM_SECONDS or memory >= AIM_MEBIBYTES):
                    missed.append(program)
            print("| " + " | ".join(cells) + " |", flush=True)
    for program in missed:
        print(f"aim MISSED: the {program} of {AIM_NETWORK} within {AIM_SECONDS} s and {AIM_MEBIBYTES} MiB")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
