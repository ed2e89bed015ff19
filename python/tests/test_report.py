# SPDX-License-Identifier: BSD-3-Clause
"""Pages and text of `zeropoint report`, from made-up data and from a network."""

from __future__ import annotations

import copy
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import zeropoint
from zeropoint.cli import main
from zeropoint.inspection.drawing import channels, histogram, lanes, level
from zeropoint.inspection.page import page_of
from zeropoint.inspection.text import text_of

ROOT = Path(__file__).resolve().parent.parent.parent


def row(number: int, name: str, sqnr: float | None, **more: Any) -> dict[str, Any]:
    """One row of a comparison."""
    made = {"row": number, "name": name, "operation": "conv2d", "extents": [1, 4, 4, 2], "storage": "uint8", "count": 32, "sqnr": sqnr,
            "cosine": 0.99, "mean_error": 0.001, "max_error": 0.5, "mean_squared_error": 0.01, "min": -1.0, "max": 2.0,
            "dead_channels": 0, "lost_channels": 0, "scale": 0.0125, "zero_point": 80, "quant_min": 0, "quant_max": 255,
            "rmse_in_steps": 0.3, "saturated_share": 0.01, "clipped_share": 0.0, "used_codes": 200, "channel_size": [1.0, 2.0],
            "channel_sqnr": [20.0, None], "weights": [],
            "histogram": {"low": -1.0, "high": 2.1875, "real": [0.25, 0.5, 0.25], "codes": [0.25, 0.5, 0.25]}}
    return {**made, **more}


def data() -> dict[str, Any]:
    """A network of four rows, one of which is read by two."""
    weights = {"name": "weight", "count": 8, "sqnr": 12.5, "cosine": 0.9, "mean_error": 0.0, "max_error": 0.1, "saturated_share": 0.1,
               "used_codes": 9, "quant_min": -128, "quant_max": 127, "spread": 64.0, "min": [-1.0, -0.01], "max": [1.0, 0.02],
               "scale": [0.01, 0.01], "zero_point": [0, 0], "channel_sqnr": [40.0, 3.0], "histogram": {"low": -1, "high": 1, "real": [1.0]}}
    table = [{"name": "input", "operation": "input", "inputs": []}, {"name": "", "operation": "quantize", "inputs": [0]},
             {"name": "a<b>", "operation": "conv2d + relu", "inputs": [1]}, {"name": "", "operation": "add", "inputs": [2, 1]},
             {"name": "", "operation": "dequantize", "inputs": [3]}]
    rows = [row(1, "input", 45.0), row(2, "a<b>", 8.0, weights=[weights]), row(3, "add_3", None)]
    comparison = {"mode": "whole_networks", "inputs": 7, "rows": rows}
    return {"format": "zeropoint.inspection", "version": 1, "network": "net & co", "qconfig": "default_qconfig",
            "float_parameter_bytes": 4000, "whole": comparison, "alone": copy.deepcopy(comparison),
            "table": {"parameter_bytes": 1000, "arena_bytes": 64, "macs": 100,
                      "rows": [{**r, "extents": [1, 4, 4, 2], "storage": "uint8", "macs": 0, "parameter_bytes": 0, "is_boundary": False}
                               for r in table]},
            "sensitivity": {"metric": "SQNR of the output, dB", "floats": None, "quantized": 8.1,
                            "rows": [{"row": 2, "name": "a<b>", "operation": "conv2d", "alone": 9.0, "without": 30.0},
                                     {"row": 1, "name": "input", "operation": "quantize", "alone": None, "without": 8.2}]},
            "calibration": {"inputs": 7, "warnings": ["calibrated with 7 inputs only"]},
            "advice": [{"row": 2, "name": "a<b>", "finding": "a<b>.weight: uneven channels", "remedy": "zp::per_channel_symmetric"}]}


def test_page_has_everything_and_asks_for_nothing() -> None:
    """Every name, figure and sentence, escaped; no address of anything else."""
    page = page_of(data())
    for part in ("net &amp; co", "a&lt;b&gt;.weight: uneven channels", "zp::per_channel_symmetric", "8.0 dB", "exact", "conv2d + relu",
                 "calibrated with 7 inputs only", "it alone quantized", "64 times", 'id="row2"', "prefers-color-scheme: dark"):
        assert part in page, part
    assert "a<b>" not in page
    assert not re.search(r"(?:https?:)?//[a-z]|<link|@import|url\(|src=", page)
    assert page.count("<details") == 3 and page.count("<circle") == 5
    # The worst row by itself is open, and first in the table.
    assert 'id="row2" open' in page
    assert page.index('href="#row2">a&lt;b&gt;</a></td>') < page.index('href="#row1">input</a></td>')
    without = data()
    without["sensitivity"], without["advice"] = None, []
    assert "Nothing stands out" in page_of(without) and "Sensitivity" not in page_of(without)


def test_drawings() -> None:
    """Lanes do not overlap; heights and places are those of the figures."""
    found, count = lanes([[], [0], [1], [2, 0], [3, 1], [4, 3]])
    assert count == 2 and found[0, 3] != found[1, 4] and set(found) == {(0, 3), (1, 4), (3, 5)}
    assert [level(x) for x in (None, 40.0, 39.9, 20.0, 10.0, 9.9)] == ["s0", "s1", "s2", "s3", "s4", "s5"]
    drawn = histogram(row(1, "x", 30.0))
    assert "M0 90.0 L0.0 29.2 L106.7 29.2 L106.7 4.0" in drawn  # 86 * sqrt(0.5) and 86 high
    assert 'class="end" d="M0.5 0' in drawn and 'class="end" d="M319.5 0' in drawn
    assert histogram({"histogram": {"low": 0, "high": 0}}) == ""
    assert channels(data()["whole"]["rows"][1]["weights"][0]).count(" V") == 2


def test_text_is_the_same() -> None:
    """The rows, the figures, the advice; colours where there is a terminal."""
    text = text_of(data())
    for part in ("net & co under default_qconfig", "output exact", "8.0 dB", "12.5 dB", "a<b>.weight: uneven channels",
                 "zp::per_channel_symmetric", "warning: calibrated with 7 inputs only", "9.0 dB  a<b>"):
        assert part in text, part
    assert "\x1b" not in text and "\x1b[31;1m" in text_of(data(), coloured=True)


def test_command_over_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON of a C++ program becomes a page; what is no such JSON is refused."""
    (tmp_path / "net.json").write_text(json.dumps(data()))
    assert main(["report", str(tmp_path / "net.json"), "-o", str(tmp_path / "net.html")]) == 0
    assert (tmp_path / "net.html").read_text() == page_of(data())
    assert "what to try next" in capsys.readouterr().out
    assert main(["report", str(tmp_path / "net.json"), "--text"]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net.html", "net.json"]
    for text, message in (("{", "Expecting"), ("[]", "expected the JSON of a zp::inspection"),
                          ('{"format": "zeropoint.inspection", "version": 9}', "expected version 1 of an inspection, found 9")):
        (tmp_path / "bad.json").write_text(text)
        assert main(["report", str(tmp_path / "bad.json")]) == 2
        assert message in capsys.readouterr().err
    assert main(["report", str(tmp_path / "none.json")]) == 2
    (tmp_path / "net.hpp").write_text("")
    assert main(["report", str(tmp_path / "net.hpp")]) == 2
    assert "--calibration" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("chromium") is None and shutil.which("google-chrome") is None, reason="no Chromium")
def test_in_chromium(tmp_path: Path) -> None:
    """Nothing wider than the screen, nothing small, nothing asked for; columns are sorted; links open their layer."""
    sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "examples" / "web_digits")]
    from headless_chromium import headless_chromium
    from report_page import problems, screenshots

    page = tmp_path / "net.html"
    page.write_text(page_of(data()))
    assert screenshots(page, tmp_path) == []
    assert (tmp_path / "report_phone.png").stat().st_size > 10_000
    with headless_chromium() as browser:
        browser.call("Emulation.setDeviceMetricsOverride", width=320, height=568, deviceScaleFactor=1, mobile=True)
        browser.call("Page.navigate", url=page.resolve().as_uri())
        browser.wait_for("document.documentElement?.dataset.ready === 'yes'")
        assert problems(browser, "narrow") == []
        names = "[...document.querySelector('table').tBodies[0].rows].map(one => one.cells[0].textContent)"
        assert browser.evaluate(names) == ["a<b>", "input", "add_3"]
        for expected in (["a<b>", "add_3", "input"], ["input", "add_3", "a<b>"]):  # by name, up and down
            browser.evaluate("document.querySelector('th button').click()")
            assert browser.evaluate(names) == expected
        browser.evaluate("location.hash = 'row3'")
        browser.wait_for("document.getElementById('row3').open")
        assert browser.errors == []


def test_of_a_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compiled on demand: figures are those of the networks that run."""
    torch.manual_seed(1)
    module = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                                 torch.nn.Linear(72, 5)).eval()
    example = torch.zeros(1, 1, 8, 8)
    made = zeropoint.from_torch(module, example, tmp_path, name="small", verify=False)
    images = torch.randn(20, *example.shape[1:], generator=torch.Generator().manual_seed(1)).numpy()
    np.save(tmp_path / "images.npy", images)
    assert main(["report", str(made.header), "--calibration", str(tmp_path / "images.npy"), "--json", str(tmp_path / "data.json"),
                 "-o", str(tmp_path / "page.html")]) == 0
    assert "int8 beside float over 5 inputs" in capsys.readouterr().out
    found = json.loads((tmp_path / "data.json").read_text())
    net = zeropoint.build(made.header, inspects=True)
    for i in range(20):
        if i % 4 != 3:
            net.calibrate(images[i])
    with pytest.raises(zeropoint.ZeropointError, match="calibrate and convert"):
        net.inspect(images[3::4])
    net.convert()
    with torch.no_grad():
        real = module(torch.from_numpy(images[3::4])).numpy().astype(np.float64)
    last = net.run_int8(images[3::4])
    sqnr = 10 * np.log10(np.square(real).sum() / np.square(last - real).sum())
    assert abs(found["whole"]["rows"][-1]["sqnr"] - sqnr) < 0.01
    assert found["sensitivity"]["quantized"] == pytest.approx(sqnr, abs=0.5)
