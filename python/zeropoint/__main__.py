# SPDX-License-Identifier: BSD-3-Clause
"""python -m zeropoint"""

import sys

from zeropoint.cli import main

sys.exit(main())
