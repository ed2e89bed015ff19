# SPDX-License-Identifier: BSD-3-Clause
"""What others have quantized beside the float network of its real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np


class QuantizedSource:
    """The source as a float model, which the import has to equal, and as it is, of which it says how near the two are."""

    def __init__(self, floats: Any, original: Any) -> None:
        self.floats, self.original = floats, original
        self.cosine, self.difference = 1.0, 0.0

    def __call__(self, graph: Any, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Outputs of the float model."""
        results = self.floats(graph, arrays)
        for mine, its in zip(results, self.original(graph, arrays)):
            a, b = (np.asarray(y).astype(np.float64).reshape(-1) for y in (mine, its))
            norms, largest = np.linalg.norm(a) * np.linalg.norm(b), float(np.abs(b).max(initial=0.0))
            self.cosine = min(self.cosine, float(a @ b / norms) if norms else 1.0)
            self.difference = max(self.difference, float(np.abs(a - b).max(initial=0.0)) / (largest or 1.0))
        return results  # type: ignore[no-any-return]

    def trace(self, graph: Any, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Values in between of the float model."""
        return self.floats.trace(graph, arrays)  # type: ignore[no-any-return]

    def comment(self) -> str:
        """For people, behind a check."""
        return (f"The real numbers of a quantized model: beside the source as it is, cosine {self.cosine:.5f}, largest difference "
                f"{self.difference:.0e} of the largest value.")
