# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/digits_logits.safetensors: PyTorch's float logits for the test third of the digits.

    python scripts/golden/digits_logits.py

Tensors: `logits` F32 [599, 10], in eval mode from examples/01_digits/data/digits_cnn.safetensors, in the order of the
images whose is_test is 1; `predictions` U8 [599]. Metadata: accuracy, PyTorch's version. Versions:
scripts/requirements.txt.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402
from digits_cnn import WEIGHTS, DigitsCnn, load_digits  # noqa: E402

OUTPUT = ROOT / "tests/golden/digits_logits.safetensors"


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(1)
    model = DigitsCnn()
    model.load_state_dict(load_file(WEIGHTS))
    model.eval()
    images, labels = load_digits(test=True)
    logits = model(images)
    difference = (logits - model.double()(images.double())).abs().max().item()
    predictions = logits.argmax(1)
    correct = int((predictions == labels).sum())
    metadata = {
        "accuracy_percent": f"{100 * correct / len(labels):.4f}",
        "correct": f"{correct} of {len(labels)}",
        "torch": torch.__version__,
        "made_by": "scripts/golden/digits_logits.py",
    }
    print(
        f"accuracy {metadata['accuracy_percent']} % ({metadata['correct']}), largest logit {logits.abs().max():.2f}, "
        f"difference to float64 at most {difference:.1e}"
    )
    stable_safetensors.save(OUTPUT, {"logits": logits, "predictions": predictions.to(torch.uint8)}, metadata)


if __name__ == "__main__":
    main()
