// SPDX-License-Identifier: BSD-3-Clause
// The main function of every benchmark: Google Benchmark's, with the machine's peaks before and after.
#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>
#include <zeropoint/kernel/machine/architecture.hpp>

#include "peak.hpp"
#include "table.hpp"

namespace {

void print_peaks(const char* when) {
    std::fprintf(stderr, "peaks of %s %s, one thread:", zp::name_of<zp::default_architecture>(), when);
    for (const bench::peak kind : bench::all_peaks) {
        double best = 0;
        for (int burst = 0; burst != 40; ++burst) best = std::max(best, bench::measure_peak(kind));
        std::fprintf(stderr, "  %s %.0f %s", bench::name_of(kind), best, kind == bench::peak::copy ? "GB/s" : "GOPS");
    }
    std::fprintf(stderr, "\n");
}

}  // namespace

int main(int argc, char** argv) {
    char min_time[] = "--benchmark_min_time=0.05";  // unless the command line says more: the last of equal flags counts
    std::vector<char*> arguments{argv[0], min_time};
    arguments.insert(arguments.end(), argv + 1, argv + argc);
    const bool as_table = std::none_of(argv + 1, argv + argc, [](const char* argument) {
        const std::string_view text = argument;
        return text.starts_with("--benchmark_format") || text.starts_with("--benchmark_list_tests");
    });
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    benchmark::Initialize(&count, arguments.data());
    if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;
    print_peaks("before");
    bench::markdown_table table;
    if (as_table) benchmark::RunSpecifiedBenchmarks(&table);
    else benchmark::RunSpecifiedBenchmarks();
    print_peaks("after");
    benchmark::Shutdown();
}
