# SPDX-License-Identifier: BSD-3-Clause
"""Imports all families of lowerings, which register themselves."""

from zeropoint.lower import attention, conditions, elementwise, filters, movement, norms, reductions, sequences  # noqa: F401
