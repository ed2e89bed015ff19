# SPDX-License-Identifier: BSD-3-Clause
"""The acceptance suite of the importer: well-known networks with random weights, from torch.export and from ONNX.

    python python/acceptance/run.py --help

Not a part of the wheel. Each family of networks has a module in families/; results/ has a line for each network.
"""
