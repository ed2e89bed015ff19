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
    function: str = "multiply_tile"  # whose symbol has this and the format

    @property
    def best(self) -> float:
        """Instructions for 64 products."""
        return sum(count for count, _ in self.parts) * 64 / (self.rows * self.channels * self.depth)

    @property
    def why(self) -> str:
        return f"{self.rows} x {self.channels} x {self.depth}: " + ", ".join(f"{n} {what}" for n, what in self.parts)


@dataclasses.dataclass(frozen=True)
class Piece:
    """What stands beside tile loops: a loop, or two that take turns, and what is counted of them together."""

    format: str  # what it is, as the table says
    unit: str  # what the figure is of
    function: str  # a pattern of the symbol
    # Of each loop: a pattern of an instruction of it, one that it must not hold, how many of the first a pass has, and how
    # many passes there are. A compiler may do several passes at once.
    loops: tuple[tuple[str, str, int, int], ...]
    parts: tuple[tuple[int, str], ...]
    uses_stack: bool = False  # by its design
    allowed: float = 1.15

    @property
    def best(self) -> float:
        return sum(count for count, _ in self.parts)

    @property
    def why(self) -> str:
        return f"{self.unit}: " + ", ".join(f"{n} {what}" for n, what in self.parts)


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
# Tiles of two panels fetch between blocks of four steps, which end where a test says so.
CASCADE_LAKE = (*AVX512_VNNI,
                dataclasses.replace(design("byte_quads", r"vpdpbusd .*zmm", 64, 6, 64, 4, broadcasts=6, weights=4, products=24,
                                           loop=3), function="multiply_paired_tile"))

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
    "avx512vnni<avx512bw>": CASCADE_LAKE,
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


def piece(format: str, unit: str, function: str, *loops: tuple[str, str, int, int], uses_stack: bool = False,
          allowed: float = 1.15, **parts: int) -> Piece:
    return Piece(format, unit, function, loops, tuple((count, what.replace("_", " ")) for what, count in parts.items()),
                 uses_stack, allowed)


def x86_pieces(register: str, look_up: dict[str, int]) -> tuple[Piece, ...]:
    """With three operands. Loops over rows of y end with a row alone, which is done twice: two addresses and a choice."""
    store = rf"vmov\S+ %{register}\d+, .*\(.*\)$"
    # Halfway sums go through memory: in registers they are fewer instructions, and were no fewer cycles with g++ (decision 0037).
    output = piece("output transform", "a tile of 4 x 4 and a vector of channels", "transform_output_tile.*winograd_4x4",
                   (store, "vpsrad", 4, 6), ("vpsrad", "$^", 4, 4), uses_stack=True,
                   columns=6 * 17, rows=4 * 15, quotients=32, factors=4, biases=16, stores=24 + 16, loops=4 * 10, allowed=1.2)
    return (
        # Clang adds to eleven addresses what g++ has in registers: 40 instructions.
        piece("input transform", "a row of 6 pixels and a vector of channels", "transform_input_tile.*winograd_4x4",
              (store, "$^", 6, 1), loads=4, transform=18, stores=6, loop=3, allowed=1.3),
        output,
        # The fewest: of a range that is all codes of a byte, by multipliers below 1.
        piece("epilogue", "four vectors of sums", "finish_whole_rows.*code_clamp.*nearest_even", ("vcvtps2dq", "$^", 4, 1),
              conversions=8, products=4, packs=3, offsets=2, order=1, stores=2, two_rows=6, loop=3),
        piece("table", "a vector of codes", "lookup_table", (store, "$^", 1, 1), **look_up, stores=1, loop=3),
    )


def interleaves(registers: tuple[str, str], four: dict[str, int], stores: tuple[int, int], two: dict[str, int]) -> tuple[Piece, ...]:
    """Cells of a panel, from rows that lie anywhere."""
    return tuple(piece(f"interleave {rows} rows", "the cells of a panel", f"interleave_cells.*Li{rows}E",
                       (rf"vmov\S+ %{register}\d+, .*\(.*\)$", "$^", count, 1), **parts, stores=count, loop=4)
                 for rows, register, count, parts in ((4, registers[0], stores[0], four), (2, registers[1], stores[1], two)))


SHUFFLES = {"loads": 1, "nibbles": 1, "bits": 3, "entries": 16, "shuffles": 16}
AVX2_PIECES = (*interleaves(("xmm", "ymm"), {"flipped_loads": 4, "zips": 8}, (4, 2), {"flipped_loads": 2, "zips": 2, "words": 2}),
               *x86_pieces("ymm", SHUFFLES | {"choices": 15}))
def fine_table(packs: int, look_up: dict[str, int]) -> Piece:
    """Of four vectors of sums, in front of it: the grid's places."""
    return piece("fine table", "four vectors of sums", "finish_whole_rows.*fine_look_up.*nearest_even", ("vpack\\S+ ", "$^", packs, 1),
                 conversions=8, products=4, limits=12, zero_points=4, packs=packs, **look_up, order=1, stores=2, two_rows=6, loop=3)


# Masked shuffles choose: four masks, and eight choices that are shuffles themselves.
AVX512_CELLS = interleaves(("zmm", "zmm"), {"loads": 4, "shifts": 2, "flipped_unions": 2, "turns": 2, "copies": 1}, (2, 2),
                           {"loads": 2, "flips": 2, "turns": 2, "copies": 1})
AVX512_PIECES = (*AVX512_CELLS, *x86_pieces("zmm", SHUFFLES | {"masks": 4, "choices": 7}),
                 # Words of two entries, of two vectors of 32 places: which word, three masks, eight shuffles of two vectors, which byte.
                 fine_table(3, {"words": 2, "masks": 6, "entries": 16, "shuffles": 16, "choices": 14, "bytes": 8}))
# Tables of 64 bytes: four are looked into, and the upper bits choose.
VBMI_PIECES = (*AVX512_CELLS, *x86_pieces("zmm", {"loads": 1, "shuffles": 4, "comparisons": 3, "choices": 3}),
               # The lower bytes of places and the upper ones, four masks, shuffles of 64 entries; g++ has half of the choices in shuffles.
               fine_table(4, {"bytes": 4, "masks": 4, "shuffles": 16, "choices": 15}))

PIECES = {
    "avx2+fma": AVX2_PIECES,
    "avx-vnni": AVX2_PIECES,
    "avx512bw": AVX512_PIECES,
    "avx512vnni<avx512bw>": AVX512_PIECES,
    "avx512vnni<avx512vbmi2>": VBMI_PIECES,
    "amx": VBMI_PIECES,
}
