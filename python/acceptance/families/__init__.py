# SPDX-License-Identifier: BSD-3-Clause
"""Families of networks: each module has NETWORKS, a list of acceptance.networks.Network."""

NAMES = ("torchvision", "timm", "own", "transformers", "sequences")
