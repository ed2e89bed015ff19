// SPDX-License-Identifier: BSD-3-Clause
// Where the time of an int8 network goes, row by row, the slowest first: bench_profile resnet18 [rows].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "models/timed_model.hpp"
#include "support/peak.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

constexpr double measured_seconds = 2;

struct profile {
    std::vector<double> best;  ///< of each row, in nanoseconds
    double whole = 1e30, peak = 0;
};

/// Many inferences with the time taken behind each row, each after one without. What reading the clock takes is left out.
profile measure(models::timed_model& model) {
    std::vector<float> x(static_cast<std::size_t>(model.input_shape().size())),
        y(static_cast<std::size_t>(model.output_shape().size()));
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) * 0.1f - 1.5f;
    profile result{std::vector<double>(model.int8_table().rows.size(), 1e30)};
    const auto nanoseconds = [](clock_type::duration t) { return std::chrono::duration<double, std::nano>(t).count(); };
    double clock_cost = 1e30;
    for (int i = 0; i != 1000; ++i) {
        const auto start = clock_type::now();
        clock_cost = std::min(clock_cost, nanoseconds(clock_type::now() - start));
    }
    const auto begin = clock_type::now();
    do {
        result.peak = std::max(result.peak, bench::measure_peak(bench::peak::dot4));
        const auto start = clock_type::now();
        model.run_int8(x.data(), y.data());
        clock_type::time_point last = clock_type::now();
        result.whole = std::min(result.whole, nanoseconds(last - start));
        last = clock_type::now();
        model.run_int8_by_row(x.data(), y.data(), [&](int row) {
            const auto now = clock_type::now();
            double& best = result.best[static_cast<std::size_t>(row)];
            best = std::min(best, std::max(nanoseconds(now - last) - clock_cost, 0.0));
            last = clock_type::now();
        });
    } while (std::chrono::duration<double>(clock_type::now() - begin).count() < measured_seconds);
    return result;
}

/// "32x32x64 -> 16x16x128".
std::string extents_of(const zp::model_table& table, const zp::model_table_row& row) {
    std::string text;
    for (const int input : row.inputs) {
        if (!text.empty()) text += ", ";
        text += zp::to_string(table.rows[static_cast<std::size_t>(input)].out);
    }
    return text + " -> " + zp::to_string(row.out);
}

void print(models::timed_model& model, const profile& times, int most) {
    const zp::model_table table = model.int8_table();
    std::vector<int> order(table.rows.size());
    double sum = 0;
    for (std::size_t i = 0; i != order.size(); ++i) {
        order[i] = static_cast<int>(i);
        sum += times.best[i];
    }
    const auto best = [&](int row) { return times.best[static_cast<std::size_t>(row)]; };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return best(a) > best(b); });
    const double products = static_cast<double>(model.multiplications());
    std::printf("whole %.1f us, rows %.1f us, %.1f GOPS, peak %.1f GOPS\n\n", times.whole / 1e3, sum / 1e3,
                2 * products / times.whole, times.peak);
    std::printf(
        "| row | kind | extents | kernels | us | share | MMAC | GOPS | of peak "
        "|\n|---|---|---|---|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i != std::min(most, static_cast<int>(order.size())); ++i) {
        const int number = order[static_cast<std::size_t>(i)];
        const zp::model_table_row& row = table.rows[static_cast<std::size_t>(number)];
        const auto work = static_cast<double>(row.macs);
        const double rate = 2 * work / best(number);
        const std::string kernels = row.panels.empty() ? row.algorithm : row.algorithm + ", " + row.panels;
        std::printf("| %d %s | %s | %s | %s | %.2f | %.1f%% |", number, row.name.c_str(), row.operation.c_str(),
                    extents_of(table, row).c_str(), kernels.c_str(), best(number) / 1e3, 100 * best(number) / sum);
        if (work != 0) std::printf(" %.2f | %.0f | %.0f%% |\n", work / 1e6, rate, 100 * rate / times.peak);
        else std::printf(" | | |\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    const int most = argc > 2 ? std::atoi(argv[2]) : 1000;
    for (const models::named_model& one : models::timed_models()) {
        if (name != one.name) continue;
        const auto model = one.make();
        print(*model, measure(*model), most);
        return 0;
    }
    std::fputs("usage: bench_profile MODEL [ROWS]; models:", stderr);
    for (const models::named_model& one : models::timed_models()) std::fprintf(stderr, " %s", one.name);
    std::fputs("\n", stderr);
    return 1;
}
