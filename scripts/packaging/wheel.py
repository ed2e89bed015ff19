# SPDX-License-Identifier: BSD-3-Clause
"""The Python package: a wheel in an empty virtual environment, outside of the repository, up to an imported network."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

from common import MAIN, REPOSITORY, Failed, Part, compiler, xsimd

PINS = REPOSITORY / "bench" / "peers" / "requirements.txt"  # the versions that the other tests have
FROM_TORCH = """import zeropoint
try:
    zeropoint.from_torch(None, None)
except zeropoint.ZeropointError as error:
    print(error)
"""


def check(part: Part) -> None:
    """Builds it, installs it, goes without each extra, then with them."""
    shutil.rmtree(part.folder, ignore_errors=True)
    shutil.rmtree(REPOSITORY / "python" / "build", ignore_errors=True)
    xsimd(part)
    part.run(sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "-w", part.folder,
             REPOSITORY / "python")
    wheel = next(part.folder.glob("zeropoint-*-py3-none-any.whl"))
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("zeropoint/include/zeropoint/zeropoint.hpp", "zeropoint/include/LICENSE",
                 "zeropoint/third_party/xsimd/include/xsimd/xsimd.hpp", "zeropoint/third_party/xsimd/LICENSE"):
        part.expect(name in names, f"{wheel.name} has no {name}")
    part.passed.append(f"{wheel.stat().st_size >> 10} kB with both libraries' headers")

    venv.create(part.folder / "venv", with_pip=True, clear=True)
    python, command = part.folder / "venv" / "bin" / "python", part.folder / "venv" / "bin" / "zeropoint"
    with tempfile.TemporaryDirectory(prefix="zeropoint-packages-") as elsewhere:
        use(part, wheel, python, command, Path(elsewhere))


def use(part: Part, wheel: Path, python: Path, command: Path, folder: Path) -> None:
    """What a user does who has the wheel and no checkout."""
    env = {"ZEROPOINT_CACHE": str(part.folder / "cache"), "ZEROPOINT_CXXFLAGS": "-O0", "ZEROPOINT_INCLUDE": "", "PYTHONPATH": ""}

    def pip(*what: str | Path) -> None:
        part.run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", PINS, *what, cwd=folder)

    def says(sentence: str, *words: str | Path, expect: int = 2, **more: str) -> None:
        text = part.run(*words, cwd=folder, env={**env, **more}, expect=expect)
        said = sentence in text and "Traceback" not in text
        part.expect(said, f"{' '.join(map(str, words))}: expected '{sentence}', got\n{text}")

    pip(wheel)
    includes = part.run(command, "--includes", cwd=folder, env=env).split()
    part.expect(all(str(REPOSITORY / "include") not in word for word in includes), f"the checkout is in {includes}")
    part.run(compiler(), "-std=c++20", "-O0", *includes, MAIN, "-o", "program", cwd=folder)
    part.run(folder / "program", cwd=folder)
    part.passed.append("zeropoint --includes compiles a program")

    try:
        part.run(sys.executable, "-c", "import torch, onnxscript")
    except Failed:
        part.skipped["torch"] = f"torch and onnxscript, which make the network to import, are not in {sys.executable}"
        return
    origin = part.run(sys.executable, REPOSITORY / "scripts" / "packaging" / "export_resnet18.py", folder / "resnet18.onnx")
    if "torchvision is not" in origin:
        part.skipped["torchvision"] = "torchvision is not installed: the same network of python/tests was imported"
    imports = [command, "import", "resnet18.onnx", "-o", "out"]
    says("pip install 'zeropoint[onnx]'", *imports)
    says("pip install 'zeropoint[torch]'", python, "-c", FROM_TORCH, expect=0)
    (folder / "net.pt2").write_bytes(b"")
    says("pip install 'zeropoint[torch]'", command, "import", "net.pt2")
    pip("zeropoint[onnx]")
    says("pip install 'zeropoint[verify]'", *imports)
    pip("zeropoint[verify]")
    says("no C++ compiler is found", *imports, PATH="", CXX="")
    part.expect(not list((folder / "out").glob("*")), "a refused import left files")
    part.passed.append("each missing extra and a missing compiler are named")
    says("passed: 3 inputs", *imports, expect=0)
    part.expect({path.name for path in (folder / "out").iterdir()} == {"resnet18.hpp", "resnet18.safetensors"},
                f"the import left {os.listdir(folder / 'out')}")
    part.passed.append("zeropoint import of a ResNet-18, checked")
