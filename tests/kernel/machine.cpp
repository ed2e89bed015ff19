// Choosing among the architectures that a program was compiled for.
#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include <zeropoint/kernel/machine.hpp>

namespace {

/// An architecture that the machine which runs this test cannot have.
using foreign = std::conditional_t<xsimd::sse2::supported(), xsimd::neon64, xsimd::sse2>;

struct name_and_sum {
    template <class Arch> std::string operator()(Arch, int a, int b) const {
        return Arch::name() + std::string(" ") + std::to_string(a + b);
    }
};
template <class... Arch> using dispatched = zp::dispatched<name_and_sum, zp::architectures<Arch...>>;

template <class Dispatched> std::string error_of(const char* name) {
    try {
        Dispatched({}, name);
        return "none";
    } catch (const zp::machine_error& error) { return error.what(); }
}

}  // namespace

TEST_CASE("dispatched: the first that the machine has, or the one asked for") {
    using arch = zp::default_architecture;
    const dispatched<foreign, arch, zp::portable> best({}, nullptr);
    CHECK(best.architecture() == arch::name());
    CHECK(best(2, 3) == std::string(arch::name()) + " 5");

    const dispatched<foreign, arch, zp::portable> asked({}, "portable");
    CHECK(asked.architecture() == "portable");
    CHECK(asked(2, 3) == "portable 5");

    const zp::dispatched<name_and_sum> compiled({}, nullptr);
    CHECK(compiled.architecture() == arch::name());
}

TEST_CASE("dispatched: errors say what there is") {
    const std::string foreign_name = foreign::name();
    CHECK(error_of<dispatched<foreign, zp::portable>>("abacus") ==
          "expected one of " + foreign_name + ", portable, which this program was compiled for, got 'abacus'");
    CHECK(error_of<dispatched<foreign, zp::portable>>(foreign_name.c_str()) ==
          foreign_name + " was asked for, but this machine has it not");
    CHECK(error_of<dispatched<foreign>>(nullptr).find("expected a machine with one of " + foreign_name) == 0);
}

TEST_CASE("require_machine: passes what this machine has, raises for what it has not") {
    CHECK_NOTHROW(zp::require_machine<zp::default_architecture>());
    CHECK_NOTHROW(zp::require_machine<zp::portable>());
    CHECK_THROWS_AS(zp::require_machine<foreign>(), zp::machine_error);
}
