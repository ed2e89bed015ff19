#!/usr/bin/env python3
"""Compiles the tile kernels for every architecture, disassembles them and checks their inner loops.

    scripts/architectures/audit.py [--only neon64,avx2+fma] [--markdown FILE]

Of the innermost loop that multiplies: whether it holds the instruction that the architecture is there for, how many
instructions it takes for 64 multiply-accumulates, which must be at most 15 % above the best design that DESIGNS argues
for, and whether it reads or writes the stack, which would be a spilled register. For GCC and Clang, whichever the
targets of targets.py have. Nothing is run: any machine with the compilers will do.
"""
import argparse
import dataclasses
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from designs import DESIGNS, Design
from targets import COMPILERS, TARGETS, Compiler, Target

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCE = pathlib.Path(__file__).with_name("micro_kernels.cpp")
ALLOWED = 1.15
OBJDUMPS = ("llvm-objdump-19", "llvm-objdump-20", "llvm-objdump")


@dataclasses.dataclass(frozen=True)
class Instruction:
    address: int
    name: str
    operands: str


@dataclasses.dataclass(frozen=True)
class Loop:
    instructions: tuple[Instruction, ...]
    multiplications: int

    def on_the_stack(self) -> list[Instruction]:
        return [i for i in self.instructions if STACK.search(i.operands)]


# The stack pointer, or a frame pointer, inside a memory operand.
STACK = re.compile(r"\(%rsp[,)]|\[(sp|x29|r7|r11)\b|\b-?\d+\((sp|s0|1|31)\)|\(%r1[15]\)|global\.get.*__stack_pointer")
JUMPS = re.compile(r"^(j\w+|b|b\.\w+|bne|beq|bhs|blo|bcs|bcc|bhi|bls|bl[te]u?|bg[te]u?|b[ln]ez|bgtz|bdnz\+?|bc|b\w{1,3}\.w|cbn?z|tbn?z|"
                   r"brct\w*|br\w*|c\w*j\w*|bnez|beqz|bltu|bgeu|blt|bge|b[nl]e|bgt|subs)$")


def disassemble(objdump: str, program: pathlib.Path) -> dict[str, list[Instruction]]:
    text = subprocess.run([objdump, "-d", "--no-show-raw-insn", "--no-leading-headers", str(program)],
                          check=True, capture_output=True, text=True).stdout
    functions: dict[str, list[Instruction]] = {}
    current: list[Instruction] = []
    for line in text.splitlines():
        if head := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            current = functions.setdefault(head[1], [])
        elif found := re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)", line):
            operands = re.sub(r"\s+", " ", found[3].split(" <")[0].split("//")[0].strip())
            if found[2].startswith("{"):  # a prefix of the assembler's, not an instruction
                current.append(Instruction(int(found[1], 16), *operands.split(" ", 1)))
            else:
                current.append(Instruction(int(found[1], 16), found[2], operands))
    return functions


def loops_of(function: list[Instruction], design: Design, raw: list[Instruction]) -> list[Loop]:
    """Innermost loops with a multiplication, in WASM from `loop` to `end`, elsewhere by jumps backwards."""
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
    else:
        places = {i.address: n for n, i in enumerate(function)}
        for n, i in enumerate(function):
            targets = re.findall(r"0x([0-9a-f]+)", i.operands)
            if targets and (begin := places.get(int(targets[-1], 16))) is not None and begin <= n and is_jump(i):
                ranges.append((begin, n))
    innermost = [r for r in ranges if not any(o != r and r[0] <= o[0] and o[1] <= r[1] for o in ranges)]
    pattern = re.compile(design.instruction)
    loops = []
    for begin, end in innermost:
        body = tuple(function[begin:end + 1])
        count = sum(bool(pattern.match(f"{i.name} {i.operands}")) for i in body)
        if count:
            loops.append(Loop(body, count))
    return loops


def is_jump(i: Instruction) -> bool:
    return bool(re.match(r"(j|b|cb|tb|c\w*j|loop)", i.name)) and not i.name.startswith(("bt", "bz", "bsw", "bls", "bic", "bfi", "bit"))


def counted(loop: Loop) -> int:
    """WASM is a stack machine: what only moves locals is no instruction of the machine that runs it."""
    return sum(not re.match(r"local\.|end|loop|block|nop", i.name) for i in loop.instructions)


def best_loop(loops: list[Loop]) -> Loop | None:
    return max(loops, key=lambda loop: loop.multiplications, default=None)


@dataclasses.dataclass
class Row:
    target: str
    compiler: str
    format: str
    instruction: str = "-"
    per_64: float = 0
    best: float = 0
    problem: str = ""


def flags_for(target: Target, compiler: Compiler) -> list[str]:
    return ["-std=c++20", "-O2", *compiler.flags, *target.flags]


def audit(target: Target, name: str, compiler: Compiler, command: list[str], includes: list[str], folder: pathlib.Path,
          objdump: str) -> list[Row]:
    rows = [Row(target.name, name.split()[0], design.format, best=design.best) for design in DESIGNS[target.name]]
    program = folder / "kernels.o"
    done = subprocess.run([*command, *flags_for(target, compiler), *includes, "-c", str(SOURCE), "-o", str(program)],
                          capture_output=True, text=True)
    if done.returncode != 0:
        for row in rows:
            row.problem = "does not compile: " + (re.findall(r".*error.*", done.stderr) or [done.stderr])[0][:300]
        return rows
    functions = disassemble(objdump, program)
    for row, design in zip(rows, DESIGNS[target.name]):
        mine = [body for symbol, body in functions.items() if "multiply_tile" in symbol and design.format in symbol]
        loop = best_loop([loop for body in mine for loop in loops_of(body, design, body)])
        if loop is None:
            row.problem = f"no loop of multiply_tile<{design.format}> holds {design.instruction}"
            continue
        first = next(i for i in loop.instructions if re.match(design.instruction, f"{i.name} {i.operands}"))
        row.instruction = first.name
        row.per_64 = counted(loop) * 64 / (loop.multiplications * design.products)
        if loop.on_the_stack():
            worst = loop.on_the_stack()[0]
            row.problem = f"{len(loop.on_the_stack())} accesses of the stack: {worst.name} {worst.operands}"
        elif row.per_64 > design.best * ALLOWED:
            row.problem = f"{row.per_64 / design.best:.2f} of the best design: {design.why}"
    return rows


def compilers_for(target: Target) -> list[tuple[str, Compiler]]:
    """GCC and Clang for the target's instruction set, whichever there are."""
    machine = target.compiler.split(" ", 1)[-1]
    return [(name, one) for name, one in COMPILERS.items() if name.split(" ", 1)[-1] == machine]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include-flags", help="response file with -I flags of the library; default: the newest in build/")
    parser.add_argument("--only", default="", help="comma-separated names of targets.py")
    parser.add_argument("--markdown", help="also write the table to this file")
    options = parser.parse_args()
    objdump = next(filter(None, map(shutil.which, OBJDUMPS)), None)
    if objdump is None:
        parser.error(f"none of {', '.join(OBJDUMPS)} is installed")
    include_flags = options.include_flags
    if include_flags is None:
        found = sorted(ROOT.glob("build/*/include_flags.txt"), key=lambda file: file.stat().st_mtime)
        if not found:
            parser.error("no build/*/include_flags.txt: configure first, with cmake --preset test")
        include_flags = str(found[-1])
    includes = pathlib.Path(include_flags).read_text(encoding="utf-8").split()
    only = set(filter(None, options.only.split(",")))

    rows: list[Row] = []
    print(f"{'architecture':<26}{'compiler':<12}{'kernel':<14}{'instruction':<28}{'per 64':>8}{'best':>8}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for target in TARGETS:
            if target.name not in DESIGNS or only and target.name not in only:
                continue
            for name, compiler in compilers_for(target):
                if (command := compiler.find()) is None:
                    rows.append(Row(target.name, name, "-", problem=f"none of {', '.join(compiler.commands)} is installed"))
                    print_row(rows[-1])
                    continue
                for row in audit(target, name, compiler, command, includes, pathlib.Path(folder), objdump):
                    rows.append(row)
                    print_row(row)
    if options.markdown:
        write_markdown(pathlib.Path(options.markdown), rows)
    failed = [row for row in rows if row.problem]
    print(f"{len(rows)} loops, {len(failed)} failed")
    return 1 if failed or not rows else 0


def print_row(row: Row) -> None:
    ratio = f"{row.per_64 / row.best:.2f}" if row.best and row.per_64 else "-"
    print(f"{row.target:<26}{row.compiler:<12}{row.format:<14}{row.instruction:<28}{row.per_64:8.2f}{row.best:8.2f}{ratio:>7}",
          flush=True)
    if row.problem:
        print("    " + row.problem, flush=True)


def write_markdown(path: pathlib.Path, rows: list[Row]) -> None:
    lines = ["| architecture | compiler | kernel | instruction | instructions for 64 products | best design | ratio |",
             "|---|---|---|---|--:|--:|--:|"]
    for row in rows:
        lines.append(f"| {row.target} | {row.compiler} | {row.format} | `{row.instruction}` | {row.per_64:.2f} | "
                     f"{row.best:.2f} | {row.per_64 / row.best if row.best else 0:.2f} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
