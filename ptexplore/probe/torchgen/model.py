"""Write down torchgen's own model of the operators: YAML lines, kernels per key, structured groups, derivatives.

Everything comes from torchgen's parser and matcher, nothing from names. Private API used: torchgen.gen,
torchgen.model, torchgen.api.meta, torchgen.api.autograd.match_differentiability_info,
torchgen.packaged.autograd.load_derivatives (all there in 2.6 to 2.13).
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_CALL = re.compile(r"(?<![\w.>])((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\(")
_NO_CALL = frozenset({"if", "for", "while", "return", "sizeof", "static_cast", "decltype", "switch", "auto"})


def write(packaged: Path, folder: Path) -> None:
    """Write the model of the inputs in `packaged` to model.json and headers.tsv in `folder`."""
    gen = importlib.import_module("torchgen.gen")
    derivatives = importlib.import_module("torchgen.packaged.autograd.load_derivatives")
    native = packaged / "ATen" / "native"
    yaml_file, tags_file = str(native / "native_functions.yaml"), str(native / "tags.yaml")
    parsed = gen.parse_native_yaml(yaml_file, tags_file)
    grouped = gen.get_grouped_native_functions(parsed.native_functions)
    infos, _ = derivatives.load_derivatives(str(packaged / "autograd" / "derivatives.yaml"), yaml_file, tags_file)
    yaml_entries = entries(packaged / "autograd" / "derivatives.yaml")
    model: dict[str, Any] = {
        "format": 1,
        "operators": [operator(function, parsed.backend_indices) for function in parsed.native_functions],
        "structured": structured(grouped),
        "derivatives": matched(parsed.native_functions, infos, yaml_entries),
        "entries": yaml_entries,
    }
    (folder / "model.json").write_text(json.dumps(model, separators=(",", ":")), encoding="utf-8")
    rows = headers(model["operators"], model["structured"])
    listing = "".join(f"\n{symbol}\t{','.join(sorted(paths))}" for symbol, paths in sorted(rows.items()))
    (folder / "headers.tsv").write_text(listing + "\n", encoding="utf-8")


def headers(operators: Iterable[Mapping[str, Any]], meta_classes: Mapping[str, str]) -> dict[str, set[str]]:
    """Function or structured class -> the ATen/ops headers that declare it, as gen_headers lays them out."""
    found: dict[str, set[str]] = {}
    for one in operators:
        ops = f"build/aten/src/ATen/ops/{one['root']}"
        for namespace, kernel, is_structured in one["kernels"].values():
            symbol = f"{namespace}::{'structured_' if is_structured else ''}{kernel}"
            found.setdefault(symbol, set()).add(f"{ops}_native.h")
        if one["name"] in meta_classes:
            found.setdefault(meta_classes[one["name"]], set()).add(f"{ops}_meta.h")
    return found


def operator(function: Any, backend_indices: Mapping[Any, Any]) -> dict[str, Any]:
    """One NativeFunction as plain data; `line` is that of its YAML entry (for generated overloads: of its base)."""
    kernels = {}
    for key, index in backend_indices.items():
        metadata = index.get_kernel(function)
        if metadata is not None and index.has_kernel(function):
            kernels[str(key)] = [metadata.cpp_namespace, metadata.kernel, bool(metadata.structured)]
    delegate = function.structured_delegate
    return {
        "name": f"{function.namespace}::{function.func.name}",
        "schema": str(function.func),
        "root": function.root_name,
        "line": function.loc.line,
        "variants": sorted(variant.name for variant in function.variants),
        "structured": bool(function.structured),
        "delegate": f"{function.namespace}::{delegate}" if delegate is not None else None,
        "generated": "generated" in function.tags,
        "tags": sorted(function.tags),
        "cpp_name": function.func.name.unambiguous_name(),
        "kernels": kernels,
    }


def structured(grouped: Iterable[Any]) -> dict[str, str]:
    """For every operator of a structured group: the name of its meta class."""
    model = importlib.import_module("torchgen.model")
    meta = importlib.import_module("torchgen.api.meta")
    found = {}
    for group in grouped:
        if isinstance(group, model.NativeFunctionsGroup) and group.structured:
            for function in group.functions():
                found[f"{function.namespace}::{function.func.name}"] = f"at::meta::structured_{meta.name(group)}"
    return found


def matched(functions: Sequence[Any], infos: Any, yaml_entries: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """For every operator with a derivative: which YAML entry, which node class, and how torchgen came to it."""
    autograd = importlib.import_module("torchgen.api.autograd")
    cpp = importlib.import_module("torchgen.api.cpp")
    ordered = sorted(functions, key=lambda function: cpp.name(function.func))
    matches = [match for match in autograd.match_differentiability_info(ordered, infos) if match.info]
    in_yaml = {}
    for match in matches:
        for info in match.info.values():
            if info.op and str(info.func.func) in yaml_entries:
                in_yaml[info.op] = info
    views = view_of_copy(functions)
    found = {}
    for match in matches:
        rows = [row(match.func, key, info, in_yaml, yaml_entries, views) for key, info in match.info.items()]
        found[f"{match.func.namespace}::{match.func.func.name}"] = [one for one in rows if one is not None]
    return {name: rows for name, rows in found.items() if rows}


def view_of_copy(functions: Sequence[Any]) -> dict[str, Any]:
    """The schema text of each view_copy operator -> the view it was made from, by torchgen's own grouping."""
    gen = importlib.import_module("torchgen.gen")
    model = importlib.import_module("torchgen.model")
    groups = gen.get_grouped_by_view_native_functions(functions)
    return {
        str(group.view_copy.func): group.view
        for group in groups
        if isinstance(group, model.NativeFunctionsViewGroup) and group.view_copy is not None
    }


def row(
    function: Any,
    dispatch: str,
    info: Any,
    in_yaml: Mapping[str, Any],
    yaml_entries: Mapping[str, Any],
    views: Mapping[str, Any],
) -> dict[str, Any] | None:
    """One operator's derivative under one dispatch entry; None where no YAML entry is its source."""
    source, schema = info.func, str(info.func.func)
    if schema in yaml_entries:
        words = how(function, info.func)
    elif schema in views:
        source, words = views[schema], "view_copy from its view"
    else:
        # gen_foreach_derivativeinfo names the node Foreach<node of the source><overload>.
        overload = info.func.func.name.overload_name
        base = in_yaml.get((info.op or "").removeprefix("Foreach").removesuffix(overload))
        if base is None or not (info.op or "").startswith("Foreach"):
            return None
        source, words = base.func, "foreach from its scalar operator"
    if str(source.func) not in yaml_entries:
        return None
    return {
        "dispatch": dispatch,
        "source_op": f"{source.namespace}::{source.func.name}",
        "source_schema": str(source.func),
        "node": info.op,
        "matched": words,
    }


def how(function: Any, source: Any) -> str:
    """In words, why torchgen gives `function` the entry of `source`."""
    if str(function.func) == str(source.func):
        return "exact"
    if function.func.name.name.base.startswith("_foreach"):
        return "foreach from its scalar operator"
    return f"{function.func.kind().name} from {source.func.kind().name}"


def entries(file: Path) -> dict[str, dict[str, Any]]:
    """derivatives.yaml with line numbers: schema text -> entry, its formulas by dispatch key."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = file.read_text(encoding="utf-8")
    root: Any = yaml.compose(text, Loader=loader)
    lines = text.split("\n")
    found = {}
    for entry in root.value:
        name, shared, per_key = "", [], {}
        for key, value in entry.value:
            if key.value == "name":
                name = value.value
            elif key.value == "dispatch":
                per_key.update({sub.value: [formula(*pair) for pair in body.value] for sub, body in value.value})
            elif key.value != "output_differentiability":
                shared.append(formula(key, value))
        if not per_key:
            per_key["Default"] = shared
        start = entry.start_mark.line + 1
        found[name] = {"line": start, "end": last_line(lines, start, entry.end_mark.line), "dispatch": per_key}
    return found


def formula(key: Any, value: Any) -> dict[str, Any]:
    """One `inputs: formula` line."""
    text = value.value if isinstance(value.value, str) else ""
    calls = [name for name in _CALL.findall(text) if name not in _NO_CALL]
    return {"inputs": key.value, "line": key.start_mark.line + 1, "text": text, "calls": list(dict.fromkeys(calls))}


def last_line(lines: Sequence[str], start: int, end: int) -> int:
    """The entry's last line that is neither blank nor a comment."""
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end
