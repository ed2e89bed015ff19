#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compiles the tile kernels for every architecture, disassembles them and checks their inner loops.

    scripts/architectures/audit.py [--only neon64,avx2+fma]
    scripts/architectures/audit.py --update docs/architectures.md     writes the table there
    scripts/architectures/audit.py --check docs/architectures.md      fails where that table is another
    scripts/architectures/audit.py --check docs/architectures.md --in-turn      what CI runs: where its rows of a third of the architectures
                                                                      are others; of all, where a kernel has changed

Beside them cells of depthwise convolutions, transforms, epilogues and tables, where designs.py has what these should take.

Of the innermost loop that multiplies: whether it holds the instruction that the architecture is there for, how many
instructions it takes for 64 multiply-accumulates, which must be at most 15 % above the best design that designs.py
argues for, and whether it stores anything or reads the stack, which would be a spilled register. For GCC and Clang,
whichever targets.py has for an instruction set. Nothing is run: any machine with the compilers will do.
"""
import argparse
import concurrent.futures
import dataclasses
import difflib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from designs import DESIGNS, PIECES, Design, Piece
from pages import with_table
from targets import COMPILERS, TARGETS, Compiler, Target

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import changes  # noqa: E402
import include_flags  # noqa: E402

SOURCE = pathlib.Path(__file__).with_name("micro_kernels.cpp")
ALLOWED = 1.15
TURNS = 3  # runs of --in-turn that take all architectures
KERNELS = "include/zeropoint/kernel/"
OBJDUMPS = ("llvm-objdump-19", "llvm-objdump-20", "llvm-objdump")
# Objects whose jumps are not left to the linker.
OBJECT_FLAGS = {"riscv64": ["-mno-relax"]}
# objdump knows an instruction set's extensions from the object, or it has to be told. Of WASM's it knows none with an
# opcode above 255: these are told by their bytes.
OBJDUMP_FLAGS = {"s390x": ["--mcpu=z14"]}
WASM_OPCODES = {"fd 93 02": "i32x4.relaxed_dot_i8x16_i7x16_add_s"}


@dataclasses.dataclass(frozen=True)
class Instruction:
    address: int
    name: str
    operands: str

    def __str__(self) -> str:
        return f"{self.name} {self.operands}"


# Where memory is written, by instruction set: none of these begins the name of anything else that loops hold.
STORES = {
    "x86_64": r"v?mov\S* [^()]*, \S*\(.*\)$",
    "aarch64": r"st", "armv7l": r"(v?st|push)",
    "riscv64": r"(s[bhwd]|vs[es]\d\S*|vs\dr\S*) ", "ppc64le": r"st", "s390x": r"(st|vst|mvc|mvg)",
    "wasm": r"\S*\.store",
}
# The stack pointer inside a memory operand, or one that a frame pointer was made from.
STACK_POINTERS = {
    "x86_64": "%rsp", "aarch64": "sp", "armv7l": "sp", "riscv64": "sp", "ppc64le": "1", "s390x": "%r15",
    "wasm": "__stack_pointer",
}
FRAME_POINTERS = {
    "x86_64": r"movq %rsp, (%rbp)", "aarch64": r"(?:(?:mov|add) (?=x29)|addvl )(x\d+), sp", "armv7l": r"(?:mov|add) (r7|r11), sp",
    "riscv64": r"addi (s0), sp", "ppc64le": r"mr (31), 1$", "s390x": r"lgr (%r11), %r15",
}


def memory_through(register: str) -> re.Pattern[str]:
    """Instructions that address memory by a register: in brackets, or by two registers as POWER's indexed loads do."""
    name = re.escape(register)
    return re.compile(rf".*(\(|\[|, ?){name}(\)|\]|,[^()]*\)|, [^\]]*\])|l\w+x \d+, (\d+, )?{name}(,|$)")


@dataclasses.dataclass(frozen=True)
class Loop:
    instructions: tuple[Instruction, ...]
    multiplications: int

    def spills(self, machine: str, function: list[Instruction]) -> list[Instruction]:
        """Instructions that store, or that read the stack."""
        pointers = [STACK_POINTERS[machine]]
        if pattern := FRAME_POINTERS.get(machine):
            pointers += [found[1] for i in function if (found := re.match(pattern, str(i)))]
        through = [memory_through(pointer) for pointer in pointers]
        return [i for i in self.instructions
                if re.match(STORES[machine], str(i)) or any(stack.match(str(i)) for stack in through)]

    def counted(self) -> int:
        """WASM is a stack machine: what only moves locals and constants is no instruction of the machine that runs it."""
        return sum(not re.match(r"local\.|i32\.const|end|loop|block|nop", i.name) for i in self.instructions)


def disassemble(objdump: str, machine: str, program: pathlib.Path) -> dict[str, list[Instruction]]:
    flags = OBJDUMP_FLAGS.get(machine, []) + ([] if machine == "wasm" else ["--no-show-raw-insn"])
    text = subprocess.run([objdump, "-d", *flags, "--no-leading-headers", str(program)], check=True, capture_output=True,
                          text=True).stdout
    if machine == "wasm":
        text = re.sub(r"(?m)^(\s*[0-9a-f]+:) ((?:[0-9a-f]{2} ?)+)\s+(\S+)",
                      lambda line: f"{line[1]} {WASM_OPCODES.get(line[2].strip(), line[3])}", text)
    functions: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in text.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            current = functions.setdefault(head[1], [])
        elif found := re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            address, name = int(found[1], 16), found[2]
            operands = re.sub(r"\s+", " ", re.split(r" <|//|# ", found[3])[0].strip())
            if name.startswith("{"):  # a prefix of the assembler's, not an instruction
                name, operands = (operands.split(" ", 1) + [""])[:2]
            current.append(Instruction(address, name, operands))
    return functions


def ranges_of_loops(function: list[Instruction]) -> list[tuple[int, int]]:
    """First and last index: in WASM from `loop` to `end`, elsewhere of jumps backwards."""
    ranges = []
    if any(i.name == "loop" for i in function):
        open_blocks: list[tuple[str, int]] = []
        for n, i in enumerate(function):
            if i.name in ("loop", "block", "if", "try"):
                open_blocks.append((i.name, n))
            elif i.name.startswith("end") and open_blocks:
                kind, begin = open_blocks.pop()
                if kind == "loop":
                    ranges.append((begin, n))
        return ranges
    places = {i.address: n for n, i in enumerate(function)}
    for n, i in enumerate(function):
        targets = re.findall(r"0x([0-9a-f]+)", i.operands)
        if targets and is_jump(i) and (begin := places.get(int(targets[-1], 16))) is not None and begin <= n:
            ranges.append((begin, n))
    return ranges


def is_jump(i: Instruction) -> bool:
    return bool(re.match(r"(j|b|cb|tb|c\w*j|loop)", i.name)) and not re.match(r"b(t|z|sw|ic|fi|it|extr|lsi|lsr)", i.name)


def loops_of(function: list[Instruction], instruction: str) -> list[Loop]:
    """Innermost loops with such an instruction."""
    ranges = ranges_of_loops(function)
    pattern = re.compile(instruction)
    loops = []
    for begin, end in ranges:
        if any(o != (begin, end) and begin <= o[0] and o[1] <= end for o in ranges):
            continue
        body = tuple(function[begin:end + 1])
        if count := sum(bool(pattern.match(str(i))) for i in body):
            loops.append(Loop(body, count))
    return loops


@dataclasses.dataclass
class Row:
    target: str
    compiler: str  # its kind: gcc, clang, emscripten
    design: Design | Piece
    instruction: str = "-"
    per_64: float = 0
    problem: str = ""

    @property
    def ratio(self) -> float:
        return self.per_64 / self.design.best

    def __str__(self) -> str:
        line = (f"{self.target:<26}{self.compiler:<12}{self.design.format:<15}{self.instruction:<28}{self.per_64:8.2f}"
                f"{self.design.best:8.2f}{self.ratio:7.2f}")
        return line + (f"\n    {self.problem}" if self.problem else "")


def audit(target: Target, name: str, compiler: Compiler, includes: list[str], objdump: str) -> list[Row]:
    rows = [Row(target.name, name.split()[0], design) for design in (*DESIGNS[target.name], *PIECES.get(target.name, ()))]

    def failed(problem: str) -> list[Row]:
        for row in rows:
            row.problem = problem
        return rows

    if (command := compiler.find()) is None:
        return failed(f"none of {', '.join(compiler.commands)} is installed")
    machine = compiler.machine or "wasm"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "kernels.o"
        flags = ["-std=c++20", "-O2", *compiler.flags, *target.flags, *OBJECT_FLAGS.get(machine, [])]
        done = subprocess.run([*command, *flags, *includes, "-c", str(SOURCE), "-o", str(program)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return failed("does not compile: " + (re.findall(r".*error.*", done.stderr) or [done.stderr])[0][:300])
        functions = disassemble(objdump, machine, program)
    for row in rows:
        if isinstance(row.design, Piece):
            measure_piece(row, machine, functions)
            continue
        found = [(loop, body) for symbol, body in functions.items()
                 if row.design.function in symbol and row.design.format in symbol for loop in loops_of(body, row.design.instruction)]
        if not found:
            row.problem = f"no loop of {row.design.function}<{row.design.format}> holds {row.design.instruction}"
            continue
        loop, function = max(found, key=lambda one: one[0].multiplications)
        row.instruction = next(i.name for i in loop.instructions if re.match(row.design.instruction, str(i)))
        row.per_64 = loop.counted() * 64 / (loop.multiplications * row.design.products)
        if spills := loop.spills(machine, function):
            row.problem = f"{len(spills)} spills: {'; '.join(map(str, spills[:4]))}"
        elif any(i.name == "<unknown>" for i in loop.instructions):
            row.problem = f"{objdump} does not know all of its instructions"
        elif row.ratio > ALLOWED:
            row.problem = f"{row.ratio:.2f} of the best design: {row.design.why}"
    return rows


def measure_piece(row: Row, machine: str, functions: dict[str, list[Instruction]]) -> None:
    piece = row.design
    for pattern, without, a_pass, times in piece.loops:
        found = [(loop.counted() * a_pass / loop.multiplications, loop, body) for symbol, body in functions.items()
                 if re.search(piece.function, symbol) for loop in loops_of(body, pattern)
                 if not any(re.match(without, str(i)) for i in loop.instructions)]
        if not found:
            row.problem = f"no loop of {piece.function} holds {pattern}"
            return
        count, loop, body = min(found, key=lambda one: one[0])
        row.per_64 += count * times
        pointers = [memory_through(STACK_POINTERS[machine])]
        spills = [i for i in loop.instructions if any(p.match(str(i)) for p in pointers) and re.search(r"%[xyz]mm", str(i))]
        if spills and not piece.uses_stack:
            row.problem = f"{len(spills)} spills: {'; '.join(map(str, spills[:4]))}"
    row.instruction = ""
    if not row.problem and row.ratio > piece.allowed:
        row.problem = f"{row.ratio:.2f} of the best design: {piece.why}"


def compilers_for(target: Target) -> list[tuple[str, Compiler]]:
    """GCC and Clang for the target's instruction set, whichever there are."""
    machine = target.compiler.split(" ", 1)[-1]
    return [(name, one) for name, one in COMPILERS.items() if name.split(" ", 1)[-1] == machine]


def markdown(rows: list[Row], kind: type) -> str:
    """A table, of tiles or of pieces: both compilers side by side, and for each the ratio to the best design."""
    cells: dict[tuple[str, str, str], dict[str, Row]] = {}  # an architecture may have two tiles of one format
    for row in rows:
        if isinstance(row.design, kind):
            cells.setdefault((row.target, row.design.format, row.design.why), {})[row.compiler] = row
    lines = ["| architecture | kernel | instruction | best | GCC | Clang | the best: rows x channels x depth, instructions |",
             "|---|---|---|--:|--:|--:|---|"] if kind is Design else \
        ["| architecture | piece | best | GCC | Clang | the best: of what, instructions |", "|---|---|--:|--:|--:|---|"]
    for (target, kernel, _), by_compiler in cells.items():
        one = next(iter(by_compiler.values()))

        def figure(*compilers: str) -> str:
            row = next((by_compiler[name] for name in compilers if name in by_compiler), None)
            return f"{row.per_64:.{2 if kind is Design else 0}f}, {row.ratio:.2f}" if row else ""

        instruction, digits = (f" {one.instruction} |", 2) if kind is Design else ("", 0)
        lines.append(f"| {target} | {kernel} |{instruction} {one.design.best:.{digits}f} | {figure('gcc')} | "
                     f"{figure('clang', 'emscripten')} | {one.design.why} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include-flags", type=pathlib.Path, default=include_flags.newest("include_flags.txt"),
                        help="response file with -I flags of the library; default: the newest in build/")
    parser.add_argument("--only", default="", help="comma-separated names of targets.py")
    parser.add_argument("--update", type=pathlib.Path, metavar="PAGE", help="write the tables between <!-- audit --> and <!-- /audit -->, and between <!-- pieces --> and <!-- /pieces -->")
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE", help="fail where the table is not the page's")
    parser.add_argument("--in-turn", action="store_true", help="of --check: a third of the architectures, and all where a kernel has changed")
    changes.add_options(parser)
    parser.add_argument("--jobs", type=int, default=2, help="how many compilers at a time")
    options = parser.parse_args()
    objdump = next(filter(None, map(shutil.which, OBJDUMPS)), None)
    if objdump is None:
        parser.error(f"none of {', '.join(OBJDUMPS)} is installed")
    if options.include_flags is None:
        parser.error("no build/*/include_flags.txt: configure first, with cmake --preset test")
    only = set(filter(None, options.only.split(",")))
    if only and (options.update or options.check):
        parser.error("--update and --check take the whole table: not with --only")
    if options.in_turn and not options.check:
        parser.error("--in-turn is of --check")
    if unknown := only - DESIGNS.keys():
        parser.error(f"no designs for {', '.join(sorted(unknown))}")
    if options.in_turn:
        found = changes.find(options)
        names = [target.name for target in TARGETS if target.name in DESIGNS]
        only = set(names if any(file.startswith(KERNELS) for file in found.files) else names[found.turn % TURNS::TURNS])
        print(f"{len(only)} of {len(names)} architectures: {found.basis}")
    includes = options.include_flags.read_text(encoding="utf-8").split()

    rows: list[Row] = []
    print(f"{'architecture':<26}{'compiler':<12}{'kernel':<15}{'instruction':<28}{'per 64':>8}{'best':>8}{'ratio':>7}")
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        audits = [pool.submit(audit, target, name, compiler, includes, objdump)
                  for target in TARGETS if target.name in DESIGNS and (not only or target.name in only)
                  for name, compiler in compilers_for(target)]
        for done in audits:
            for row in done.result():
                rows.append(row)
                print(row, flush=True)
    failed = sum(bool(row.problem) for row in rows)
    print(f"{len(rows)} loops, {failed} failed")
    if page := options.update or options.check:
        text = page.read_text(encoding="utf-8")
        if options.in_turn:
            made = [line for kind in (Design, Piece) for line in markdown(rows, kind).splitlines()]
            there = set(text.splitlines())
            for line in made:
                if line not in there:
                    print(f"{page} has another line: {line}")
                    failed += 1
            return 1 if failed or not rows else 0
        current = with_table(with_table(text, "audit", markdown(rows, Design)), "pieces", markdown(rows, Piece))
        if options.update:
            page.write_text(current, encoding="utf-8")
        elif text != current:
            print("".join(difflib.unified_diff(text.splitlines(True), current.splitlines(True), str(page), "this run", n=0)))
            print(f"{page} has another table: run scripts/architectures/audit.py --update {page}")
            failed += 1
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
