# SPDX-License-Identifier: BSD-3-Clause
"""A quantized network beside its float one: pages, text for a terminal, and the data that both are made of."""
