# SPDX-License-Identifier: BSD-3-Clause
"""Energy of the processor by RAPL, where Linux lets a program read its counters."""
import pathlib

POWERCAP = pathlib.Path("/sys/class/powercap")


class Counter:
    """Joules of all processor packages. Counters wrap around; between two readings at most once."""
    def __init__(self, root: pathlib.Path = POWERCAP):
        self.folders, self.reason = [], f"no package of a processor in {root}"
        for folder in sorted(root.glob("*-rapl:*")) if root.is_dir() else []:
            try:
                if not (folder / "name").read_text().startswith("package"):
                    continue
                (folder / "energy_uj").read_text()
                self.folders.append(folder)
            except OSError as error:
                self.reason = f"{error.filename}: {error.strerror}"
        self.ranges = [int((folder / "max_energy_range_uj").read_text()) for folder in self.folders]

    def read(self) -> list[int]:
        """Microjoules of each package."""
        return [int((folder / "energy_uj").read_text()) for folder in self.folders]

    def joules(self, before: list[int], after: list[int]) -> float:
        return sum((b - a) % (size + 1) for a, b, size in zip(before, after, self.ranges)) * 1e-6


def of_calls(contenders: list, seconds_of: dict[str, float], seconds: float, counter: Counter | None = None) -> dict[str, float]:
    """Joules of a call, the least of three stretches, of the whole package: what others on the machine and an idle processor take is
    in it. Counters advance a thousand times a second, so a stretch is a twentieth of a second or more. Empty where nothing can be
    read."""
    counter = counter or Counter()
    if not counter.folders:
        return {}
    least = {}
    for _ in range(3):
        for one in contenders:
            calls = max(1, round(max(0.05, seconds / 30) / seconds_of[one.name]))
            one.run(1)
            before = counter.read()
            one.run(calls)
            taken = counter.joules(before, counter.read()) / calls
            least[one.name] = min(taken, least.get(one.name, taken))
    return least
