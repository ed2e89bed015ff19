# SPDX-License-Identifier: BSD-3-Clause
"""The small programs that run a network over files of numbers."""

from __future__ import annotations

PROGRAM = r"""// Runs a network: program weights inputs outputs [rows], where rows gets every value of the first run.
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <zeropoint/operators.hpp>
@STATES@#include <zeropoint/zeropoint.hpp>

#include "@HEADER@"

int main(int argc, char** argv) try {
    if (argc < 4) return 2;
    @MODEL@
    using network = std::remove_cvref_t<decltype(model)>;
    const auto memory = std::make_unique<network::workspace>();
    std::vector<std::vector<float>> xs, ys;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    const auto bytes = [](int values) { return std::vector<float>(static_cast<std::size_t>(values)); };
    const std::vector<int> input_sizes{@INPUTS@}, output_sizes{@OUTPUTS@};  // values of four bytes
    for (const int size : input_sizes) xs.push_back(bytes(size)), inputs.push_back(xs.back().data());
    for (const int size : output_sizes) ys.push_back(bytes(size)), outputs.push_back(ys.back().data());
    std::ifstream from(argv[2], std::ios::binary);
    std::ofstream to(argv[3], std::ios::binary);
    bool is_first = argc > 4;
    while (true) {
        for (std::vector<float>& x : xs)
            from.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(x.size() * 4));
        if (!from) break;
        if (is_first) {
            std::ofstream rows(argv[4], std::ios::binary);
            const auto table = network::rows();
            model.run(inputs.data(), outputs.data(), memory->bytes, [&](int row, const void* values) {
                const zp::node& n = table[static_cast<std::size_t>(row)];
                const int size = n.op->is_output ? 0 : n.out.extents.size();
                rows.write(reinterpret_cast<const char*>(&size), 4);
                rows.write(static_cast<const char*>(values), static_cast<std::streamsize>(size) * 4);
            });
            is_first = false;
        } else {
            model.run(inputs.data(), outputs.data(), memory->bytes);
        }
        for (const std::vector<float>& y : ys)
            to.write(reinterpret_cast<const char*>(y.data()), static_cast<std::streamsize>(y.size() * 4));
    }
    return to.flush() ? 0 : 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
"""


MODEL = "const auto model = zp::load<::@NET@>(argv[1]);"
# The memory is zeros at first, so that calls go on from there.
STATEFUL = """const auto loaded = zp::load<::@NET@>(argv[1]);
    const auto frames = std::make_unique<zp::stateful<std::remove_const_t<decltype(loaded)>>>(loaded);
    const auto& model = frames->step_network();"""


def program_of(header: str, net: str, inputs: list[int], outputs: list[int], stateful: bool = False) -> str:
    """The source for one network; inputs and outputs are numbers of values. stateful: states go on from one set of inputs to the next."""
    states = "#include <zeropoint/workflow/stateful.hpp>\n" if stateful else ""
    return (PROGRAM.replace("@STATES@", states).replace("@MODEL@", STATEFUL if stateful else MODEL).replace("@HEADER@", header).replace("@NET@", net)
            .replace("@INPUTS@", ", ".join(map(str, inputs))).replace("@OUTPUTS@", ", ".join(map(str, outputs))))


STREAM = r"""// Streams a network: program weights inputs outputs.
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <zeropoint/operators.hpp>
#include <zeropoint/workflow/streaming.hpp>
#include <zeropoint/zeropoint.hpp>

#include "@HEADER@"

int main(int argc, char** argv) try {
    if (argc < 4) return 2;
    const auto model = zp::load<::@NET@>(argv[1]);
    using stream_type = zp::streaming<std::remove_const_t<decltype(model)>>;
    const auto stream = std::make_unique<stream_type>(model);
    constexpr auto ports = stream_type::network_type::outputs();
    const auto size_of = [](zp::shape extents) { return static_cast<std::size_t>(extents.size()); };
    const std::size_t step = size_of(stream_type::input_shape);
    std::vector<float> x(@INPUT@);  // of a call
    std::vector<std::vector<float>> ys;
    for (const int size : {@OUTPUTS@}) ys.emplace_back(size);
    const auto part = [&](std::size_t output, std::size_t at) {
        const std::size_t size = size_of(ports[output].extents);
        return std::span(ys[output]).subspan(at * size, size);
    };
    if (x.size() % step != 0) throw zp::error("a call of the source has no whole number of steps");
    for (std::size_t i = 0; i != ys.size(); ++i)
        if (ys[i].size() != x.size() / step * size_of(ports[i].extents))
            throw zp::error("a step gives " + std::to_string(size_of(ports[i].extents)) + " numbers of the output " + std::to_string(i) +
                            ", a call of " + std::to_string(x.size() / step) + " steps " + std::to_string(ys[i].size()));
    std::ifstream from(argv[2], std::ios::binary);
    std::ofstream to(argv[3], std::ios::binary);
    while (from.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(x.size() * 4))) {
        for (std::size_t at = 0; at != x.size() / step; ++at)
            (*stream)(zp::in(std::span(x).subspan(at * step, step)), zp::out(@PARTS@));
        for (const std::vector<float>& y : ys)
            to.write(reinterpret_cast<const char*>(y.data()), static_cast<std::streamsize>(y.size() * 4));
    }
    return to.flush() ? 0 : 2;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
}
"""


def stream_program_of(header: str, net: str, size: int, outputs: list[int]) -> str:
    """The same of a network that zp::streaming runs; sizes are those of a call of the source."""
    return (STREAM.replace("@HEADER@", header).replace("@NET@", net).replace("@INPUT@", str(size))
            .replace("@OUTPUTS@", ", ".join(map(str, outputs)))
            .replace("@PARTS@", ", ".join(f"part({number}, at)" for number in range(len(outputs)))))
