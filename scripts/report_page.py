#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A digits network that int8 ruins, the page of `zeropoint report` for it, and the page's screenshots in headless Chromium.

    build/venv/bin/python scripts/report_page.py [--out build/report_page] [--images docs/images]

The network is that of examples/01_digits with the channels of two layers multiplied by powers of two, and divided again in the layer
behind: the same function in float. Needs torch, safetensors and Chromium.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "scripts"), str(ROOT / "examples" / "web_digits")]

from digits_cnn import DATA, WEIGHTS, DigitsCnn  # noqa: E402
from headless_chromium import headless_chromium  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

SCREENS = {"desktop": (1180, 1500, 1, "light"), "phone": (390, 844, 2, "dark")}  # width, height, pixels a unit, colours


def rescaled(seed: int = 1) -> DigitsCnn:
    """The trained network with uneven channels: powers of two from 2^-6 to 2^6 behind block.conv1 and separable.pointwise."""
    module = DigitsCnn()
    module.load_state_dict(load_file(WEIGHTS))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for norm, reader in ((module.block.bn1, module.block.conv2), (module.separable.bn2, module.fc1)):
            factors = 2.0 ** torch.randint(-6, 7, (len(norm.weight),), generator=generator).float()
            norm.weight *= factors
            norm.bias *= factors
            # What reads the channels divides again: nine taps of each, or the four columns of a flattened image's channel.
            weight = reader.weight.reshape(len(reader.weight), len(factors), -1) / factors.reshape(1, -1, 1)
            reader.weight.copy_(weight.reshape(reader.weight.shape))
    return module.eval()


def images() -> np.ndarray:
    """Of the training set."""
    file = load_file(DATA / "digits.safetensors")
    pixels = file["images"][file["is_test"] == 0].float().reshape(-1, 1, 8, 8) / 16
    return pixels.numpy()


def screenshots(page: Path, folder: Path) -> list[str]:
    """PNG files of the page on a desk and on a phone; what is wrong with it."""
    wrong: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    with headless_chromium() as browser:
        for name, (width, height, scale, colours) in SCREENS.items():
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                         mobile=name == "phone")
            browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])
            browser.call("Page.navigate", url=page.resolve().as_uri())
            browser.wait_for("document.documentElement?.dataset.ready === 'yes'")
            wrong += problems(browser, name)
            if name == "phone":  # the layer that is open: the worst one
                browser.evaluate("document.documentElement.style.scrollBehavior = 'auto'; "
                                 "document.querySelector('details[open]').scrollIntoView()")
            browser.screenshot(folder / f"report_{name}.png")
        wrong += [f"an error of the page: {error}" for error in browser.errors]
    return wrong


def problems(browser: headless_chromium, name: str) -> list[str]:
    """What does not fit the screen, is too small, or asks the network."""
    wrong = []
    if browser.evaluate("document.documentElement.scrollWidth > innerWidth"):
        wrong.append(f"{name}: the page is wider than the screen")
    small = browser.evaluate("[...document.querySelectorAll('main *')].filter(one => one.childElementCount === 0 && "
                             "one.textContent.trim() && parseFloat(getComputedStyle(one).fontSize) < 14).map(one => one.textContent)")
    if small:
        wrong.append(f"{name}: smaller than 14 px: {small[:5]}")
    asked = browser.evaluate("performance.getEntriesByType('resource').map(one => one.name)")
    if asked:
        wrong.append(f"{name}: the page asks for {asked}")
    return wrong


def main() -> int:
    """Makes everything; 1 where the page is wrong."""
    import zeropoint
    from zeropoint.cli import main as command

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "report_page")
    parser.add_argument("--images", type=Path, help="where the screenshots go; by default into the folder of --out")
    options = parser.parse_args()
    module = rescaled()
    made = zeropoint.from_torch(module, torch.zeros(1, 1, 8, 8), options.out, name="uneven_digits", verify=False)
    np.save(options.out / "images.npy", images()[:512])
    page = options.out / "uneven_digits.html"
    status = command(["report", str(made.header), "--calibration", str(options.out / "images.npy"), "-o", str(page),
                      "--json", str(options.out / "uneven_digits.json")])
    if status != 0:
        return status
    wrong = screenshots(page, options.images or options.out)
    print("\n".join(wrong) or f"{page.stat().st_size:,} bytes, nothing wrong on {' and '.join(SCREENS)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
