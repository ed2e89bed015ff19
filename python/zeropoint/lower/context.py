# SPDX-License-Identifier: BSD-3-Clause
"""What all lowerings share: values with their layouts, rows, the tensors of the file, problems."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from typing import Callable

import numpy as np

from zeropoint.errors import FOLLOWS, ImportRefused, Problem, Refused
from zeropoint.ir import Graph, Node, Origin, Value
from zeropoint.layers import Code, Layer, Name, Number, Row
from zeropoint.layout import Atoms, Layout
from zeropoint.registry import registers

Lowering = Callable[["Context", Node], None]
LOWERINGS: dict[str, Lowering] = {}
lowers = registers(LOWERINGS)
TAKE_INDICES = {"embedding", "reshape", "permute", "identity"}


@dataclass(eq=False)
class Val:
    """A value as it lies in memory. flat: the source made a vector of an image, which the next linear layer sees."""

    row: Row
    layout: Layout
    flat: bool = False


@dataclass
class Port:
    """An input or output of the model: its extents in the source, its shape here, and the order of axes between them.

    order: the axes of the source in the order of memory, those of extent 1 left out. below: of indices, the rows of the
    smallest table that they go into; parts: (first, rows) of each range of them, in the order of the source, where these go into several
    tables.
    """

    name: str
    extents: tuple[int, ...]
    shape: tuple[int, int, int]
    order: tuple[int, ...]
    is_integer: bool = False
    below: int = 0
    codes: str = ""  # int8, uint8: of an int8 network that takes or gives codes there
    note: str = ""   # of such codes: their scale and zero point
    parts: tuple[tuple[int, int], ...] = ()


@dataclass
class Lowered:
    """A network as rows, with all that its header and its file need."""

    rows: list[Row] = field(default_factory=list)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    moves: int = 0
    names: set[str] = field(default_factory=set)  # of layers without tensors
    shared: int = 0  # numbers that are written again, as layers of the source share them


class Context:
    """State of one lowering."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: dict[int, Val] = {}
        self.result = Lowered()
        self.problems: list[Problem] = []
        self.moved: dict[tuple, Row] = {}
        self.indices = {value.name: min(graph.tables(value), default=0) for value in graph.inputs if value.is_integer}
        self.masks = {value.name for value in graph.inputs if value.is_mask}
        self.weights: set[int] = set()  # that layers have
        self.op = ""  # of the node at hand
        self.origin = Origin("input")
        self.current: Value | None = None

    # Rows and values

    def row(self, layer: Layer | None, inputs: list[Row], shape: tuple[int, int, int], name: str = "",
            kind: str = "layer") -> Row:
        """Appends a row of the node at hand."""
        made = Row(layer, inputs, shape, self.origin, name, kind=kind, path=self.origin.modules)
        self.result.rows.append(made)
        return made

    def get(self, value: Value | None) -> Val:
        """The lowered form of a value that is computed."""
        if value is None:
            raise Refused("attribute", "an input is missing")
        if id(value) not in self.values:
            if value.data is not None:
                raise Refused("computed_operand", "a constant is where a computed value is expected")
            raise Refused(*FOLLOWS)
        val = self.values[id(value)]
        if val.row.kind == "input" and val.row.name in self.indices and self.op not in TAKE_INDICES:
            if val.row.name not in self.masks:
                raise Refused("value", f"the integers of the input {val.row.name} go into something else than an embedding, "
                                       "and are no mask of 0 and 1")
            return self.as_floats(val)
        return val

    def raw(self, value: Value) -> Val:
        """The same, of indices too."""
        return self.values[id(value)]

    def table_rows(self, value: Value) -> int:
        """How many rows the tables have that indices go into; 0 of anything else."""
        return self.indices[self.values[id(value)].row.name] if self.is_indices(value) else 0

    def is_indices(self, value: Value) -> bool:
        """Whether a value is the integers of an input."""
        val = self.values.get(id(value))
        return val is not None and val.row.kind == "input" and val.row.name in self.indices

    def as_floats(self, val: Val) -> Val:
        """The 0 and 1 of an input that is a mask."""
        key = ("mask", id(val.row))
        if key not in self.moved:
            layer = Layer("zp::attention_mask", (), "masked_softmax.hpp")
            self.moved[key] = self.row(layer, [val.row], (1, 1, val.row.shape[1]))
            self.moved[key].path = ()
        return Val(self.moved[key], val.layout.with_groups((), (), val.layout.memory))

    def expanded(self, val: Val, like: Layout) -> Val:
        """Repeated to all extents of a layout whose groups it has, or has nothing of."""
        if val.layout.shape == like.shape:
            return val
        layer = Layer("zp::expand", tuple(Number(n, "Extent") for n in like.shape), "permute.hpp")
        return Val(self.row(layer, [val.row], like.shape), like)

    def title_for(self, stem: str) -> str:
        """A name by which no other value is found."""
        taken = {name for row in self.result.rows for name in (row.title, row.name)}
        title, number = stem, 1
        while title in taken:
            number += 1
            title = f"{stem}_{number}"
        return title

    def put(self, node: Node, layer: Layer, inputs: list[Row], layout: Layout, name: str = "", output: int = 0) -> Row:
        """A row that gives an output of a node."""
        row = self.row(layer, inputs, layout.shape, name)
        self.set(node.outputs[output], Val(row, layout))
        return row

    def set(self, value: Value, val: Val) -> None:
        """Says how a value of the source lies in memory."""
        if val.layout.extents != value.shape:
            raise AssertionError(f"{value.name}: layout of {val.layout.extents}, shape {value.shape}")
        if val.row.value is None:
            val.row.value, val.row.layout = value, val.layout
        self.values[id(value)] = val

    # Parameters

    def data(self, value: Value | None, what: str) -> np.ndarray:
        """Of a constant."""
        if value is None or value.data is None:
            raise Refused("computed_operand", f"{what} is computed; it must be a constant")
        return value.data

    def name_for(self, value: Value | None, suffix: str = ".weight", bias: Value | None = None) -> str:
        """The name of a layer whose parameter this is, unique among all layers; of its bias where that alone has one."""
        name = value.name if value is not None else ""
        if value is not None and value.data is not None and self.op != "batch_norm":
            if id(value) in self.weights:
                self.result.shared += value.data.size
            self.weights.add(id(value))
        if is_made_up(name) and bias is not None and bias.name.endswith(".bias"):
            name, suffix = bias.name, ".bias"
        stem = name[: -len(suffix)] if suffix and name.endswith(suffix) else ""
        if not stem:
            stem = self.layer_path() if is_made_up(name) else name.replace("_weight", "").replace(".weight", "")
        return self.unique_name(stem)

    def linear_name(self, weight: Value | None, bias: Value | None) -> str:
        """The same of a matrix product, whose weight an exporter may have transposed under a name of its own."""
        if weight is not None and is_given(weight.name):
            return self.name_for(weight)
        outer = self.origin.name.rpartition(".")[0]
        if outer and all(path != outer for path, _ in self.origin.modules):  # the layer's own module
            return self.unique_name(outer)
        if bias is not None and is_given(bias.name) and bias.name.endswith("bias") and len(bias.name) > 5:
            return self.unique_name(bias.name[:-5])
        return self.unique_name(self.origin.name)

    def layer_path(self) -> str:
        """Of the module that the node at hand is, or its own name where it is a part of one."""
        path, _, _ = self.origin.name.rpartition(".")
        return path if path and path not in {held for held, _ in self.origin.modules} else self.origin.name

    def unique_name(self, stem: str) -> str:
        """A name that no layer has."""
        unique, number = stem, 1
        while unique in self.result.names or any(
                tensor == unique or tensor.startswith(unique + ".") and "." not in tensor[len(unique) + 1:]
                for tensor in self.result.tensors):
            number += 1
            unique = f"{stem}_{number}"
        return unique

    def tensor(self, name: str, data: np.ndarray) -> None:
        """A tensor of the file."""
        array = np.ascontiguousarray(data, dtype=np.float32)
        if not np.isfinite(array).all():
            raise Refused("value", f"the parameter {name} is not finite")
        self.result.tensors[name] = array

    # Places of axes

    def arrange(self, val: Val, height: Atoms, width: Atoms, channels: Atoms) -> Val:
        """The same value with these atoms in these places, by a row that moves it where that is needed."""
        before, after = val.layout, val.layout.with_groups(height, width, channels)
        if sorted(before.memory) != sorted(after.memory):
            raise Refused("axis", f"a value of {before.extents} does not fit height, width and channels here; "
                                  "the batch must be 1")
        if before.groups == after.groups or before.memory == after.memory and before.shape == after.shape:
            return Val(val.row, after, val.flat)
        place = {atom: i for i, atom in enumerate(after.memory)}
        key = (id(val.row), tuple(before.sizes[a] for a in before.memory), tuple(place[a] for a in before.memory),
               after.shape)
        if key not in self.moved:  # several may want it so
            row = val.row
            for step in steps_of(before, after):
                row = self.row(movement(before, step), [row], step.shape)
                before = step
                self.result.moves += 1
            self.moved[key] = row
        return Val(self.moved[key], after)

    def place(self, val: Val, height: tuple[int, ...] = (), width: tuple[int, ...] = (),
              channels: tuple[int, ...] = ()) -> Val:
        """The same by axes of the source."""
        axes = val.layout.axes
        return self.arrange(val, *(tuple(a for i in group for a in axes[i]) for group in (height, width, channels)))

    def innermost(self, val: Val, atoms: Atoms) -> Val:
        """With these atoms as channels, the others where they are if they can be."""
        layout = val.layout
        if layout.groups[2] == atoms:
            return val
        height, width, old = (tuple(a for a in group if a not in atoms) for group in layout.groups)
        if not width and old:
            return self.arrange(val, height, old, atoms)
        return self.arrange(val, height, width + old, atoms)

    def row_major(self, val: Val) -> Val:
        """As the source has it in memory, all of it as channels: what any reshape can cut. The row has that shape too, as what moves it
        next goes by the shape."""
        return self.arrange(val, (), (), val.layout.source)

    def finish(self) -> Lowered:
        """The result, or all problems at once."""
        if self.problems:
            raise ImportRefused(self.problems)
        return self.result


# What PyTorch's exporters call tensors that have no name in a state dict.
MADE_UP = re.compile(r"(onnx::|val_|/|_).*|(view|reshape|permute|transpose|t|mT|unsqueeze|squeeze|expand|mul|add|sub|div|rsub|cat|"
                     r"stack|slice|select|index|getitem|clone|to|arange|full|zeros|ones|where|pow|sqrt|rsqrt|sigmoid|exp|neg|"
                     r"softmax|as_strided|detach|lift_fresh_copy|copy|flatten|batch_norm|constant|repeat|roll|sum|mean)(_\d+)?")


def is_made_up(name: str) -> bool:
    """Whether a name says nothing of the source."""
    return not name or MADE_UP.fullmatch(name) is not None


def is_given(name: str) -> bool:
    """Whether a name is the source's."""
    return not is_made_up(name)


def movement(before: Layout, after: Layout) -> Layer:
    """The layer that takes one order of memory to another."""
    height, width, channels = after.shape
    if before.groups[2] + before.groups[0] + before.groups[1] == after.groups[2] + after.groups[0] + after.groups[1]:
        extents = (Number(height, "Height"), Number(width, "Width"), Number(channels, "Channels"))
        return Layer("zp::reshape", extents, "reshape.hpp")
    if before.groups[:2] == after.groups[:2] and len(before.groups[2]) == 2:
        return Layer("zp::channel_shuffle", (Number(before.sizes[before.groups[2][0]]),), "shuffle.hpp")
    places = ["zp::axis::height", "zp::axis::width", "zp::axis::channels"]
    filled = [i for i in range(3) if before.groups[i]]
    if all(after.groups[i] in before.groups for i in range(3)):
        order = [before.groups.index(group) if group else -1 for group in after.groups]
        free = [i for i in range(3) if i not in filled]
        order = [free.pop(0) if place == -1 else place for place in order]
        if sorted(order) == [0, 1, 2]:
            swapped = [i for i in range(3) if order[i] != i]
            if len(swapped) == 2:
                return Layer("zp::transpose", tuple(Code(places[i]) for i in swapped), "permute.hpp")
            return Layer("zp::permute", tuple(Code(places[order[i]]) for i in (2, 0, 1)), "permute.hpp")
    return rearrangement(before, after)


def runs_of(before: Atoms, after: Atoms) -> list[list[int]]:
    """Atoms that stay one behind the other, in the order of `before`."""
    runs: list[list[int]] = []
    place = {atom: i for i, atom in enumerate(after)}
    for atom in before:
        if runs and place[atom] == place[runs[-1][-1]] + 1:
            runs[-1].append(atom)
        else:
            runs.append([atom])
    return runs


MOST_AXES = 5  # of zp::rearrange


def steps_of(before: Layout, after: Layout) -> list[Layout]:
    """`after` alone, or with a layout in front of it where more axes move apart than one row can move."""
    runs = runs_of(before.memory, after.memory)
    if len(runs) <= MOST_AXES:
        return [after]
    if len(runs) > 8:
        raise Refused("axis", f"{len(runs)} axes move apart from each other")
    best: tuple[int, Atoms] | None = None
    for order in permutations(runs):
        between = tuple(atom for run in order for atom in run)
        counts = len(runs_of(before.memory, between)), len(runs_of(between, after.memory))
        if max(counts) <= MOST_AXES and (best is None or sum(counts) < best[0]):
            best = sum(counts), between
    if best is None:
        raise Refused("axis", f"{len(runs)} axes move apart from each other")
    return [before.with_groups((), (), best[1]), after]


def rearrangement(before: Layout, after: Layout) -> Layer:
    """zp::rearrange, over as few axes as there are."""
    runs = runs_of(before.memory, after.memory)
    place = {atom: i for i, atom in enumerate(after.memory)}
    extents = [before.size(tuple(run)) for run in runs]
    order = sorted(range(len(runs)), key=lambda i: place[runs[i][0]])
    windows = windows_of(extents, order, before.shape, after.shape)
    if windows is not None:
        return windows
    if len(runs) == 1:  # another shape of the same memory
        extents = [n for n in before.shape if n != 1]
        order = list(range(len(extents)))
    text = ", ".join(str(n) for n in after.shape)
    return Layer("zp::rearrange", (Code(f"zp::extents<{', '.join(map(str, extents))}>"),
                                   Code(f"zp::order<{', '.join(map(str, order))}>"), Code(f"zp::shape{{{text}}}")),
                 "rearrange.hpp")


def windows_of(extents: list[int], order: list[int], before: tuple[int, int, int],
               after: tuple[int, int, int]) -> Layer | None:
    """zp::window_partition or zp::window_reverse, where that is what a rearrangement does."""
    channels = before[2]
    if len(extents) != 4 or order != [0, 2, 1, 3] or extents[3] % channels or after[2] != channels:
        return None
    a, b, c, d = *extents[:3], extents[3] // channels
    if b == d and before == (a * b, c * d, channels) and after == (a * c, b * d, channels):
        return Layer("zp::window_partition", (Number(b, "Window"),), "rearrange.hpp")
    if c == d and before == (a * b, c * d, channels) and after == (a * c, b * d, channels):
        return Layer("zp::window_reverse", (Number(c, "Window"), Number(a * c, "Height"), Number(b * d, "Width")),
                     "rearrange.hpp")
    return None


def input_layouts(value: Value, batches: bool = False) -> list[Layout]:
    """Those that an input may have, the likeliest first."""
    rank, extents = len(value.shape), value.shape
    places = {4: [((2,), (3,), (1,)), ((1,), (2,), (3,))], 3: [((), (1,), (2,)), ((), (2,), (1,))],
              2: [((), (), (1,)), ((), (0,), (1,))], 1: [((), (), (0,))]}
    if batches or value.is_state:
        places |= {3: [*places[3], ((0,), (1,), (2,))], 4: [*places[4], ((0, 1), (2,), (3,))], 5: [((0, 1, 2), (3,), (4,))]}
    if value.is_integer:
        places = {count: [((), tuple(range(count)), ())] for count in range(1, 5)}
    layouts = []
    for height, width, channels in places.get(rank, []):
        layout = Layout.fresh(extents, height, width, channels)
        if len(layout.memory) == len(layout.source):
            layouts.append(layout)
    return layouts


def port_of(value: Value, layout: Layout) -> Port:
    """How a caller has to order the values of a tensor of the source."""
    whole = {axis: i for i, axis in enumerate(layout.axes) if axis}
    order: list[int] = []
    memory = list(layout.memory)
    while memory:
        axis = next((a for a in whole if list(a) == memory[:len(a)]), None)
        if axis is None:
            raise Refused("axis", "an input or output lies in memory as no order of its axes")
        order.append(whole[axis])
        memory = memory[len(axis):]
    return Port(value.name, value.shape, layout.shape, tuple(order), value.is_integer)


def lower(graph: Graph, batches: bool = False) -> Lowered:
    """The rows of a graph; of the orders that its inputs may have, those that need the fewest moves.

    batches: whether an input may have a first axis of more than 1, which most operators take as any other.
    Raises ImportRefused with all problems.
    """
    import zeropoint.lower.families  # noqa: F401  (registers all lowerings)

    if not batches:
        refuse_batches(graph)
    best: Lowered | None = None
    refused: ImportRefused | None = None
    for layouts in list(product(*(input_layouts(value, batches) for value in graph.inputs)))[:8]:
        try:
            lowered = lower_with(graph, list(layouts))
        except ImportRefused as problems:
            if refused is None or len(problems.problems) < len(refused.problems):
                refused = problems
            continue
        if best is None or lowered.moves < best.moves:
            best = lowered
        if lowered.moves == 0:
            break
    if best is not None:
        if best.shared:
            graph.notes.append(f"{best.shared:,} numbers are copies: layers of the source share them.")
        return best
    raise refused or ImportRefused([
        Problem("input", value.name, "axis", f"an input of {value.shape}: the batch must be 1, beside at most three axes"
                if value.shape else "an input of no axes: a number comes in as an array of one, of extents 1; where it is always the same, "
                f"import with --value {value.name}=NUMBER")
        for value in graph.inputs if not input_layouts(value, batches)])


def refuse_batches(graph: Graph) -> None:
    """Inputs of several at once."""
    problems = [Problem("input", value.name, "batch",
                        f"an input of {'x'.join(map(str, value.shape))}: the batch must be 1, as a call takes one input; "
                        "import with an example whose first extent is 1, or of ONNX with --input "
                        f"{'x'.join(map(str, (1, *value.shape[1:])))}")
                for value in graph.inputs if not input_layouts(value) and len(value.shape) in (3, 4) and value.shape[0] > 1]
    if problems:
        raise ImportRefused(problems)


def lower_with(graph: Graph, layouts: list[Layout]) -> Lowered:
    """The same for given layouts of the inputs."""
    from zeropoint.lower.attention import join_projections

    context = Context(graph)
    for value, layout in zip(graph.inputs, layouts):
        context.origin = Origin(value.name)
        row = context.row(None, [], layout.shape, value.name, "input")
        context.set(value, Val(row, layout))
        below = min(graph.tables(value), default=2 if value.is_mask else 0)
        parts = tuple(graph.table_parts(value)) if value.is_integer else ()
        context.result.inputs.append(replace(port_of(value, layout), below=below, parts=parts))
    for node in graph.nodes:
        context.origin, context.op = node.origin, node.op
        try:
            if node.why is not None:
                raise Refused(*node.why)
            if any(0 in value.shape for value in (*node.inputs, *node.outputs) if value is not None):
                raise Refused("value", "a value without elements: one of its extents is 0")
            function = LOWERINGS.get(node.op)
            if function is None:
                raise Refused("op", hint_of(node.op))
            function(context, node)
        except Refused as refused:
            fail(context, node, refused)
    for number, value in enumerate(graph.outputs):
        finish_output(context, value, number)
    join_projections(context.result)
    if not context.problems and not any(row.kind == "layer" for row in context.result.rows):
        context.problems.append(Problem("model", graph.title, "op", "nothing is computed: no node becomes a layer"))
    return context.finish()


HINTS = {"stft": "write the transform as a conv1d of constant bases, or give the model spectra",
         "cumsum": "sums up to each step; give them to the model as an input",
         "im2col": "windows that meet computed kernels",
         "grid_sample": "values at computed places"}


def hint_of(op: str) -> str:
    """What to do about an operator without a layer."""
    plain = op.removeprefix("aten.").split(".")[0].lower()
    extra = f" ({HINTS[plain]})" if plain in HINTS else ""
    return f"no layer computes this operator{extra}; cut the model in front of it, or write a zp::custom layer"


def fail(context: Context, node: Node, refused: Refused) -> None:
    """Keeps a problem, and goes on with a value of the right extents so that later ones are found too."""
    if (refused.reason, refused.text) != FOLLOWS:
        context.problems.append(Problem(node.attrs.get("kind", node.op) if node.op in ("unary", "binary") else node.op,
                                        node.origin.name, refused.reason, refused.text, node.origin.source))
    for out in node.outputs:
        extents = out.shape
        rank = len(extents)
        width = tuple(range(1, rank - 1)) if rank > 2 else ()
        layout = Layout.fresh(extents, (0,) if rank > 1 else (), width, (rank - 1,) if rank else ())
        context.values[id(out)] = Val(Row(None, [], layout.shape, node.origin), layout)


def finish_output(context: Context, value: Value, number: int) -> None:
    """The row of an output, in an order of axes that a caller can be told."""
    context.origin = Origin(value.name)
    if value.data is not None:
        context.problems.append(Problem("output", value.name, "value", "this output is a constant"))
        return
    if id(value) not in context.values:
        context.problems.append(Problem("output", value.name, "value", "nothing computes this output"))
        return
    context.op = "output"
    try:
        val = context.get(value)  # a mask comes out as 0 and 1
    except Refused as refused:
        context.problems.append(Problem("output", value.name, refused.reason, refused.text))
        return
    try:
        port = port_of(value, val.layout)
    except Refused:  # as the source has it in memory
        rank = len(value.shape)
        val = context.place(val, tuple(range(max(0, rank - 2))), tuple(range(max(0, rank - 2), rank - 1)), (rank - 1,))
        port = port_of(value, val.layout)
    taken = {other.name for other in (*context.result.inputs, *context.result.outputs)}
    wanted = names[number] if number < len(names := context.graph.output_names) and names[number] else value.name
    name = wanted or f"output_{number}"
    while name in taken:
        name, number = f"{wanted or 'output'}_{number}", number + 1
    context.result.outputs.append(replace(port, name=name, is_integer=False))  # whole numbers come out as floats
    row = context.row(Layer("zp::output", (Name(name),)), [val.row], val.layout.shape, name, "output")
    row.value, row.layout = value, val.layout
