# SPDX-License-Identifier: BSD-3-Clause
"""Front ends: what reads a model of another framework into the graph of zeropoint.ir."""
