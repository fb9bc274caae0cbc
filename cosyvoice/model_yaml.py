"""Reading a model's yaml as data. Tags such as `!new:` or `!apply:` name code in the reference; here they never run.

A tagged mapping becomes a dict with the tag's target under CLASS, `!ref <name>` the value of that top-level name (with
whole-number arithmetic, `!ref <a> * <b>`), and anything else that is tagged is kept as an inert `Tagged`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cosyvoice.engine import ModelMissing

CLASS = "class"
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Tagged:
    """A tagged scalar or list, kept as it was written and never interpreted."""

    tag: str
    value: object


class _DataLoader(yaml.SafeLoader):
    pass


def _keep_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> object:
    kind, _, target = suffix.partition(":")
    if isinstance(node, yaml.MappingNode):
        return {CLASS: target} | {str(key): value for key, value in loader.construct_mapping(node, deep=True).items()}
    if isinstance(node, yaml.SequenceNode):
        return Tagged(suffix, loader.construct_sequence(node, deep=True))
    assert isinstance(node, yaml.ScalarNode)
    if kind in {"new", "name"} and not node.value:
        return {CLASS: target}
    return Tagged(suffix, node.value)


_DataLoader.add_multi_constructor("!", _keep_tag)


def read_model_yaml(path: Path) -> dict[str, object]:
    """Read a model's yaml file; references are resolved, nothing is imported or called.

    Raises ModelMissing that names the file and line if it is no such file.
    """
    if path.stat().st_size > _MAX_BYTES:
        raise ModelMissing(f"{path} has more than {_MAX_BYTES} bytes: this is no model description.")
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_DataLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ModelMissing(f"{path} is no valid yaml: {error}. Download it again.") from error
    if not isinstance(content, dict):
        raise ModelMissing(f"{path} holds no names and values: download it again.")
    names = {str(key): value for key, value in content.items()}
    return {key: _resolve(value, names, (key,)) for key, value in names.items()}


def _resolve(value: object, names: Mapping[str, object], trail: tuple[str, ...]) -> object:
    """Replace references below `value`; one that cannot be resolved stays a Tagged, and fails where it is needed."""
    if isinstance(value, dict):
        return {key: _resolve(item, names, trail) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve(item, names, trail) for item in value]
    if not (isinstance(value, Tagged) and value.tag == "ref" and isinstance(value.value, str)):
        return value
    plain = re.fullmatch(r"<(\w+)>", value.value.strip())
    if plain:
        name = plain[1]
        if name not in names or name in trail:
            return value
        return _resolve(names[name], names, (*trail, name))
    numbers = {name: _resolve(names.get(name), names, (*trail, name)) for name in re.findall(r"<(\w+)>", value.value)}
    result = _arithmetic(value.value, numbers)
    return value if result is None else result


def _arithmetic(expression: str, numbers: Mapping[str, object]) -> int | None:
    """Work out whole-number arithmetic such as `<chunk_size> * <token_mel_ratio>`; None if it is anything else."""
    try:
        tree = ast.parse(re.sub(r"<(\w+)>", r"\1", expression), mode="eval")
        return _evaluate(tree.body, numbers)
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None


def _evaluate(node: ast.expr, numbers: Mapping[str, object]) -> int:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _evaluate(node.left, numbers), _evaluate(node.right, numbers)
        return int(_OPERATORS[type(node.op)](left, right))
    value = numbers.get(node.id) if isinstance(node, ast.Name) else getattr(node, "value", None)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("no whole number")


class Section:
    """One mapping of a settings file, read value by value; every complaint names the file and the dotted place."""

    def __init__(self, file: Path, place: str, values: object) -> None:
        if not isinstance(values, Mapping):
            found = "nothing" if values is None else f"{values!r:.60}"
            raise ModelMissing(f"{file}: {place or 'the file'} must hold names and values, found {found}.")
        self._file, self._place, self._values = file, place, values
        self._read: set[str] = {CLASS}

    def section(self, key: str) -> Section:
        self._read.add(key)
        return Section(self._file, self._name(key), self._values.get(key))

    def integer(self, key: str, default: int | None = None) -> int:
        value = self._value(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._complaint(key, "a whole number", value)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        value = self._value(key, default)
        try:
            # yaml 1.1 reads 1e-06 as text, because it has no dot.
            return float(value) if isinstance(value, str | int | float) else float("nan")
        except ValueError:
            raise self._complaint(key, "a number", value) from None

    def optional_number(self, key: str) -> float | None:
        return None if self._value(key, "absent") is None else self.number(key)

    def integers(self, key: str) -> tuple[int, ...]:
        value = self._value(key)
        if not isinstance(value, list) or not all(isinstance(item, int) for item in value):
            raise self._complaint(key, "a list of whole numbers", value)
        return tuple(value)

    def integer_rows(self, key: str) -> tuple[tuple[int, ...], ...]:
        value = self._value(key)
        if not isinstance(value, list) or not all(isinstance(row, list) for row in value):
            raise self._complaint(key, "a list of lists", value)
        return tuple(tuple(int(item) for item in row) for row in value)

    def require(self, key: str, *allowed: object) -> None:
        """Refuse a value for which this engine has no code; an absent key is the reference's default and fine."""
        value = self._value(key, allowed[0])
        if value not in allowed:
            raise self._complaint(key, " or ".join(repr(item) for item in allowed), value)

    def ignore(self, *keys: str) -> None:
        """Say that these keys only matter in training or streaming."""
        self._read.update(keys)

    def done(self) -> None:
        """Refuse keys that nobody read: they would change a model in a way this engine does not know."""
        unknown = [str(key) for key in self._values if key not in self._read]
        if unknown:
            raise ModelMissing(
                f"{self._file}: {self._place or 'the file'} has values unknown to this engine: {', '.join(unknown)}. "
                "It belongs to another model or to a newer one."
            )

    def class_name(self) -> str:
        """Return the last part of the tag's target, such as `Qwen2LM`."""
        return str(self._values.get(CLASS, "")).rpartition(".")[2]

    def _value(self, key: str, default: object = None) -> object:
        self._read.add(key)
        if key in self._values:
            return self._values[key]
        if default is None:
            raise ModelMissing(f"{self._file}: {self._name(key)} is missing.")
        return default

    def _complaint(self, key: str, expected: str, found: object) -> ModelMissing:
        shown = f"!{found.tag} {found.value}" if isinstance(found, Tagged) else f"{found!r:.60}"
        return ModelMissing(f"{self._file}: {self._name(key)} must be {expected}, found {shown}.")

    def _name(self, key: str) -> str:
        return f"{self._place}.{key}" if self._place else key
