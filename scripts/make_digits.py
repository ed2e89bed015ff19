# SPDX-License-Identifier: BSD-3-Clause
"""Writes examples/01_digits/data/digits.safetensors: the 1,797 handwritten digits that scikit-learn ships.

    python scripts/make_digits.py

Tensors: `images` U8 [1797, 8, 8], codes 0 (paper) to 16 (ink); `labels` U8 [1797], 0 to 9; `is_test` U8 [1797], 1 for
the 599 images of the test third. The third is drawn once, with a fixed seed, and stratified: each digit has a third of
its images in it. Made with the versions in scripts/requirements.txt.
"""

from pathlib import Path

import numpy as np
import sklearn
import torch
from sklearn.datasets import load_digits

import stable_safetensors

SEED = 2024
OUTPUT = Path(__file__).resolve().parent.parent / "examples/01_digits/data/digits.safetensors"
METADATA = {
    "origin": "UCI Machine Learning Repository, Optical Recognition of Handwritten Digits (optdigits.tes), "
    "as shipped by scikit-learn's load_digits",
    "citation": "E. Alpaydin, C. Kaynak. Optical Recognition of Handwritten Digits. UCI Machine Learning Repository, "
    "1998. https://doi.org/10.24432/C50P49",
    "licence": "CC BY 4.0, https://creativecommons.org/licenses/by/4.0/",
    "changes": "stored as 8-bit integers; is_test marks a fixed, seeded, stratified third",
    "made_by": f"scripts/make_digits.py, scikit-learn {sklearn.__version__}",
}


def stratified_third(labels: np.ndarray) -> np.ndarray:
    """Marks every third image of the list that is shuffled, then sorted by digit."""
    shuffled = np.random.default_rng(SEED).permutation(len(labels))
    sorted_by_digit = shuffled[np.argsort(labels[shuffled], kind="stable")]
    is_test = np.zeros(len(labels), np.uint8)
    is_test[sorted_by_digit[1::3]] = 1
    return is_test


def main() -> None:
    digits = load_digits()
    images = digits.images.astype(np.uint8)
    labels = digits.target.astype(np.uint8)
    assert images.shape == (1797, 8, 8) and images.max() == 16 and np.array_equal(images, digits.images)
    is_test = stratified_third(labels)
    print("test images of each digit:", np.bincount(labels[is_test == 1]), "of", np.bincount(labels))
    tensors = {"images": images, "labels": labels, "is_test": is_test}
    stable_safetensors.save(OUTPUT, {name: torch.from_numpy(array) for name, array in tensors.items()}, METADATA)


if __name__ == "__main__":
    main()
