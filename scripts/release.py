#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the source archives of a release: the same bytes from every clone of a commit, and their SHA-256.

    scripts/release.py [--output FOLDER] [--commit COMMIT] [--draft]
    scripts/release.py --twice        from two clones, compared: what CI does

Writes zeropoint-<version>.tar.gz, .zip and SHA256SUMS into build/release. What is packed are the files of the commit, never those of the
folder: names in order, the time of the commit, no owners, modes 644 and 755. Refuses a commit whose CHANGELOG.md has no section for
the version with a date, or whose CITATION.cff names another one; --draft lets both pass. The bytes depend on the commit alone, and for
.tar.gz and .zip on the version of zlib: whoever compares archives of another machine compares what is in them.
"""
import argparse
import calendar
import gzip
import hashlib
import io
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(repository: pathlib.Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", repository, *words], check=True, capture_output=True).stdout


def files_of(repository: pathlib.Path, commit: str) -> list[tuple[str, int, bytes]]:
    """Path, mode and content of every file of a commit, in the order of paths."""
    entries = []
    for line in git(repository, "ls-tree", "-r", "-z", "--full-tree", commit).decode().split("\0")[:-1]:
        kind, path = line.split("\t")
        mode, what, name = kind.split()
        if what != "blob" or mode == "120000":
            raise SystemExit(f"{path}: expected a file, found a {'link' if what == 'blob' else what}: archives have files alone")
        entries.append((path, 0o755 if mode == "100755" else 0o644, name))
    batch = subprocess.run(["git", "-C", repository, "cat-file", "--batch"], input="\n".join(e[2] for e in entries).encode(),
                           check=True, capture_output=True).stdout
    files, at = [], 0
    for path, mode, _ in entries:
        end = batch.index(b"\n", at)
        size = int(batch[at:end].split()[2])
        files.append((path, mode, batch[end + 1:end + 1 + size]))
        at = end + 1 + size + 1
    return sorted(files)


def version_of(files: dict[str, bytes]) -> str:
    text = files["include/zeropoint/version.hpp"].decode()
    return ".".join(re.search(rf"ZEROPOINT_VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def problems(files: dict[str, bytes], version: str) -> list[str]:
    """Why a commit is not ready to be released as that version."""
    found = []
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", files["CHANGELOG.md"].decode(), re.MULTILINE):
        found.append(f"CHANGELOG.md: expected a section \"## [{version}] - <date>\", found none: name [Unreleased] so")
    if f"\nversion: {version}\n" not in files["CITATION.cff"].decode():
        found.append(f"CITATION.cff: expected \"version: {version}\"")
    return found


def make_tar(files: list[tuple[str, int, bytes]], folder: str, seconds: int) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, mode, content in files:
            entry = tarfile.TarInfo(f"{folder}/{path}")
            entry.size, entry.mode, entry.mtime = len(content), mode, seconds
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(made.getvalue(), compresslevel=9, mtime=0)


def make_zip(files: list[tuple[str, int, bytes]], folder: str, seconds: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, mode, content in files:
            entry = zipfile.ZipInfo(f"{folder}/{path}", time.gmtime(max(seconds, calendar.timegm((1980, 1, 1, 0, 0, 0))))[:6])
            entry.create_system, entry.external_attr, entry.compress_type = 3, (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return made.getvalue()


def make_archives(repository: pathlib.Path, commit: str, draft: bool) -> dict[str, bytes]:
    """The files of a release by name."""
    files = files_of(repository, commit)
    by_path = {path: content for path, _, content in files}
    version = version_of(by_path)
    wrong = [] if draft else problems(by_path, version)
    if wrong:
        raise SystemExit("\n".join(wrong))
    seconds = int(git(repository, "log", "-1", "--format=%ct", commit))
    folder = f"zeropoint-{version}"
    made = {f"{folder}.tar.gz": make_tar(files, folder, seconds), f"{folder}.zip": make_zip(files, folder, seconds)}
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in made.items())
    return {**made, "SHA256SUMS": sums.encode()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--draft", action="store_true", help="also where the changelog has no date yet")
    parser.add_argument("--twice", action="store_true", help="from two clones, and compare; writes nothing")
    options = parser.parse_args()
    if options.twice:
        commit = git(ROOT, "rev-parse", options.commit).decode().strip()
        made = []
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                clone = pathlib.Path(folder) / "clone"
                subprocess.run(["git", "clone", "--quiet", "--no-local", "--no-checkout", ROOT, clone], check=True)
                git(clone, "fetch", "--quiet", "origin", commit)
                made.append(make_archives(clone, commit, True))
            time.sleep(1.1)  # another second on the clock: a time in an archive would show
        same = made[0] == made[1]
        print(made[0]["SHA256SUMS"].decode() + ("the same from two clones" if same else "two clones give other bytes"))
        return 0 if same else 1
    options.output.mkdir(parents=True, exist_ok=True)
    for name, content in make_archives(ROOT, options.commit, options.draft).items():
        (options.output / name).write_bytes(content)
        print(f"{options.output / name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
