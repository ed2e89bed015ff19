"""python -m zeropoint"""

import sys

from zeropoint.cli import main

sys.exit(main())
