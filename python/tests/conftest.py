"""What all tests share: the programs that they compile are kept between runs."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))
os.environ.setdefault("ZEROPOINT_CXXFLAGS", "-O1 -Wall -Wextra -Wconversion -Wshadow -Werror")
os.environ.setdefault("ZEROPOINT_COMPILED", "1")
warnings.filterwarnings("ignore")
