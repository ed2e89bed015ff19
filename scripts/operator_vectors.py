# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts golden/operators_*.py share: random operands, PyTorch's float steps in numpy, the golden file.

A golden file has one group of tensors a case, `<operator>/<case>/<tensor>`. `scale` F32 and `zero_point` I32 have one
entry an input, then the output's. The codes that the other system computed stand in `codes`. Where the exact real
result, rounded half to even, is another code for some output, `exact` holds those codes too; where the group has no
`exact`, both are equal. The file's metadata counts these outputs an operator: "<differing>/<outputs>, at most <d>".
"""

import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402

RANGE = {"quint8": (0, 255), "qint8": (-128, 127)}
NUMPY_DTYPE = {"quint8": np.uint8, "qint8": np.int8}
TORCH_DTYPE = {"quint8": torch.quint8, "qint8": torch.qint8}


class Grid:
    """Scale, zero point and dtype of a tensor."""

    def __init__(self, scale, zero_point: int, dtype: str):
        self.scale, self.zero_point, self.dtype = np.float32(scale), int(zero_point), dtype
        self.low, self.high = RANGE[dtype]

    @staticmethod
    def random(generator, dtype: str, low: float = 0.005, high: float = 0.1) -> "Grid":
        """Any zero point; one in four at an end of the range."""
        first, last = RANGE[dtype]
        zero_point = generator.choice([first, last, generator.integers(first, last + 1), (first + last + 1) // 2])
        return Grid(generator.uniform(low, high), zero_point, dtype)

    def codes(self, generator, shape) -> np.ndarray:
        """Random codes, both ends of the range among them if there is room."""
        codes = generator.integers(self.low, self.high + 1, shape).astype(NUMPY_DTYPE[self.dtype])
        if codes.size > 3:
            codes.flat[0], codes.flat[codes.size // 2] = self.low, self.high
        return codes

    def real(self, codes: np.ndarray) -> np.ndarray:
        """What the codes stand for, exact: a double holds the product of a float and a 9-bit integer."""
        return (codes.astype(np.int64) - self.zero_point) * np.float64(self.scale)

    def exact(self, real: np.ndarray, relu: bool = False) -> np.ndarray:
        """The code next to a real number, ties to even."""
        codes = np.rint(np.asarray(real, np.float64) / np.float64(self.scale)) + self.zero_point
        return self.clamp(codes, relu)

    def clamp(self, codes: np.ndarray, relu: bool = False) -> np.ndarray:
        low = self.zero_point if relu else self.low
        return np.clip(codes, low, self.high).astype(NUMPY_DTYPE[self.dtype])

    def torch(self, codes: np.ndarray) -> torch.Tensor:
        return torch._make_per_tensor_quantized_tensor(
            torch.from_numpy(np.ascontiguousarray(codes)), float(self.scale), self.zero_point
        )

    # PyTorch's kernels work on whole vectors and then on the rest, one value at a time, with another order of
    # operations for each. A vector whose codes depend on that depends on the processor: the scripts leave those out.

    def dequantize_vector(self, codes: np.ndarray) -> np.ndarray:
        return fma(self.scale, codes.astype(np.float32), -self.scale * np.float32(self.zero_point))

    def dequantize_one(self, codes: np.ndarray) -> np.ndarray:
        return (codes.astype(np.float32) - np.float32(self.zero_point)) * self.scale

    def quantize_vector(self, x: np.ndarray, relu: bool = False) -> np.ndarray:
        return self.clamp(np.rint(x * (np.float32(1) / self.scale)) + np.float32(self.zero_point), relu)

    def quantize_one(self, x: np.ndarray, relu: bool = False) -> np.ndarray:
        return self.clamp(np.rint(fma(x, np.float32(1) / self.scale, np.float32(self.zero_point))), relu)


def fma(a, b, c) -> np.ndarray:
    """a * b + c in float32 with one rounding; the product of two floats is exact in double."""
    return (np.asarray(a, np.float64) * np.asarray(b, np.float64) + np.asarray(c, np.float64)).astype(np.float32)


class GoldenFile:
    """Collects the cases of one file and counts where the other system is not exact."""

    def __init__(self, name: str, script: str, versions: dict[str, str]):
        self.path = ROOT / f"tests/golden/{name}.safetensors"
        self.tensors: dict[str, torch.Tensor] = {}
        self.metadata = {**versions, "made_by": f"scripts/golden/{script}"}
        self.counts: dict[str, list[int]] = {}

    def add(self, group: str, grids: list[Grid], tensors: dict[str, np.ndarray]) -> None:
        if grids:
            tensors = {
                **tensors,
                "scale": np.float32([grid.scale for grid in grids]),
                "zero_point": np.int32([grid.zero_point for grid in grids]),
            }
        for name, array in tensors.items():
            self.tensors[f"{group}/{name}"] = torch.from_numpy(np.ascontiguousarray(array))

    def add_codes(self, group: str, grids: list[Grid], tensors: dict, codes, exact, bound: int = 1) -> None:
        """A case with its result. `exact` may differ from `codes` by at most `bound`."""
        codes, exact = np.asarray(codes), np.asarray(exact)
        assert codes.dtype == exact.dtype and codes.shape == exact.shape, (group, codes.shape, exact.shape)
        difference = np.abs(codes.astype(np.int64) - exact.astype(np.int64))
        largest = int(difference.max(initial=0))
        assert largest <= bound, f"{group}: {largest} codes from the exact result, expected at most {bound}"
        count = self.counts.setdefault(group.rsplit("/", 1)[0], [0, 0, 0])
        count[0] += int(np.count_nonzero(difference))
        count[1] += difference.size
        count[2] = max(count[2], largest)
        results = {"codes": codes} if largest == 0 else {"codes": codes, "exact": exact}
        self.add(group, grids, {**tensors, **results})

    def save(self) -> None:
        for operator, (differing, outputs, largest) in sorted(self.counts.items()):
            self.metadata[f"inexact {operator}"] = f"{differing}/{outputs}, at most {largest}"
            print(f"  {operator}: {differing} of {outputs} outputs are not the exact code, at most {largest} off")
        stable_safetensors.save(self.path, self.tensors, self.metadata)
        assert self.path.stat().st_size < 60_000, "a golden file stays below 60 kB"


def torch_versions(engine: str) -> dict[str, str]:
    return {"torch": torch.__version__, "numpy": np.__version__, "engine": engine}
