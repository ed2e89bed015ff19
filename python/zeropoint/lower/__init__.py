# SPDX-License-Identifier: BSD-3-Clause
"""From the graph to rows: which layer each operator becomes, and what has to move between them."""

from zeropoint.lower.context import Lowered, lower

__all__ = ["Lowered", "lower"]
