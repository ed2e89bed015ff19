# SPDX-License-Identifier: BSD-3-Clause
"""Models that are integers already: from the codes of a source to those of an int8 file, and a check of every code."""
