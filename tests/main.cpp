// SPDX-License-Identifier: BSD-3-Clause
// The main() of every test executable: doctest's, which also ends with one line of counts and refuses to pass empty.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <mutex>

namespace {

unsigned ran = 0, failed = 0, skipped = 0;

/// Counts test cases; the console reporter does the talking.
struct counter : doctest::IReporter {
    explicit counter(const doctest::ContextOptions&) {}
    void test_run_end(const doctest::TestRunStats& stats) override {
        ran = stats.numTestCasesPassingFilters;
        failed = stats.numTestCasesFailed;
        skipped = stats.numTestCases - stats.numTestCasesPassingFilters;
    }
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_case_start(const doctest::TestCaseData&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};
DOCTEST_REGISTER_LISTENER("counter", 1, counter);

}  // namespace

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const int result = context.run();
    if (context.shouldExit()) return result;  // a query, such as --list-test-cases
    if (ran == 0) std::puts("no test case ran");
    std::printf("%u passed, %u failed, %u skipped\n", ran - failed, failed, skipped);
    return ran == 0 ? 1 : result;
}
