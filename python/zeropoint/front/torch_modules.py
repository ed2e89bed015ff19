# SPDX-License-Identifier: BSD-3-Clause
"""Modules before they are exported: those of TorchScript, and those that a second call finds changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from zeropoint.errors import ZeropointError, need

UNLIKE = 1e-3  # of the largest value: two calls with the same inputs are that far apart where something is kept between them


def exportable(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """What torch.export takes for a module and its arguments: themselves, or where it is TorchScript a module that calls it, and so has the
    branches that the example takes, with arguments by their names in the script. The weights are no parameters of that one, and
    names_by_memory knows what they are called."""
    torch = need("torch", "torch")
    if not isinstance(module, torch.jit.ScriptModule):
        return module, args, named

    class Calls(torch.nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, **given: Any) -> Any:
            return module(**given)

    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    return Calls().eval(), (), {**dict(zip(names, args)), **named}


def names_by_memory(module: Any) -> dict[int, str]:
    """The names of a module's parameters and buffers by where they lie in memory."""
    return {tensor.data_ptr(): name for name, tensor in [*module.named_buffers(), *module.named_parameters()] if tensor.numel()}


def kept_tensors(module: Any) -> dict[tuple[Any, str], Any]:
    """The tensors, and tuples and lists that may hold some, that are attributes of a module and its parts but no parameters or buffers."""
    torch = need("torch", "torch")
    return {(part, name): value for part in module.modules() for name, value in vars(part).items()
            if isinstance(value, (torch.Tensor, tuple, list)) or value is None}


def refuse_other_outputs(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raises ZeropointError where a module in inference gives other outputs when it is called again with the same inputs: the program of
    one call would be another network than the module. What calls leave in attributes and buffers is put back."""
    torch = need("torch", "torch")
    before = kept_tensors(module)
    buffers = {name: tensor.clone() for name, tensor in module.named_buffers()}
    results = []
    drawn = torch.get_rng_state()
    try:
        for _ in range(2):
            leaves = torch.utils._pytree.tree_leaves(module(*args, **named))
            results.append([leaf.detach().double().clone() for leaf in leaves if isinstance(leaf, torch.Tensor)])
    except Exception:
        return  # the export says what is wrong with the arguments
    finally:
        paths = {part: path for path, part in module.named_modules()}
        changed = [".".join(filter(None, (paths[part], name))) for (part, name), value in before.items() if vars(part).get(name) is not value]
        changed += [name for name, tensor in module.named_buffers() if not torch.equal(tensor, buffers[name])]
        for (part, name), value in before.items():
            setattr(part, name, value)
        for name, tensor in module.named_buffers():
            tensor.copy_(buffers[name])
    if not torch.equal(torch.get_rng_state(), drawn) and not changed:
        torch.set_rng_state(drawn)
        return  # the operators that draw random numbers are refused
    if all(is_same(first.numpy(), again.numpy()) for first, again in zip(*results)):
        return
    kept = f"it keeps {', '.join(changed) or 'something'} from call to call"
    raise ZeropointError(f"{name_of(module)} gives other outputs when it is called again with the same inputs: {kept}. Have its forward begin "
                         "from zeros; or take its states as arguments and return the new ones, which stateful= leaves to zp::streaming or zp::stateful")


def is_same(first: np.ndarray, again: np.ndarray) -> bool:
    """Whether two calls gave one result, but for the last places of floats."""
    if first.shape != again.shape:
        return False
    finite = np.isfinite(first)
    if not np.array_equal(finite, np.isfinite(again)):
        return False
    largest = np.abs(first[finite]).max(initial=0.0)
    return bool(np.abs(first[finite] - again[finite]).max(initial=0.0) <= UNLIKE * largest)


def name_of(module: Any) -> str:
    """Of its class, as the author wrote it."""
    return str(getattr(module, "original_name", type(module).__name__))
