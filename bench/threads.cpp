// SPDX-License-Identifier: BSD-3-Clause
// One int8 call on several threads beside the same on one, by every executor there is, in turns: bench_threads [MODEL...] [--workers=2]
// [--seconds=4] [--rows=12]. Models: product_512, resnet18, mobilenet_v2 and the others of bench_models; those three without
// a name.
#if defined(_OPENMP)
#include <zeropoint/executors/openmp.hpp>
#endif
#if defined(ZEROPOINT_BENCH_ONETBB)
#include <zeropoint/executors/onetbb.hpp>

#include <oneapi/tbb/global_control.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <zeropoint/executors/thread_pool.hpp>
#include <zeropoint/model/composition.hpp>

#include "models/timed_model_of.hpp"
#include "support/peak.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

/// 512 vectors of 512 values times 512 x 512 weights: 134 million products.
struct product_512 : zp::model<zp::input<1, 512, 512>, zp::linear<"fc", 512>> {};

struct options {
    std::vector<std::string_view> names;
    int workers = 2, rows = 0;
    double seconds = 4;
};

/// The parts of several workers, one after another: what cutting costs.
struct in_turn {
    int count;
    int workers() const { return count; }
    static constexpr std::int64_t least_work() { return zp::executors::thread_pool::least_work(); }
    template <class Body> static void run(int parts, const Body& body) {
        for (int part = 0; part != parts; ++part) body(part);
    }
};

/// What one executor does: a call, or its rows.
struct contender {
    const char* name;
    models::any_executor with;
    std::vector<double> calls{};  ///< nanoseconds of each
    std::vector<double> rows{};   ///< the least of each row
};

double nanoseconds(clock_type::duration t) { return std::chrono::duration<double, std::nano>(t).count(); }
double least(const std::vector<double>& all) { return *std::min_element(all.begin(), all.end()); }
double median(std::vector<double> all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

void time_call(models::timed_model& model, contender& one, const float* x, float* y, double whole_seconds) {
    // Several calls one after another, as a program has them: threads that spin are awake.
    model.run_int8_by(one.with, x, y, {});
    const auto begin = clock_type::now();
    do {
        const auto start = clock_type::now();
        model.run_int8_by(one.with, x, y, {});
        one.calls.push_back(nanoseconds(clock_type::now() - start));
    } while (nanoseconds(clock_type::now() - begin) < whole_seconds * 1e9);
}
void time_rows(models::timed_model& model, contender& one, const float* x, float* y) {
    one.rows.resize(model.int8_table().rows.size(), 1e30);
    for (int call = 0; call != 20; ++call) {
        auto last = clock_type::now();
        model.run_int8_by(one.with, x, y, [&](int row) {
            const auto now = clock_type::now();
            double& best = one.rows[static_cast<std::size_t>(row)];
            best = std::min(best, nanoseconds(now - last));
            last = clock_type::now();
        });
    }
}

/// The rows that cost most time on several threads, beside what they take on one.
void print_rows(models::timed_model& model, const contender& serial, const contender& turns, const contender& one,
                int most) {
    const zp::model_table table = model.int8_table();
    const auto parts = model.parts_by(one.with);
    std::vector<std::size_t> order(table.rows.size());
    for (std::size_t i = 0; i != order.size(); ++i) order[i] = i;
    const auto lost = [&](std::size_t i) { return one.rows[i] - serial.rows[i] / one.with.workers(); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return lost(a) > lost(b); });
    std::printf(
        "\n%s, the rows that lose most:\n\n| row | output | kernels | parts | us on one | in turn | us | ratio |\n"
        "|---|---|---|--:|--:|--:|--:|--:|\n",
        one.name);
    for (std::size_t i : order) {
        if (most-- == 0) break;
        const zp::model_table_row& row = table.rows[i];
        std::printf("| %zu %s %s | %s | %s | %d%s | %.2f | %.2f | %.2f | %.2f |\n", i, row.name.c_str(),
                    row.operation.c_str(), zp::to_string(row.out).c_str(), row.algorithm.c_str(), parts[i].parts,
                    parts[i].by_panels ? " panels" : "", serial.rows[i] / 1e3, turns.rows[i] / 1e3, one.rows[i] / 1e3,
                    serial.rows[i] / one.rows[i]);
    }
    std::printf("\n");
}

/// What the machine itself gives: a loop that lives in registers, on all threads at once beside on one.
double scale_of_machine(int workers) {
    double one = 0, all = 0;
    for (int burst = 0; burst != 20; ++burst) {
        one = std::max(one, bench::measure_peak(bench::peak::dot4));
        std::vector<double> rates(static_cast<std::size_t>(workers));
        std::vector<std::thread> threads;
        for (double& rate : rates)
            threads.emplace_back([&rate] {
                for (int again = 0; again != 10; ++again) rate = std::max(rate, bench::measure_peak(bench::peak::dot4));
            });
        for (std::thread& thread : threads) thread.join();
        double sum = 0;
        for (const double rate : rates) sum += rate;
        all = std::max(all, sum);
    }
    return all / one;
}

void compare(models::timed_model& model, const char* name, const options& asked) {
    const zp::executors::serial serial;
    const zp::executors::thread_pool one(1), pool(asked.workers), sleepers(asked.workers, std::chrono::microseconds(0));
    const in_turn turns{asked.workers};
    std::vector<contender> all{{"serial", models::any_executor(serial)},
                               {"thread_pool, 1", models::any_executor(one)},
                               {"thread_pool", models::any_executor(pool)},
                               {"in turn, one thread", models::any_executor(turns)},
                               {"thread_pool, no spin", models::any_executor(sleepers)}};
#if defined(_OPENMP)
    const zp::executors::openmp team(asked.workers);
    all.push_back({"openmp", models::any_executor(team)});
#endif
#if defined(ZEROPOINT_BENCH_ONETBB)
    oneapi::tbb::task_arena arena(asked.workers);
    const zp::executors::onetbb tasks(arena);
    all.push_back({"onetbb", models::any_executor(tasks)});
#endif
    std::vector<float> x(static_cast<std::size_t>(model.input_shape().size())),
        wanted(static_cast<std::size_t>(model.output_shape().size())), y(wanted.size());
    for (std::size_t i = 0; i != x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) * 0.1f - 1.5f;
    model.run_int8(x.data(), wanted.data());

    const auto begin = clock_type::now();
    do {
        for (contender& with : all) {
            time_call(model, with, x.data(), y.data(), 0.02);
            if (std::memcmp(y.data(), wanted.data(), sizeof(float) * y.size()) != 0) {
                std::fprintf(stderr, "%s: %s gives another result\n", name, with.name);
                std::exit(1);
            }
            // OpenMP's threads spin for a while after a call, where others want to run.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    } while (nanoseconds(clock_type::now() - begin) < asked.seconds * 1e9);
    for (contender& with : all) time_rows(model, with, x.data(), y.data());

    double whole_time = 0, time = 0;
    const auto parts = model.parts_by(all[2].with);
    for (std::size_t i = 0; i != parts.size(); ++i) {
        time += all[0].rows[i];
        if (parts[i].parts == 1) whole_time += all[0].rows[i];
    }
    const auto whole = std::count_if(parts.begin(), parts.end(), [](const auto& by) { return by.parts == 1; });
    std::printf("%s: %ld of %zu rows stay whole, %.1f %% of the time on one thread\n\n", name, static_cast<long>(whole),
                parts.size(), 100 * whole_time / time);
    std::printf("| executor | workers | us, least | ratio | us, median | ratio |\n|---|--:|--:|--:|--:|--:|\n");
    for (const contender& with : all)
        std::printf("| %s | %d | %.1f | %.2f | %.1f | %.2f |\n", with.name, with.with.workers(),
                    least(with.calls) / 1e3, least(all[0].calls) / least(with.calls), median(with.calls) / 1e3,
                    median(all[0].calls) / median(with.calls));
    if (asked.rows != 0) print_rows(model, all[0], all[3], all[2], asked.rows);
    std::printf("\n");
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    options asked;
    for (int i = 1; i != argc; ++i) {
        const std::string_view text = argv[i];
        if (text.starts_with("--workers=")) asked.workers = std::max(1, std::atoi(argv[i] + 10));
        else if (text.starts_with("--seconds=")) asked.seconds = std::atof(argv[i] + 10);
        else if (text.starts_with("--rows=")) asked.rows = std::atoi(argv[i] + 7);
        else asked.names.push_back(text);
    }
    asked.workers = std::min(asked.workers, models::timed_model::most_workers);
    if (asked.names.empty()) asked.names = {"product_512", "resnet18", "mobilenet_v2"};
    std::printf("%u processors, %d workers; a loop in registers scales by %.2f\n\n",
                std::thread::hardware_concurrency(), asked.workers, scale_of_machine(asked.workers));
    for (const std::string_view name : asked.names) {
        bool is_known = name == "product_512";
        if (is_known) compare(*std::make_unique<models::timed_model_of<product_512>>(), "product_512", asked);
        for (const models::named_model& one : models::timed_models())
            if (name == one.name) is_known = true, compare(*one.make(), one.name, asked);
        if (!is_known) {
            std::fprintf(stderr, "no model is called %.*s\n", static_cast<int>(name.size()), name.data());
            return 1;
        }
    }
}
