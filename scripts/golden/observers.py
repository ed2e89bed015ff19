# SPDX-License-Identifier: BSD-3-Clause
"""Writes tests/golden/observers.safetensors: scales and zero points of PyTorch's observers.

    python scripts/golden/observers.py

Every result is a pair of tensors `<name>/scale` F32 and `<name>/zero_point` I32.

choose_qparams: calculate_qparams of a MinMaxObserver that saw exactly min and max.
    choose_qparams/min, /max                 F32 [R]
    choose_qparams/<dtype>/<scheme>          [R]; <dtype>: quint8, qint8, qint8_narrow (-127..127), quint8_reduced
                                             (0..127), qint8_reduced (-64..63), quint4 (quint8 with the custom range
                                             0..15), qint4 (qint8 with -8..7); <scheme>: affine, symmetric.
                                             quint8_reduced/symmetric is missing: PyTorch refuses it.
    choose_qparams/qint8_narrow/symmetric_coarse_eps   [R], eps = 2^-12 (weight_observer_range_neg_127_to_127)

Observers of a whole tensor; entry i is what the observer says after it was fed input[i][0] repeats[i][0] times in a
row, then input[i][1] repeats[i][1] times, and so on (0: never). The inputs are, in order, the keys of INPUTS below
(metadata `inputs`). Without many repeats the histogram's search stops at once, as clipping pays only among very many
samples.
    per_tensor/input                         F32 [I, 5, 200]; per_tensor/repeats I32 [I, 5]
    min_max/<config>                         [I]; <config> is <dtype>_<scheme>
    moving_average_0.01/<config>, moving_average_0.1/<config>   [I]; averaging_constant in the name
    histogram/<config>                       [I]; 2048 bins
    {min_max,moving_average_0.01,moving_average_0.1,histogram}/min, /max   F32 [I], the state after the last batch
    histogram/bins                           F32 [I, 2048], the merged histogram; histogram/sum F32 [I]
    histogram/search_min, /search_max        F32 [I], the range that the search for the smallest error chose

Observers of each channel; a batch is [channels, values].
    per_channel/input                        F32 [J, 4, 6, 40], in the order of metadata `per_channel_inputs`
    per_channel_min_max/<config>             [J, 6], ch_axis = 0
    per_channel_min_max_axis_1/<config>      [J, 40], ch_axis = 1
    moving_average_per_channel_0.01/<config>, moving_average_per_channel_0.1/<config>   [J, 6]

    fixed_qparams                            [3]: FixedQParamsObserver gives back what it was given
    (PlaceholderObserver has nothing to compare: calculate_qparams raises, which is checked here.)

The arithmetic, all in float32 with one rounding an operation:
    scale       max((max(max, 0) - min(min, 0)) / (quant_max - quant_min), eps), symmetric
                max(max(-min, max) / ((quant_max - quant_min) / 2), eps)
    average     min + constant * (batch_min - min), the constant rounded to float32; max likewise
    histogram   bin of x: int((x - min) * 2048 / (max - min)), the last one for max; an equal min and max are taken as
                min - 1 and max + 1. When the range grows: point i of linspace(a, b, n) is a + step * i for i < n / 2,
                else b - step * (n - 1 - i), with step = (b - a) / (n - 1); a sub-bin's mid point is its left point
                + 0.5 * ((max - min) / 32768).
    search      the error is float32 in PyTorch; on these inputs float64 ends at the same bins. The result is
                min + width * first_bin and min + width * (last_bin + 1), width = (max - min) / 2048.

The observers are torch.ao.quantization's, which PyTorch 2.13 still has (torchao.quantization.pt2e.observer carries the
same code). Versions: scripts/requirements.txt.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from torch.ao.quantization.observer import (
    FixedQParamsObserver,
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import stable_safetensors  # noqa: E402

warnings.filterwarnings("ignore", message=".*Please use quant_min and quant_max to specify the range.*")
OUTPUT = ROOT / "tests/golden/observers.safetensors"
BATCHES, BATCH_SIZE = 5, 200

SEED = 5

DTYPES = {
    "quint8": {"dtype": torch.quint8},
    "qint8": {"dtype": torch.qint8},
    "qint8_narrow": {"dtype": torch.qint8, "quant_min": -127, "quant_max": 127},
    "quint8_reduced": {"dtype": torch.quint8, "reduce_range": True},
    "qint8_reduced": {"dtype": torch.qint8, "reduce_range": True},
    "quint4": {"dtype": torch.quint8, "quant_min": 0, "quant_max": 15},
    "qint4": {"dtype": torch.qint8, "quant_min": -8, "quant_max": 7},
}
# fmt: off
RANGES = np.float32([
    (-1.0, 1.0), (-0.7, 2.3), (-6.1, 0.4), (-1.0, 3.0), (-127.0, 128.0), (-128.0, 127.0), (-0.5, 127.25),
    (-3.3333333, 7.7777777),
    (0.0, 6.0), (0.0, 1.0), (0.0, 255.0), (0.25, 4.0), (3.0, 3.0), (5.0, 5.5), (0.0, 0.1),  # one-sided
    (-4.0, 0.0), (-4.0, -1.5), (-2.5, -2.5), (-0.1, -0.0),
    (0.0, 0.0), (-1e-9, 1e-9), (0.0, 1e-6), (-1e-5, 2e-5), (-3e-5, 0.0), (0.0, 1e-42), (-1e-38, 1e-38),  # tiny
    (-1e-3, 1e-2),
    (-1e30, 1e30), (-1e38, 2e38), (0.0, 3e38), (-65504.0, 65504.0), (-1e-6, 1e6), (-1e6, 1e-6), (-12345.678, 0.001),
    (-0.49803925, 127.5), (-0.5, 255.0), (-1.5, 253.5), (-2.5, 252.5), (-100.5, 154.5),  # zero point at or near a tie
])
# fmt: on

generator = np.random.default_rng(SEED)


def normal(*shape: int) -> np.ndarray:
    return generator.normal(0, 1, shape)


def laplace(batches: int) -> np.ndarray:
    return generator.laplace(0, 1, (batches, BATCH_SIZE))


def with_outliers(x: np.ndarray, *outliers: float) -> np.ndarray:
    """Writes the outliers into the first batch."""
    x[0, 10 : 10 + len(outliers)] = outliers
    return x


def increasing(batches: int) -> np.ndarray:
    return 2.0 ** np.arange(-1, batches - 1)[:, None]


# Batches [number, BATCH_SIZE], fewer than BATCHES are allowed, and how often each is fed.
INPUTS = {
    "one_gaussian_batch": (normal(1, BATCH_SIZE), [1]),
    "gaussian": (normal(5, BATCH_SIZE), [1] * 5),
    "gaussian_fixed_range": (np.clip(2 * normal(5, BATCH_SIZE), -3, 3), [1] * 5),
    "shifted_gaussian": (0.3 * normal(4, BATCH_SIZE) + 2.0, [1] * 4),
    "laplace": (laplace(5), [1] * 5),
    "relu": (np.maximum(normal(5, BATCH_SIZE), 0), [1] * 5),
    "relu6": (np.clip(4 * normal(4, BATCH_SIZE), 0, 6), [3, 1, 2, 1]),
    "widening": (normal(5, BATCH_SIZE) * increasing(5), [1] * 5),
    "narrowing": (normal(5, BATCH_SIZE) * increasing(5)[::-1], [1] * 5),
    "negative": (-np.abs(normal(4, BATCH_SIZE)) - 0.1, [1] * 4),
    "constant_batch_first": (np.concatenate([np.full((1, BATCH_SIZE), 0.75), normal(3, BATCH_SIZE)]), [1] * 4),
    "zero_batch_first": (np.concatenate([np.zeros((1, BATCH_SIZE)), np.abs(normal(2, BATCH_SIZE))]), [1] * 3),
    "constant": (np.full((1, BATCH_SIZE), 1.25), [2]),
    "zeros": (np.zeros((1, BATCH_SIZE)), [2]),
    "tiny": (1e-5 * normal(3, BATCH_SIZE), [1] * 3),
    "codes": (np.round(4 * normal(3, BATCH_SIZE)), [1] * 3),  # few distinct values, many on the edges of bins
    "many_gaussian_heavy_outliers": (with_outliers(normal(5, BATCH_SIZE), 10.0, -7.0, 9.0), [1] + [2000] * 4),
    "many_laplace": (laplace(5), [1] + [300] * 4),
    "many_relu_heavy_outliers": (np.maximum(with_outliers(normal(5, BATCH_SIZE), 12.0, 8.0), 0), [1] + [900] * 4),
    "many_negative_outliers": (with_outliers(laplace(5) + 3, -15.0, -12.0, -11.5), [1, 1000, 100, 1000, 500]),
    "many_widening": (normal(4, BATCH_SIZE) * increasing(4), [2000, 1000, 50, 1]),
}


def channels(spread: np.ndarray, offset: float) -> np.ndarray:
    return spread[:, None] * normal(4, 6, 40) + offset


PER_CHANNEL_INPUTS = {
    "different_spreads": channels(np.array([0.01, 0.1, 1.0, 3.0, 10.0, 100.0]), 0.0),
    "positive": np.abs(channels(np.ones(6), 0.0)) + 0.5,
    "dead_constant_and_negative_channels": channels(np.array([0.0, 1.0, 0.0, 2.0, 1e-9, 1.0]), 0.0)
    + np.array([0.0, 0.0, 1.5, -20.0, 0.0, 4.0])[:, None],
}

PER_TENSOR_CONFIGS = [
    ("quint8", "affine"),
    ("qint8", "affine"),
    ("qint8", "symmetric"),
    ("qint8_narrow", "symmetric"),
    ("quint8_reduced", "affine"),
    ("qint8_reduced", "symmetric"),
]
HISTOGRAM_CONFIGS = [
    ("quint8", "affine"),
    ("qint8", "affine"),
    ("qint8", "symmetric"),
    ("quint8_reduced", "affine"),
    ("qint8_reduced", "symmetric"),
]
PER_CHANNEL_CONFIGS = [("qint8", "symmetric"), ("qint8_narrow", "symmetric"), ("qint8", "affine"), ("quint8", "affine")]


def observe(observer: torch.nn.Module, batches: np.ndarray, repeats=None) -> torch.nn.Module:
    for batch, times in zip(batches, repeats or [1] * len(batches)):
        for _ in range(times):
            observer(torch.from_numpy(np.ascontiguousarray(batch)))
    return observer


def qparams_table(observers: list) -> dict[str, torch.Tensor]:
    """Scales and zero points of many observers, one row each; a single column is dropped."""
    scales, zero_points = zip(*(observer.calculate_qparams() for observer in observers))

    def table(rows, dtype):
        return torch.stack(list(rows)).squeeze(1).to(dtype)

    return {"scale": table(scales, torch.float32), "zero_point": table(zero_points, torch.int32)}


def choose_qparams() -> dict[str, torch.Tensor]:
    tensors = {"min": torch.from_numpy(RANGES[:, 0].copy()), "max": torch.from_numpy(RANGES[:, 1].copy())}

    def add(name, **arguments):
        observers = [observe(MinMaxObserver(**arguments), low_and_high[None]) for low_and_high in RANGES]
        tensors.update({f"{name}/{key}": value for key, value in qparams_table(observers).items()})

    for dtype, arguments in DTYPES.items():
        for scheme in ("affine", "symmetric"):
            if (dtype, scheme) != ("quint8_reduced", "symmetric"):
                add(f"{dtype}/{scheme}", qscheme=getattr(torch, f"per_tensor_{scheme}"), **arguments)
    add("qint8_narrow/symmetric_coarse_eps", qscheme=torch.per_tensor_symmetric, eps=2.0**-12, **DTYPES["qint8_narrow"])
    return {f"choose_qparams/{name}": value for name, value in tensors.items()}


def observer_tables(observer_type, configs, inputs, scheme_prefix, **arguments):
    """Results of every config over every input (batches, repeats), and the observers of the last config."""
    tensors = {}
    for dtype, scheme in configs:
        qscheme = getattr(torch, f"{scheme_prefix}_{scheme}")
        observers = [observe(observer_type(qscheme=qscheme, **DTYPES[dtype], **arguments), *fed) for fed in inputs]
        tensors.update({f"{dtype}_{scheme}/{key}": value for key, value in qparams_table(observers).items()})
    return tensors, observers


def state(observers: list) -> dict[str, torch.Tensor]:
    return {name: torch.stack([getattr(observer, f"{name}_val") for observer in observers]) for name in ("min", "max")}


def per_tensor() -> dict[str, torch.Tensor]:
    inputs = [(batches.astype(np.float32), repeats) for batches, repeats in INPUTS.values()]
    padded = [np.pad(batches, ((0, BATCHES - len(batches)), (0, 0))) for batches, _ in inputs]
    repeats = [repeats + [0] * (BATCHES - len(repeats)) for _, repeats in inputs]
    tensors = {
        "per_tensor/input": torch.from_numpy(np.stack(padded)),
        "per_tensor/repeats": torch.tensor(repeats, dtype=torch.int32),
    }
    kinds = {"min_max": (MinMaxObserver, {}), "histogram": (HistogramObserver, {"bins": 2048})}
    kinds.update(
        {
            f"moving_average_{constant}": (MovingAverageMinMaxObserver, {"averaging_constant": constant})
            for constant in (0.01, 0.1)
        }
    )
    for name, (observer_type, arguments) in kinds.items():
        configs = HISTOGRAM_CONFIGS if name == "histogram" else PER_TENSOR_CONFIGS
        table, observers = observer_tables(observer_type, configs, inputs, "per_tensor", **arguments)
        table.update(state(observers))
        if name == "histogram":
            low, high = zip(*(observer._non_linear_param_search() for observer in observers))
            bins = torch.stack([observer.histogram for observer in observers])
            table.update(bins=bins, sum=bins.sum(1), search_min=torch.stack(low), search_max=torch.stack(high))
        tensors.update({f"{name}/{key}": value for key, value in table.items()})
    return tensors


def per_channel() -> dict[str, torch.Tensor]:
    inputs = [batches.astype(np.float32) for batches in PER_CHANNEL_INPUTS.values()]
    tensors = {"per_channel/input": torch.from_numpy(np.stack(inputs))}
    inputs = [(batches,) for batches in inputs]
    kinds = {
        "per_channel_min_max": (PerChannelMinMaxObserver, {"ch_axis": 0}),
        "per_channel_min_max_axis_1": (PerChannelMinMaxObserver, {"ch_axis": 1}),
    }
    kinds.update(
        {
            f"moving_average_per_channel_{constant}": (
                MovingAveragePerChannelMinMaxObserver,
                {"averaging_constant": constant},
            )
            for constant in (0.01, 0.1)
        }
    )
    for name, (observer_type, arguments) in kinds.items():
        table, _ = observer_tables(observer_type, PER_CHANNEL_CONFIGS, inputs, "per_channel", **arguments)
        tensors.update({f"{name}/{key}": value for key, value in table.items()})
    return tensors


def fixed_and_placeholder() -> dict[str, torch.Tensor]:
    fixed = [FixedQParamsObserver(scale, zero_point) for scale, zero_point in ((1 / 256, 0), (2 / 256, 128), (0.1, 37))]
    table = qparams_table([observe(observer, np.float32([[-9.0, 9.0]])) for observer in fixed])
    try:
        PlaceholderObserver().calculate_qparams()
    except Exception as error:
        assert "should not be called" in str(error)
    else:
        raise AssertionError("PlaceholderObserver was expected to refuse calculate_qparams")
    return {f"fixed_qparams/{key}": value for key, value in table.items()}


def main() -> None:
    torch.set_num_threads(1)
    tensors = {**choose_qparams(), **per_tensor(), **per_channel(), **fixed_and_placeholder()}
    for name, tensor in tensors.items():
        assert not name.endswith("/scale") or (torch.isfinite(tensor) & (tensor > 0)).all(), name
    metadata = {
        "torch": torch.__version__,
        "observers": MinMaxObserver.__module__,
        "inputs": ", ".join(INPUTS),
        "per_channel_inputs": ", ".join(PER_CHANNEL_INPUTS),
        "made_by": "scripts/golden/observers.py",
    }
    stable_safetensors.save(OUTPUT, tensors, metadata)


if __name__ == "__main__":
    main()
