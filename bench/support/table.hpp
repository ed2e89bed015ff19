// SPDX-License-Identifier: BSD-3-Clause
// Results as a Markdown table: best round, median, the peak measured beside them, and the share of it.
#pragma once

#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace bench {

/// For people; --benchmark_out=FILE writes everything as JSON as well.
class markdown_table final : public benchmark::BenchmarkReporter {
public:
    bool ReportContext(const Context& context) override;
    void ReportRuns(const std::vector<Run>& runs) override;
};

}  // namespace bench
