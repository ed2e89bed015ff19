# SPDX-License-Identifier: BSD-3-Clause
"""What the inner loop of every architecture should be made of, for audit.py: the best design that we can argue for.

A design is a tile, rows x channels x depth of one pass of the loop, and the instructions of a pass, by what they are
there for. They are what a person would write down for that instruction set, registers counted, whatever a compiler makes
of it. Loops are unrolled twice where a pass has few instructions: that halves what the loop itself costs.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Design:
    """One loop."""

    format: str  # of gemm.hpp
    instruction: str  # a pattern of the instruction that multiplies, and of its operands where those tell its width
    products: int  # multiply-accumulates of one
    rows: int
    channels: int
    depth: int
    parts: tuple[tuple[int, str], ...]  # how many instructions of a pass, and what for

    @property
    def best(self) -> float:
        """Instructions for 64 products."""
        return sum(count for count, _ in self.parts) * 64 / (self.rows * self.channels * self.depth)

    @property
    def why(self) -> str:
        return f"{self.rows} x {self.channels} x {self.depth}: " + ", ".join(f"{n} {what}" for n, what in self.parts)


def design(format: str, instruction: str, products: int, rows: int, channels: int, depth: int, /, **parts: int) -> Design:
    return Design(format, instruction, products, rows, channels, depth,
                  tuple((count, what.replace("_", " ")) for what, count in parts.items()))


# Two operands: a product overwrites one of its factors, so that one of two needs a copy. Sixteen bytes of a row are loaded
# at once and broadcast by pshufd; weights are operands in memory.
SSE_WORDS = design("word_pairs", r"pmaddwd .*xmm", 8, 6, 8, 8,
                   rows=6, broadcasts=24, copies=24, products=48, sums=48, loop=3)
# Weights are widened for all six rows at once, in registers, so that a step is a pair. Three instructions a vector.
SSE_WIDENED = design("widened_pairs", r"pmaddwd .*xmm", 8, 6, 8, 2,
                     rows=6, broadcasts=6, copies=6, weights=6, products=12, sums=12, loop=2)
SSSE3 = (design("byte_quads", r"pmaddubsw .*xmm", 16, 6, 8, 16,
                rows=6, broadcasts=24, copies=24, products=96, sums=48, loop=3),
         # Sums, a magnitude, a flip and a copy of both fill the registers: there is none for sixteen bytes of a row. With
         # pshufd in place of copies there would be, of fewer instructions, but copies are done where registers are
         # renamed, and pshufd is work (measured: 5 % slower).
         design("signed_quads", r"pmaddubsw .*xmm", 16, 6, 8, 4,
                loads=12, broadcasts=12, copies=12, flips=12, products=24, sums=12, loop=2))


def avx2_bytes(format: str, flips: int) -> Design:
    """Weights are operands in memory, there being no registers for them; loads are no more than multiplications."""
    parts = {"broadcasts": 6 if flips == 0 else 12} | ({"flips": flips} if flips else {})
    return design(format, r"vpmaddubsw .*ymm", 32, 6, 16, 4, **parts, products=24, sums=12, fetches=1, loop=2)


# Words have one multiplication a product: weights in memory would be 18 loads for 12 of them.
AVX2 = (avx2_bytes("byte_quads", 0), avx2_bytes("signed_quads", 12),
        design("word_pairs", r"vpmaddwd .*ymm", 16, 6, 16, 2, broadcasts=6, weights=2, products=12, sums=12, loop=2))
AVX512 = (design("byte_quads", r"vpmaddubsw .*zmm", 64, 12, 32, 4, broadcasts=12, products=48, sums=24, fetches=2, loop=2),
          design("signed_quads", r"vpmaddubsw .*zmm", 64, 12, 32, 4,
                 broadcasts=24, flips=24, products=48, sums=24, fetches=2, loop=2))
AVX512_VNNI = (design("byte_quads", r"vpdpbusd .*zmm", 64, 12, 32, 4, broadcasts=12, weights=2, products=24, fetches=2,
                      loop=2),)

# Two tiles of rows, two of weights, four products; three pointers move. Vectors multiply what is no whole tile: their
# loop is VNNI's, and the bits of weights that are flipped come with the load.
AMX = (design("tile_products", r"tdpbuud", 16384, 32, 32, 64, loads=4, products=4, addresses=3, loop=2),
       design("offset_quads", r"vpdpbusd .*zmm", 64, 12, 32, 4, broadcasts=12, weights=2, products=24, fetches=2, loop=2))


# 16 bytes of a row serve four quads by element. Weights are loaded two vectors at a time, where there is ldp.
def by_element(pattern: str, lanes: int, weights: int) -> Design:
    return design("byte_quads", pattern, 4 * lanes, 6, 4 * lanes, 16, rows=6, weights=weights, products=96, loop=3)


# Octets of two rows side by side: of each pair two loads, and the lower and the upper halves put together.
def matrices(pattern: str, lanes: int, weights: int) -> Design:
    return design("byte_quads", pattern, 8 * lanes, 6, 4 * lanes, 16,
                  rows=6, pairs_of_rows=6, weights=weights, products=48, loop=3)


# One scalar load a product; vector loads take no offset, and no load an index. Pairs are taken apart by two narrowing
# shifts of words, three shifts of bytes.
def rvv(format: str, bits: int, weights: int) -> Design:
    return design(format, r"vwmacc\.vx", bits // 8, 6, bits // 8, 8,
                  activations=48, weights=weights, products=48, addresses=10, loop=1)


DESIGNS = {
    "sse2": (SSE_WORDS, SSE_WIDENED),
    "ssse3": SSSE3,
    "sse4.1": SSSE3,
    "avx2+fma": AVX2,
    "avx-vnni": (design("byte_quads", r"vpdpbusd .*ymm", 32, 6, 16, 4, broadcasts=6, weights=2, products=12, fetches=1,
                        loop=2),),
    "avx512bw": AVX512,
    "avx512vnni<avx512bw>": AVX512_VNNI,
    "avx512vnni<avx512vbmi2>": AVX512_VNNI,
    "amx": AMX,
    # Broadcasts by loads; 32 bytes of weights at once; products of a quad and of the next before sums are widened.
    "neon32": (design("byte_quads", r"v(mull|mlal)\.s8", 8, 2, 8, 16,
                      broadcasts=8, weights=4, products=32, sums=16, loop=4),),
    "neon64": (design("byte_quads", r"s(mull|mlal)2? v\d+\.8h", 8, 4, 8, 16,
                      broadcasts=16, weights=4, products=64, sums=32, loop=4),),
    "dotprod": (by_element(r"sdot v\d+\.4s", 4, 8),),
    "i8mm": (matrices(r"usmmla v\d+\.4s", 4, 8),),
    "sve128-dot": (by_element(r"sdot z\d+\.s", 4, 16),),
    "sve256-dot": (by_element(r"sdot z\d+\.s", 8, 16),),
    "sve512-dot": (by_element(r"sdot z\d+\.s", 16, 16),),
    "sve128-i8mm": (matrices(r"usmmla z\d+\.s", 4, 16),),
    "sve256-i8mm": (matrices(r"usmmla z\d+\.s", 8, 16),),
    "sve512-i8mm": (matrices(r"usmmla z\d+\.s", 16, 16),),
    "rvv128": (rvv("word_pairs", 128, 12), rvv("widened_pairs", 128, 16)),
    "rvv256": (rvv("word_pairs", 256, 12), rvv("widened_pairs", 256, 16)),
    "rvv512": (rvv("word_pairs", 512, 12), rvv("widened_pairs", 512, 16)),
    # POWER8 loads 16 bytes of a row and splats words; POWER9 has loads that splat, and loads with offsets.
    "vsx": (design("byte_quads", r"vmsummbm", 16, 6, 16, 16, rows=6, broadcasts=24, weights=16, products=96, loop=3),),
    "vsx-power9": (design("byte_quads", r"vmsummbm", 16, 6, 16, 4, broadcasts=6, weights=4, products=24, loop=3),),
    # Even and odd products of bytes, then of those with ones: two instructions each.
    "vxe": (design("byte_quads", r"vm(e|ao)b", 8, 6, 16, 4, broadcasts=6, weights=4, products=48, sums=48, loop=3),),
    # Instructions of the machine that runs it: what moves locals and constants is none.
    "wasm-simd128": (design("word_pairs", r"i32x4\.dot_i16x8_s", 8, 4, 8, 2,
                            broadcasts=4, weights=2, products=8, sums=8, addresses=4, loop=3),
                     design("widened_pairs", r"i32x4\.dot_i16x8_s", 8, 4, 8, 2,
                            broadcasts=4, weights=2, products=8, sums=8, addresses=4, loop=3)),
    "wasm-relaxed": (design("byte_quads", r"i32x4\.relaxed_dot_i8x16_i7x16_add_s", 16, 4, 8, 4,
                            broadcasts=4, weights=2, products=8, addresses=4, loop=3),),
}
