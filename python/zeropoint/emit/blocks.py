# SPDX-License-Identifier: BSD-3-Clause
"""Modules that occur more than once as class templates: what differs between them becomes their parameters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Iterator

from zeropoint.emit.types import Block, Part, Type, count_types, quoted
from zeropoint.layers import Argument, Code, Name, Number, Options

Hole = tuple[int, str, str]  # a number, its role, the name of its layer in its block
Member = tuple[Block, list[Hole]]
PREFIXES, OPPOSITES = {"depthwise", "plain"}, {"depthwise": "plain"}
ACTIVATIONS = {f"zp::{name}" for name in ("relu", "relu6", "silu", "gelu", "hardswish", "leaky_relu", "elu", "sigmoid")}
WEAK = {"conv", "block", "weight", "layers"}  # words of names that say nothing of a number
CONTAINERS = {"Sequential", "ModuleList", "ModuleDict", ""}
ROLES = {"out_channels": "Channels", "kernel": "Kernel", "stride": "Stride", "padding": "Padding", "groups": "Groups",
         "dilation": "Dilation", "epsilon_millionths": "EpsilonMillionths", "layers": "Layers"}
# Words of class names that no capital parts.
WHOLE = {"ReLU": "Relu", "NeXt": "Next", "ResNet": "Resnet", "DenseNet": "Densenet", "UNet": "Unet",
         "MobileNet": "Mobilenet", "EfficientNet": "Efficientnet", "ShuffleNet": "Shufflenet", "ViT": "Vit", "BN": "Norm",
         "Wav2Vec2": "Wav2vec2", "Conv1D": "Conv1d"}
# What a struct cannot be called: C++'s keywords, and the namespaces that headers speak of.
RESERVED = set("""alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double
    dynamic_cast else enum explicit export extern false float for friend goto if import inline int long module mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short signed
    sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq block std xsimd zp""".split())


@dataclass(eq=False)
class Template:
    """`template <zp::fixed_string Name, int Channels> struct basic_block : zp::sequential<...> {};`"""

    name: str
    parameters: list[tuple[str, int | None]]  # names, with their default
    parts: list[Part]                         # with Code where a parameter stands, names relative to Name
    repeats_of: "Template | None" = None
    comment: str = ""
    separator: str = "."  # of repeats: what stands between their name and a number


def snake_case(title: str) -> str:
    """A C++ name of a class of Python."""
    for word, whole in WHOLE.items():
        title = title.replace(word, whole)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z](?!\d))", "_", title)
    return re.sub(r"\W+", "_", name).lower().strip("_") or "net"


class Blocks:
    """All templates of one network, and the list of its layers that uses them."""

    def __init__(self, parts: list[Part]) -> None:
        self.templates: list[Template] = []
        self.taken: set[str] = set(RESERVED)
        self.repeats: dict[str, Template] = {}
        self.seen: dict[str, int] = defaultdict(int)  # by class, how many blocks there were
        self.first_form: dict[str, list[str]] = {}    # by class, the traits of the one that has its plain name
        self.pieces = Counter(block.path for block in blocks_in(parts))
        self.parts = self.resolve(parts)

    def resolve(self, parts: list[Part]) -> list[Part]:
        """Blocks become uses of templates, or their parts, from the innermost outwards."""
        is_whole = False
        while True:
            innermost = self.innermost(parts)
            if not innermost:
                whole = Block("", "", parts)
                if not is_whole and self.wrap(whole):
                    parts, is_whole = whole.parts, True
                    continue
                return self.with_repeats(parts)
            if any(self.wrap(block) for block in innermost):
                continue
            for block in innermost:
                block.parts = self.with_repeats(block.parts)
            replaced = self.replacements(innermost)
            parts = self.replace(parts, replaced)

    def innermost(self, parts: list[Part]) -> list[Block]:
        """Blocks without blocks inside."""
        found: list[Block] = []
        for part in parts:
            if isinstance(part, Block):
                inside = self.innermost(part.parts)
                found += inside or [part]
            else:
                for branch in part.branches:
                    found += self.innermost(branch)
        return found

    def replace(self, parts: list[Part], by: dict[int, list[Part]]) -> list[Part]:
        """Blocks by what they become."""
        made: list[Part] = []
        for part in parts:
            if isinstance(part, Block) and id(part) in by:
                inside = by[id(part)]
                if part.alias is not None:
                    inside[-1].alias = part.alias
                made += inside
                continue
            if isinstance(part, Block):
                part.parts = self.replace(part.parts, by)
            else:
                part.branches = [self.replace(branch, by) for branch in part.branches]
            made.append(part)
        return made

    def replacements(self, blocks: list[Block]) -> dict[int, list[Part]]:
        """A template for blocks alike, the parts themselves for all others."""
        alike: dict[tuple[str, Any], list[Member]] = defaultdict(list)
        made: dict[int, list[Part]] = {}
        for block in blocks:
            made[id(block)] = block.parts
            if self.pieces[block.path] > 1:  # the module's layers do not stand together: a part of it is not the module
                continue
            try:
                holes: list[Hole] = []
                key = tuple(skeleton(part, block.path, holes) for part in block.parts)
            except ValueError:
                continue
            alike[(block.cls, key)].append((block, holes))
        for (cls, _), members in alike.items():
            self.seen[cls] += len(members)
        worth = [(cls, members) for (cls, _), members in alike.items() if self.is_worth(cls, members)]
        names: dict[int, str] = {}
        for cls, members in sorted(worth, key=lambda form: -len(form[1])):
            names[id(members)] = self.unique(self.name_of(cls, members[0][0]))
        for cls, members in worth:
            self.make(cls, names[id(members)], members, made)
        return made

    def is_worth(self, cls: str, members: list[Member]) -> bool:
        """Whether a template says more than its layers would."""
        first = members[0][0]
        size = count_types(first.parts)
        if first.is_wrapped:
            return len(members) >= 3
        if cls in CONTAINERS:
            return len(members) >= 3 and size >= 2 and not any(self.is_own(part) for part in first.parts)
        return size >= 2 and (len(members) >= 2 or self.seen[cls] >= 2 and size >= 4)

    def is_own(self, part: Part) -> bool:
        """Whether a part uses a template made here."""
        return isinstance(part, Type) and not part.template.startswith("zp::")

    def make(self, cls: str, name: str, members: list[Member], made: dict[int, list[Part]]) -> None:
        """One template and its uses."""
        vectors = list(zip(*([hole[0] for hole in holes] for _, holes in members)))
        texts, chosen = parameters_of(vectors, members[0][1])
        first = members[0][0]
        parameters = [(parameter, default) for parameter, _, default in chosen]
        parts = [with_parameters(part, first.path, iter_of := iter(texts)) if number == 0 else
                 with_parameters(part, first.path, iter_of) for number, part in enumerate(first.parts)]
        comment = f"{cls}: " + ", ".join(block.path for block, _ in members) if cls else ""
        self.templates.append(Template(name, parameters, parts, comment=comment))
        for place, (block, _) in enumerate(members):
            args: list[Argument] = [Name(block.path)]
            args += [Number(vector[place], parameter, default) for parameter, vector, default in chosen]
            path = next((p.path for p in block.parts if isinstance(p, Type)), ())
            made[id(block)] = [Type(name, tuple(args), path=path)]

    def name_of(self, cls: str, block: Block) -> str:
        """Of the class; of forms that are used less often, with what they have and the first one has not."""
        if block.is_wrapped:
            return wrapped_name(block)
        if cls in CONTAINERS:
            return layers_name(block)
        plain = snake_case(cls)
        mine = traits(block)
        if cls not in self.first_form:
            self.first_form[cls] = mine
            return plain
        words = [word for word in mine if word not in self.first_form[cls]]
        words += [OPPOSITES.get(word, word.replace("with_", "without_")) for word in self.first_form[cls] if word not in mine]
        for count in (1, 2):
            for chosen in combinations(words, count):
                before = [word for word in chosen if word in PREFIXES]
                name = "_".join([*before, plain, *(word for word in chosen if word not in before)])
                if name not in self.taken:
                    return name
        return plain

    def unique(self, name: str) -> str:
        """One that no template has."""
        name = name if re.match(r"[a-z_]", name) else "block_" + name
        made, number = name, 1
        while made in self.taken:
            number += 1
            made = f"{name}_{number}"
        self.taken.add(made)
        return made

    def wrap(self, block: Block) -> bool:
        """Makes blocks of three and more joins of numbered modules, such as the layers of a dense block."""
        if block.is_wrapped or block.was_searched:
            return False
        block.was_searched = True
        stems = [stem_of_join(part) for part in block.parts]
        made: list[Part] = []
        i, has_wrapped = 0, False
        while i < len(stems):
            stem = stems[i]
            end = i + 1
            while stem is not None and end < len(stems) and stems[end] == (stem[0], stem[1] + end - i):
                end += 1
            if stem is None or end - i < 3:
                made.append(block.parts[i])
                i += 1
                continue
            for place in range(i, end):
                part = block.parts[place]
                made.append(Block(f"{stem[0]}{stem[1] + place - i}", "", [part], is_wrapped=True))
            i, has_wrapped = end, True
        block.parts = made
        return has_wrapped

    def with_repeats(self, parts: list[Part]) -> list[Part]:
        """Three and more uses of a template that differ in their number alone as one."""
        made: list[Part] = []
        i = 0
        while i < len(parts):
            end = i + 1
            part = parts[i]
            stem = numbered(part)
            while stem is not None and parts[end - 1].alias is None and end < len(parts) and numbered(parts[end]) is not None and \
                    numbered(parts[end])[0] == stem[0] and numbered(parts[end])[1] == stem[1] + end - i and \
                    parts[end].template == part.template and parts[end].args[1:] == part.args[1:]:  # type: ignore
                end += 1
            if stem is None or end - i < 3:
                part = parts[i]
                if isinstance(part, Type):
                    part.branches = [self.with_repeats(branch) for branch in part.branches]
                made.append(part)
                i += 1
                continue
            repeated = self.repeat(part, stem, end - i)  # type: ignore[arg-type]
            repeated.alias = parts[end - 1].alias  # its result is that of the last
            made.append(repeated)
            i = end
        return made

    def repeat(self, part: Type, stem: tuple[str, int], count: int) -> Type:
        """`basic_blocks<"layer1", 64, 1, std::make_integer_sequence<int, 5>>`"""
        of = next(t for t in self.templates if t.name == part.template)
        separator = "." if stem[0].endswith(".") else ""
        key = of.name + separator
        if key not in self.repeats:
            self.repeats[key] = Template(self.unique(plural(of.name)), of.parameters, [], repeats_of=of, separator=separator)
            self.templates.append(self.repeats[key])
        args = (Name(stem[0].removesuffix(".")), *part.args[1:], Number(stem[1], "First"), Number(count, "Count"))
        return Type(self.repeats[key].name, args, path=part.path, repeats=True)


def plural(name: str) -> str:
    """Of a template; the number of its form stays behind."""
    stem, number = re.fullmatch(r"(.*?)((?:_\d+)?)", name).groups()  # type: ignore[union-attr]
    return f"{stem}s{number}"


def blocks_in(parts: list[Part]) -> Iterator[Block]:
    """All, nested ones too."""
    for part in parts:
        if isinstance(part, Block):
            yield part
            yield from blocks_in(part.parts)
        else:
            for branch in part.branches:
                yield from blocks_in(branch)


def numbered(part: Part) -> tuple[str, int] | None:
    """The name of a use of a template that ends in a number."""
    if not isinstance(part, Type) or part.template.startswith("zp::") or part.repeats or part.branches:
        return None
    name = part.args[0]
    return stem_of(name.text) if isinstance(name, Name) else None


def stem_of(path: str) -> tuple[str, int] | None:
    """A path that ends in a number: what is in front of it, and the number."""
    match = re.fullmatch(r"(.*?\D)(0|[1-9]\d*)", path)
    return (match.group(1), int(match.group(2))) if match else None


def stem_of_join(part: Part) -> tuple[str, int] | None:
    """Of a layer of several branches all of whose names are in one numbered module."""
    if not isinstance(part, Type) or not part.branches or part.alias is not None or not part.template.startswith("zp::"):
        return None
    names = names_in(part)
    parts = [name.split(".") for name in names]
    common: list[str] = []
    for words in zip(*parts):
        if any(word != words[0] for word in words):
            break
        common.append(words[0])
    return stem_of(".".join(common)) if common else None


def names_in(part: Part) -> list[str]:
    """Of all parameters."""
    found = [arg.text for arg in part.args if isinstance(arg, Name)] if isinstance(part, Type) else []
    inside = part.parts if isinstance(part, Block) else [inner for branch in part.branches for inner in branch]
    return found + [name for inner in inside for name in names_in(inner)]


def wrapped_name(block: Block) -> str:
    """concat_dense_layer."""
    part = block.parts[0]
    assert isinstance(part, Type)
    inner = next((p.template for branch in part.branches for p in branch
                  if isinstance(p, Type) and not p.template.startswith("zp::")), "branches")
    return f"{part.template.removeprefix('zp::')}_{inner}"


def traits(block: Block) -> list[str]:
    """What tells forms of one class apart, as words of a name."""
    found: list[str] = []

    def visit(part: Part) -> None:
        assert isinstance(part, Type)
        for arg in part.args:
            fields = dict(arg.fields) if isinstance(arg, Options) else {}
            if isinstance(fields.get("groups"), Code):
                found.append("depthwise")
            if isinstance(fields.get("kernel"), tuple):
                found.append("x".join(map(str, fields["kernel"])))  # type: ignore[arg-type]
        if part.template in ("zp::residual", "zp::add", "zp::add_relu"):
            found.append("with_sum")
        elif part.template in ACTIVATIONS:
            found.append("with_" + part.template.removeprefix("zp::"))
        for branch in part.branches:
            for inner in branch:
                visit(inner)

    for part in block.parts:
        visit(part)
    found += ["with_" + re.sub(r"\W", "_", name) for name in children(block)]
    return list(dict.fromkeys(found))


def children(block: Block) -> list[str]:
    """The names of the modules inside, in order."""
    found: list[str] = []

    def visit(part: Part) -> None:
        if isinstance(part, Type):
            for arg in part.args:
                if isinstance(arg, Name) and arg.text.startswith(block.path + "."):
                    child = arg.text[len(block.path) + 1:].split(".")[0]
                    if child not in found:
                        found.append(child)
            for branch in part.branches:
                for inner in branch:
                    visit(inner)

    for part in block.parts:
        visit(part)
    return found


def layers_name(block: Block) -> str:
    """conv_norm_relu, of what a container has inside."""
    words = []
    for part in block.parts:
        word = part.template.removeprefix("zp::") if isinstance(part, Type) else ""
        word = re.sub(r"\d+d$", "", word).replace("batch_norm", "norm").replace("unfused_", "")
        words.append(word)
    return "_".join(words[:4]) or "part"


def relative(name: str, path: str) -> Code:
    """`Name + ".conv1"`. Raises ValueError for a name outside of the block."""
    if name == path:
        return Code("Name")
    if name == "":
        return Code('""')
    if not name.startswith(path + "."):
        raise ValueError(name)
    return Code(f"Name + {quoted(name[len(path):])}")


def skeleton(part: Part, path: str, holes: list[Hole]) -> Any:
    """A layer without its numbers, which go into holes, for comparing blocks."""
    if isinstance(part, Block):
        raise ValueError("a block inside")
    args: list[Any] = []
    where = next((arg.text[len(path):] for arg in part.args if isinstance(arg, Name) and arg.text.startswith(path)), "")
    for arg in part.args:
        if isinstance(arg, Name):
            args.append(relative(arg.text, path).text)
        elif isinstance(arg, Number):
            holes.append((arg.value, arg.role, where))
            args.append(None)
        elif isinstance(arg, Options):
            fields = []
            for key, value in arg.fields:
                if isinstance(value, int) and not isinstance(value, bool):
                    holes.append((value, key, where))
                    fields.append((key, None))
                else:
                    fields.append((key, value))
            args.append((arg.type, tuple(fields)))
        else:
            args.append(arg)
    branches = tuple(tuple(skeleton(inner, path, holes) for inner in branch) for branch in part.branches)
    alias = relative(part.alias.text, path).text if isinstance(part.alias, Name) else None
    return part.template, tuple(args), branches, part.repeats, alias


def parameters_of(vectors: list[tuple[int, ...]], holes: list[Hole]) -> \
        tuple[list[int | str], list[tuple[str, tuple[int, ...], int | None]]]:
    """For each hole a number or an expression of parameters; and the parameters with their values and defaults."""
    own: list[tuple[tuple[int, ...], Hole]] = []  # those that are no function of another
    for vector, hole in zip(vectors, holes):
        if len(set(vector)) != 1 and not any(expression(vector, v, role_name(h)) for v, h in own):
            own.append((vector, hole))
    names = parameter_names([hole for _, hole in own])
    plain = [(name, vector, 1 if hole[1] in ("stride", "Stride", "dilation", "groups", "Groups") and 1 in vector else None)
             for name, (vector, hole) in zip(names, own)]
    kernels = {name for name, (_, hole) in zip(names, own) if role_name(hole) == "Kernel"}
    texts: list[int | str] = []
    for vector in vectors:
        texts.append(vector[0] if len(set(vector)) == 1 else
                     next(found for name, v, _ in plain if (found := expression(vector, v, name, name in kernels))))
    plain.sort(key=lambda parameter: parameter[2] is not None)
    return texts, plain


def role_name(hole: Hole) -> str:
    """Channels, of out_channels."""
    role = hole[1]
    return ROLES.get(role, role if role[0].isupper() else role.title().replace("_", ""))


def parameter_names(holes: list[Hole]) -> list[str]:
    """Of the role, and where several have the same one, of the modules that they belong to: Branch1, Branch2_0."""
    roles = [role_name(hole) for hole in holes]
    names: list[str] = []
    for hole, role in zip(holes, roles):
        words = [word for word in re.split(r"\W+", hole[2]) if word]
        strong = [word for word in words if word not in WEAK]
        words = strong if strong and strong[0][0].isalpha() else words
        where = "_".join(word[0].upper() + word[1:] for word in words)
        name = role if roles.count(role) == 1 or not where[:1].isalpha() else where if role == "Channels" else where + role
        unique, number = name, 1
        while unique in names:
            number += 1
            unique = f"{name}{number}"
        names.append(unique)
    return names


def expression(vector: tuple[int, ...], known: tuple[int, ...], name: str, is_kernel: bool = False) -> str | None:
    """A vector of numbers as a simple function of a parameter's."""
    if vector == known:
        return name
    for factor in (2, 3, 4):
        if vector == tuple(factor * n for n in known):
            return f"{factor} * {name}"
    if (is_kernel or name == "Kernel") and vector == tuple(n // 2 for n in known):
        return f"{name} / 2"
    return None


def with_parameters(part: Part, path: str, texts: Any) -> Part:
    """The layer of a template's body."""
    assert isinstance(part, Type)
    args: list[Argument] = []
    for arg in part.args:
        if isinstance(arg, Name):
            args.append(relative(arg.text, path))
        elif isinstance(arg, Number):
            text = next(texts)
            args.append(Number(text, arg.role, arg.default) if isinstance(text, int) else Code(text))
        elif isinstance(arg, Options):
            fields = []
            for key, value in arg.fields:
                if isinstance(value, int) and not isinstance(value, bool):
                    text = next(texts)
                    value = text if isinstance(text, int) else Code(text)
                fields.append((key, value))
            defaults = tuple((key, None if isinstance(value, Code) and key != "groups" else default)
                             for (key, value), (_, default) in zip(fields, arg.defaults))
            args.append(Options(arg.type, tuple(fields), defaults))
        else:
            args.append(arg)
    branches = [[with_parameters(inner, path, texts) for inner in branch] for branch in part.branches]
    alias = relative(part.alias.text, path) if isinstance(part.alias, Name) else None
    return Type(part.template, tuple(args), branches, part.path, part.header, part.repeats, alias)
