"""What the inner loop of every architecture should be made of, for audit.py."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Design:
    """One loop."""

    format: str  # of gemm.hpp
    instruction: str  # a pattern of the instruction that multiplies, and of its operands where those tell its width
    products: int  # multiply-accumulates of one
    best: float  # instructions for 64 of them, of the best design known
    why: str


def tile(rows: int, vectors: int, lanes: int, depth: int, dot: float, loads: float = 0, broadcasts: float = 1, loop: float = 1.0) -> float:
    """Instructions for 64 products of a step of a tile: products and adds, broadcasts of each row, loads of weights, and the
    loop's own, which unrolling halves."""
    return (rows * vectors * dot + rows * broadcasts + vectors + loads + loop) * 64 / (rows * vectors * lanes * depth)


DESIGNS = {
    "sse2": (Design("word_pairs", r"pmaddwd .*xmm", 8, tile(6, 2, 4, 2, 2, broadcasts=2), "6 x 8"),),
    "ssse3": (Design("byte_quads", r"pmaddubsw .*xmm", 16, tile(6, 2, 4, 4, 3, broadcasts=2), "6 x 8"),),
    "avx2+fma": (Design("byte_quads", r"vpmaddubsw .*ymm", 32, tile(6, 2, 8, 4, 3), "6 x 16"),
             Design("word_pairs", r"vpmaddwd .*ymm", 16, tile(6, 2, 8, 2, 2), "6 x 16")),
    "avx-vnni": (Design("byte_quads", r"vpdpbusd .*ymm", 32, tile(6, 2, 8, 4, 1), "6 x 16"),),
    "avx512bw": (Design("byte_quads", r"vpmaddubsw .*zmm", 64, tile(12, 2, 16, 4, 3), "12 x 32"),),
    "avx512vnni<avx512bw>": (Design("byte_quads", r"vpdpbusd .*zmm", 64, tile(12, 2, 16, 4, 1), "12 x 32"),),
    # Arm: argued for by the mix of instructions that a loop of that kind needs.
    "neon32": (Design("byte_quads", r"v(mull|mlal)\.s8", 8, 15, "smull, smlal, sadalp for 16 products"),),
    "neon64": (Design("byte_quads", r"s(mull|mlal)2? v\d+\.8h", 8, 15, "smull, smlal2, sadalp for 16 products"),),
    "dotprod": (Design("byte_quads", r"sdot v\d+\.4s", 16, 4.83, "by element, 6 x 16"),),
    "i8mm": (Design("byte_quads", r"usmmla v\d+\.4s", 32, 3.33, "6 x 16 on octets, rows in place"),),
    "sve256-dot": (Design("byte_quads", r"sdot z\d+\.s", 32, 2.42, "by element, 6 x 4 vectors"),),
    "sve256-i8mm": (Design("byte_quads", r"usmmla z\d+\.s", 64, 1.67, "6 x 4 vectors on octets"),),
}
