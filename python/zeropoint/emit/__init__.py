# SPDX-License-Identifier: BSD-3-Clause
"""From rows to C++: structure, blocks, text."""
