# SPDX-License-Identifier: BSD-3-Clause
"""Packages of a Debian suite other than the system's own, unpacked into a folder: no root, nothing installed."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

KEYS = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class DebianError(RuntimeError):
    pass


def cache_folder() -> pathlib.Path:
    """Where downloads are kept between runs."""
    base = os.environ.get("ZEROPOINT_CACHE") or os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "zeropoint"


def mirror() -> str:
    """The Debian mirror that this machine's apt uses, that of its own release first."""
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(encoding="utf-8"), re.MULTILINE)
    lines = subprocess.run(["apt-get", "indextargets", "--no-release-info", "--format", "$(RELEASE) $(COMPONENT) $(REPO_URI)",
                            "Created-By: Packages"], capture_output=True, text=True).stdout.splitlines()
    found = [line.split() for line in lines if len(line.split()) == 3 and line.split()[1] == "main"]
    for name, _, uri in found:
        if release and name == release[1]:
            return uri
    raise DebianError("apt on this machine names no repository of its own release with a component 'main'")


class Suite:
    """A suite of the Debian archive, in an apt of its own."""

    def __init__(self, name: str, folder: pathlib.Path) -> None:
        self.folder = folder
        for sub in ("lists/partial", "cache/archives/partial", "sources", "debs"):
            (folder / sub).mkdir(parents=True)
        (folder / "status").touch()
        signed = f"Signed-By: {KEYS}\n" if KEYS.exists() else ""
        (folder / "sources" / "suite.sources").write_text(
            f"Types: deb\nURIs: {mirror()}\nSuites: {name}\nComponents: main\n{signed}")
        # Read after the system's configuration: its hooks and pins are not for this download, its proxies are.
        (folder / "apt.conf").write_text("".join(f"#clear APT::Update::{hook};\n" for hook in (
            "Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")) + "".join(f'{key} "{value}";\n' for key, value in {
                "Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": folder / "sources",
                "Dir::Etc::Preferences": "/dev/null", "Dir::Etc::PreferencesParts": "/dev/null", "Dir::State": folder,
                "Dir::State::Lists": folder / "lists", "Dir::State::Status": folder / "status",
                "Dir::Cache": folder / "cache", "Debug::NoLocking": "true", "APT::Sandbox::User": "",
                "APT::Install-Recommends": "0", "APT::Get::Assume-Yes": "1", "Acquire::Languages": "none",
                "Acquire::Retries": "3", "APT::Update::Error-Mode": "any"}.items()))
        self.apt("update")

    def apt(self, *arguments: str) -> str:
        done = subprocess.run(["apt-get", f"--config-file={self.folder / 'apt.conf'}", "-q", *arguments],
                              cwd=self.folder / "debs", capture_output=True, text=True)
        if done.returncode != 0:
            raise DebianError(f"apt-get {' '.join(arguments[:2])}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def with_dependencies(self, *packages: str) -> list[str]:
        """The packages that installing these on a bare system would bring."""
        return sorted(set(re.findall(r"^'\S+' ([^_ ]+)_", self.apt("install", "--print-uris", *packages), re.MULTILINE)))

    def unpack(self, packages: list[str], root: pathlib.Path, *tar_options: str) -> None:
        """Downloads and unpacks; names of Debian's files begin with './'."""
        root.mkdir(parents=True, exist_ok=True)
        self.apt("download", *packages)
        for archive in sorted((self.folder / "debs").glob("*.deb")):
            with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE) as package:
                done = subprocess.run(["tar", "-x", "-C", str(root), *tar_options], stdin=package.stdout, capture_output=True)
            if package.returncode != 0 or done.returncode != 0:
                raise DebianError(f"cannot unpack {archive.name}: {done.stderr.decode()[-500:]}")
            archive.unlink()


def whole(name: str, build) -> pathlib.Path:
    """The folder `name` of the cache, made by build(folder, temporary folder) if it is not there: whole, or not at all."""
    target = cache_folder() / name
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=target.parent) as temporary:
        folder = pathlib.Path(temporary) / "new"
        folder.mkdir()
        build(folder, pathlib.Path(temporary))
        try:
            folder.rename(target)
        except OSError:
            if not target.is_dir():  # another process was faster
                raise
    return target


def prepare(name: str, suite: str, build) -> pathlib.Path:
    """The folder `name` of the cache, made by build(suite, folder)."""
    return whole(name, lambda folder, temporary: build(Suite(suite, temporary / "apt"), folder))


def remove(name: str) -> None:
    shutil.rmtree(cache_folder() / name, ignore_errors=True)
