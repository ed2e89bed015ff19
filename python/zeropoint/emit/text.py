# SPDX-License-Identifier: BSD-3-Clause
"""C++ text of types, in lines of at most 120 columns."""

from __future__ import annotations

from dataclasses import replace

from zeropoint.emit.blocks import Template
from zeropoint.emit.types import Part, Type, quoted
from zeropoint.layers import Argument, Code, Name, Number, Options

COLUMNS = 120
# Templates all of whose arguments have defaults: without any they are written with empty brackets.
WITH_DEFAULTS = {f"zp::{name}" for name in (
    "mean", "sum", "reduce_max", "reduce_min", "reduce_prod", "variance", "standard_deviation", "hardtanh", "leaky_relu",
    "softplus", "elu", "celu", "instance_norm")}


def field_text(value: object) -> str:
    """Of an option."""
    if isinstance(value, Code):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "{" + ", ".join(map(str, value)) + "}"
    return str(value)


def argument_text(arg: Argument) -> str:
    """Of a template argument."""
    if isinstance(arg, Name):
        return quoted(arg.text)
    if isinstance(arg, Number):
        return str(arg.value)
    if isinstance(arg, Code):
        return arg.text
    assert isinstance(arg, Options)
    fields = [f".{key} = {field_text(value)}" for (key, value), (_, default) in zip(arg.fields, arg.defaults)
              if value != default or isinstance(value, bool) != isinstance(default, bool)]
    return arg.type + "{" + ", ".join(fields) + "}"


def pieces(part: Part) -> tuple[str, list[str | Part]]:
    """A template and its arguments, branches of several layers as zp::sequential."""
    assert isinstance(part, Type)
    if part.alias is not None:
        return "zp::named", [argument_text(part.alias), replace(part, alias=None)]
    args = list(part.args)
    while args and isinstance(args[-1], Number) and args[-1].value == args[-1].default:
        args.pop()
    texts: list[str | Part] = [argument_text(arg) for arg in args]
    if part.repeats:
        texts[-1] = f"std::make_integer_sequence<int, {texts[-1]}>"
    if part.template == "zp::residual":
        return part.template, [*texts, *(part.branches[0] or ["zp::identity"])]
    for branch in part.branches:
        if not branch:
            texts.append("zp::identity")
        elif len(branch) == 1:
            texts.append(branch[0])
        else:
            texts.append(Type("zp::sequential", (), [[inner] for inner in branch]))
    return part.template, texts


def one_line(part: str | Part) -> str:
    """Without line breaks."""
    if isinstance(part, str):
        return part
    template, args = pieces(part)
    is_plain = not args and template not in WITH_DEFAULTS
    return template if is_plain else f"{template}<{', '.join(one_line(arg) for arg in args)}>"


def filled(items: list[str | Part], indent: int, last: str) -> list[str]:
    """Items separated by commas in lines that are full; those that do not fit into one are broken inside.

    last: what follows the last of them.
    """
    lines: list[str] = []
    current = ""
    pad = " " * indent
    for number, item in enumerate(items):
        end = "," if number + 1 < len(items) else last
        text = one_line(item) + end
        if current and len(pad) + len(current) + 1 + len(text) <= COLUMNS:
            current += " " + text
            continue
        if current:
            lines.append(pad + current)
            current = ""
        if len(pad) + len(text) <= COLUMNS or isinstance(item, str):
            current = text
            continue
        template, args = pieces(item)
        lines.append(f"{pad}{template}<")
        lines += filled(args, indent + 4, ">" + end)
    if current:
        lines.append(pad + current)
    return lines


def definition(head: str, base: str, items: list[str | Part]) -> str:
    """`struct name : base<items> {};`"""
    line = f"{head} : {base}<{', '.join(one_line(item) for item in items)}> {{}};"
    if len(line) <= COLUMNS:
        return line
    lines = filled(items, 8, "> {};")
    begin = f"    : {base}<"
    if isinstance(items[0], str) or len(begin) + len(one_line(items[0])) + 1 <= COLUMNS:
        lines = filled(items, len(begin), "> {};") if len(items) == 1 else lines
    if len(begin) + len(lines[0].strip()) <= COLUMNS and not lines[0].endswith("<"):
        return "\n".join([head, begin + lines[0].strip(), *lines[1:]])
    return "\n".join([head, begin, *lines])


def wrapped(begin: str, text: str) -> str:
    """A list of parameters in lines that are full."""
    lines, indent = [begin], " " * len(begin)
    for word in text.split(", "):
        if len(lines[-1]) + len(word) + 2 > COLUMNS:
            lines.append(indent)
        lines[-1] += ("" if lines[-1] in (begin, indent) else ", ") + word
    return ",\n".join(lines)


def template_text(template: Template) -> str:
    """A class template; of repeats the two that an index sequence needs."""
    names = ", ".join(f"int {name}" + (f" = {default}" if default is not None else "")
                      for name, default in template.parameters)
    begin = "zp::fixed_string Name" + (", " + names if names else "")
    if template.repeats_of is not None:
        plain = "".join(f", int {name}" for name, _ in template.parameters)
        dot = '"." + ' if template.separator == "." else ""
        passed = "".join(f", {name}" for name, _ in template.parameters)
        declared = f"template <zp::fixed_string Name{plain}, int First, class Places> struct {template.name};"
        if len(declared) > COLUMNS:
            declared = wrapped("template <", f"zp::fixed_string Name{plain}, int First, class Places>") + \
                f"\nstruct {template.name};"
        return (f"{declared}\n"
                f"{wrapped('template <', f'zp::fixed_string Name{plain}, int First, int... I>')}\n"
                f"struct {template.name}<Name{passed}, First, std::integer_sequence<int, I...>>\n"
                f"    : zp::sequential<{template.repeats_of.name}<Name + {dot}zp::numeral<First + I>{passed}>...> {{}};")
    head = f"template <{begin}> struct {template.name}"
    if len(head) > COLUMNS:
        head = f"{wrapped('template <', begin)}>\nstruct {template.name}"
    items: list[str | Part] = list(template.parts)
    if len(items) == 1 and isinstance(items[0], Type):
        base, inner = pieces(items[0])
        return definition(head, base, inner) if inner else f"{head} : {base} {{}};"
    return definition(head, "zp::sequential", items)
