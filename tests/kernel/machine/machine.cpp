// SPDX-License-Identifier: BSD-3-Clause
// Choosing among the architectures that a program was compiled for.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <type_traits>

#include <zeropoint/kernel/machine/machine.hpp>

#if XSIMD_TARGET_ARM64 && (defined(__linux__) || defined(__APPLE__))
#include <setjmp.h>
#include <signal.h>
#endif

namespace {

/// An architecture that the machine which runs this test cannot have.
using foreign = std::conditional_t<xsimd::sse2::supported(), xsimd::neon64, xsimd::sse2>;

struct name_and_sum {
    template <class Arch> std::string operator()(Arch, int a, int b) const {
        return zp::name_of<Arch>() + std::string(" ") + std::to_string(a + b);
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
    // What runs without a part, AMX without its tiles, comes behind what the machine has.
    const std::string own = zp::machine_has<arch>() ? zp::name_of<arch>() : "portable";
    const dispatched<foreign, arch, zp::portable> best({}, nullptr);
    CHECK(best.architecture() == own);
    CHECK(best(2, 3) == own + " 5");

    const dispatched<foreign, arch, zp::portable> asked({}, "portable");
    CHECK(asked.architecture() == "portable");
    CHECK(asked(2, 3) == "portable 5");

    const zp::dispatched<name_and_sum> compiled({}, nullptr);
    CHECK(compiled.architecture() == zp::name_of<arch>());
}

TEST_CASE("dispatched: errors say what there is") {
    const std::string foreign_name = zp::name_of<foreign>();
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

TEST_CASE("machine_has: the tags of other processors, and what follows from what") {
    CHECK_FALSE(zp::machine_has<foreign>());
    using zp::machine_has, zp::neon64_dotprod, zp::sve_i8mm;
    using neon64_i8mm = xsimd::i8mm<xsimd::neon64>;
    using xsimd::detail::rvv, xsimd::detail::sve;
#if !XSIMD_TARGET_ARM64
    CHECK_FALSE(machine_has<neon64_dotprod>());
    CHECK_FALSE(machine_has<neon64_i8mm>());
    CHECK_FALSE(machine_has<sve<256>>());
    CHECK_FALSE(machine_has<sve_i8mm<256>>());
#endif
    CHECK(machine_has<zp::wasm_relaxed>() == std::is_same_v<zp::default_architecture, zp::wasm_relaxed>);
    if (machine_has<zp::avx512_amx>()) CHECK(machine_has<xsimd::avx512vnni<xsimd::avx512vbmi2>>());
    if (machine_has<neon64_i8mm>()) CHECK(machine_has<neon64_dotprod>());
    if (machine_has<sve_i8mm<256>>()) CHECK(machine_has<neon64_i8mm>());
    if (machine_has<sve_i8mm<128>>()) CHECK(machine_has<sve<128>>());
    // A machine's vectors have one length.
    CHECK(machine_has<sve<128>>() + machine_has<sve<256>>() + machine_has<sve<512>>() <= 1);
    CHECK(machine_has<rvv<128>>() + machine_has<rvv<256>>() + machine_has<rvv<512>>() <= 1);
}

TEST_CASE("machine_has: tiles, where the processor has them and the system gives them") {
    CHECK(zp::detail::ask_for_tiles() == zp::detail::may_use_tiles());
    using vectors = xsimd::avx512vnni<xsimd::avx512vbmi2>;
    CHECK(zp::machine_has<zp::avx512_amx>() == (zp::machine_has<vectors>() && zp::detail::may_use_tiles()));
    // Without them, a program runs by the vectors alone, and one that has a copy for these takes it.
    CHECK(zp::machine_runs<zp::avx512_amx>() == zp::machine_has<vectors>());
    if (zp::machine_has<vectors>()) {
        CHECK_NOTHROW(zp::require_machine<zp::avx512_amx>());
        CHECK(dispatched<zp::avx512_amx>({}, nullptr).architecture() == zp::name_of<zp::avx512_amx>());
        const bool with_tiles = zp::detail::may_use_tiles();
        CHECK((dispatched<zp::avx512_amx, vectors>({}, nullptr).architecture() == zp::name_of<vectors>()) !=
              with_tiles);
    }
#if !defined(__x86_64__)
    CHECK_FALSE(zp::detail::may_use_tiles());
#endif
}

#if XSIMD_TARGET_ARM64 && (defined(__linux__) || defined(__APPLE__))
namespace {
sigjmp_buf behind_the_instruction;

/// Whether this machine executes an instruction, by trying.
template <class Instruction> bool runs(Instruction instruction) {
    struct sigaction action = {}, before = {};
    action.sa_handler = [](int) { siglongjmp(behind_the_instruction, 1); };
    sigaction(SIGILL, &action, &before);
    volatile bool ran = false;
    if (sigsetjmp(behind_the_instruction, 1) == 0) {
        instruction();
        ran = true;
    }
    sigaction(SIGILL, &before, nullptr);
    return ran;
}
}  // namespace

TEST_CASE("machine_has: of AArch64, what does not end in an illegal instruction") {
    CHECK(zp::machine_has<zp::neon64_dotprod>() == runs([] { asm volatile(".inst 0x4e809400" ::: "v0"); }));  // sdot
    const bool has_usmmla = runs([] { asm volatile(".inst 0x4e80ac00" ::: "v0"); });
    CHECK(zp::machine_has<xsimd::i8mm<xsimd::neon64>>() == has_usmmla);

    unsigned long bytes = 0;  // of a vector: rdvl x0, #1
    runs([&] { asm volatile(".inst 0x04bf5020\n\tmov %0, x0" : "=r"(bytes)::"x0"); });
    CHECK(zp::machine_has<xsimd::detail::sve<128>>() == (bytes == 16));
    CHECK(zp::machine_has<xsimd::detail::sve<256>>() == (bytes == 32));
    CHECK(zp::machine_has<xsimd::detail::sve<512>>() == (bytes == 64));
    const bool has_sve_usmmla = runs([] { asm volatile(".inst 0x45809800" ::: "v0"); });
    CHECK(zp::machine_has<zp::sve_i8mm<128>>() == (bytes == 16 && has_sve_usmmla));
    CHECK(zp::machine_has<zp::sve_i8mm<256>>() == (bytes == 32 && has_sve_usmmla));
    CHECK(zp::machine_has<zp::sve_i8mm<512>>() == (bytes == 64 && has_sve_usmmla));
}
#endif

TEST_CASE("name_of: each architecture has a name of its own") {
    using xsimd::detail::rvv, xsimd::detail::sve, zp::sve_i8mm;
    const auto names = [](auto... arch) { return std::set<std::string>{zp::name_of<decltype(arch)>()...}; };
    CHECK(names(xsimd::neon64(), zp::neon64_dotprod(), xsimd::i8mm<xsimd::neon64>(), sve<128>(), sve<256>(), sve<512>(),
                sve_i8mm<128>(), sve_i8mm<256>(), sve_i8mm<512>(), rvv<128>(), rvv<256>(), rvv<512>(), xsimd::wasm(),
                zp::wasm_relaxed(), zp::portable(), xsimd::avx512vnni<xsimd::avx512vbmi2>(), zp::avx512_amx())
              .size() == 17);
}
