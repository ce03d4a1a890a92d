"""A child that runs the target's own torchgen: it makes the generated C++ anew, and saves torchgen's model.

Runs under ptexplore's own interpreter, which has pyyaml, so that the target needs only torch. The target's
site-packages never join sys.path. Every fact of the model comes from torchgen's parser and matcher, never from names.
Private API used, in versions 2.6 to 2.13: torchgen.gen, torchgen.model, torchgen.api.meta,
torchgen.utils.FileManager.write_with_template, torchgen.api.autograd.match_differentiability_info,
torchgen.packaged.autograd.load_derivatives. If a version lacks one, this child fails with a clear answer.
Also used: torchgen.context.native_function_manager, torchgen.local and torchgen.code_template. If these differ in a
version, they stay unchanged.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import re
import signal
import sys
import textwrap
import traceback
import types
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .messages import (
        FileGeneratedData,
        FormulaData,
        GeneratorEndsData,
        GeneratorFailedData,
        GeneratorStoppedData,
        MatchedEntryData,
        ModelOperatorData,
        TorchgenModelData,
        YamlEntryData,
    )

    Message: TypeAlias = FileGeneratedData | GeneratorStoppedData | GeneratorFailedData | GeneratorEndsData

NATIVE_INPUTS = ("ATen/native/native_functions.yaml", "ATen/native/tags.yaml")  # in torchgen's packaged folder
Report = Callable[["Message"], None]


class OriginError(Exception):
    """The torchgen that would be used does not belong to the target."""


def end_with_parent() -> None:
    """Have the system end this process after the process that started it has ended. Only Linux can do this.

    ptexplore gives its process number. Without it, this process notices the end at its next write.
    """
    parent = os.environ.get("PTEXPLORE_PARENT", "")
    if not parent.isdecimal() or not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != int(parent):
        os._exit(1)


def main() -> None:
    """Run the generator named by `--work`; report each file, and success or the error."""
    sys.path.pop(0)  # this script's own folder: torchgen must not import from it
    parser = argparse.ArgumentParser()
    parser.add_argument("--channel", required=True, type=int)
    parser.add_argument("--work", required=True, choices=WORKS)
    for name in ("--torchgen", "--packaged", "--out"):
        parser.add_argument(name, required=True, type=Path)
    parser.add_argument("--flag", action="append", default=[])
    arguments = parser.parse_args()
    end_with_parent()
    gc.disable()  # the generators keep all that they build; collecting takes half a second and frees nothing
    with os.fdopen(arguments.channel, "w", buffering=1) as out:

        def report(message: Message) -> None:
            out.write(json.dumps(message) + "\n")

        try:
            load_torchgen(arguments.torchgen.resolve())
            hasten()
            watch_files(report)
            WORKS[arguments.work](arguments, report)
            assert_origin(arguments.torchgen.resolve())
            report({"finished": True})
        except OSError as error:
            name = error.filename and str(error.filename)
            report({"errno": error.errno, "strerror": error.strerror or str(error), "filename": name})
        except Exception as error:
            report({"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()})


def load_torchgen(folder: Path) -> None:
    """Load package torchgen from `folder` and from nowhere else. Raises OriginError."""
    if "torchgen" in sys.modules:
        raise OriginError("a torchgen was imported already")
    spec = importlib.util.spec_from_file_location(
        "torchgen", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise OriginError(f"{folder} is no package")
    module = importlib.util.module_from_spec(spec)
    sys.modules["torchgen"] = module
    spec.loader.exec_module(module)


def assert_origin(folder: Path) -> None:
    """Raise OriginError unless every torchgen module loaded so far is in `folder`."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] == "torchgen" and file and folder not in Path(file).resolve().parents:
            raise OriginError(f"{name} came from {file}, not from {folder}")


def hasten() -> None:
    """Let torchgen write the same files in three quarters of the time. Call it before any generator is imported.

    torchgen uses more regular expressions, again and again, than `re` keeps compiled. Some 400,000 times it enters the
    settings of a function through three nested generators. Some 120,000 times it searches a template for names, in one
    of about a hundred templates.
    """
    re._MAXCACHE = 50_000  # type: ignore[attr-defined]
    _hasten_settings()
    _hasten_templates()


def _hasten_settings() -> None:
    """Enter a function's settings through one plain class."""
    settings = importlib.import_module("torchgen.local")
    names = {name for name in vars(getattr(settings, "Locals", object)) if name.startswith("use_")}
    known = {"use_const_ref_for_mutable_tensors", "use_ilistref_for_tensor_lists"}
    if names != known or not hasattr(settings, "_locals"):
        return
    context = importlib.import_module("torchgen.context")
    model = importlib.import_module("torchgen.model")
    current = settings._locals

    class NativeFunctionManager:
        """Replaces torchgen.context.native_function_manager; an error does not name the YAML line of its function."""

        __slots__ = ("before", "function")

        def __init__(self, group: Any) -> None:
            if isinstance(group, model.NativeFunctionsGroup):
                group = group.out
            elif isinstance(group, model.NativeFunctionsViewGroup):
                group = group.view
            self.function = group

        def __enter__(self) -> None:
            self.before = current.use_const_ref_for_mutable_tensors, current.use_ilistref_for_tensor_lists
            current.use_const_ref_for_mutable_tensors = self.function.use_const_ref_for_mutable_tensors
            current.use_ilistref_for_tensor_lists = self.function.part_of_structured_group

        def __exit__(self, *_: object) -> None:
            current.use_const_ref_for_mutable_tensors, current.use_ilistref_for_tensor_lists = self.before

    context.native_function_manager = NativeFunctionManager  # type: ignore[attr-defined]


def _hasten_templates() -> None:
    """Search each template for names only once, and indent lines without a call for each line."""
    template = importlib.import_module("torchgen.code_template")
    written = getattr(template.CodeTemplate, "substitution", None)
    if isinstance(written, re.Pattern):
        template.CodeTemplate.substitution = RememberedPattern(written)
    if getattr(template, "textwrap", None) is textwrap:
        template.textwrap = types.SimpleNamespace(indent=indented)  # type: ignore[attr-defined]


class RememberedPattern:
    """A regular expression that remembers its matches in each text."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._parts: dict[str, tuple[list[re.Match[str]], list[str]]] = {}

    def sub(self, replace: Callable[[re.Match[str]], str], text: str) -> str:
        """Return what `re.Pattern.sub` returns."""
        known = self._parts.get(text)
        if known is None:
            matches = list(self._pattern.finditer(text))
            ends = [0, *(match.end() for match in matches)]
            starts = [*(match.start() for match in matches), len(text)]
            known = matches, [text[end:start] for end, start in zip(ends, starts, strict=True)]
            self._parts[text] = known
        matches, between = known
        parts = [between[0]]
        for match, literal in zip(matches, between[1:], strict=True):
            parts += (replace(match), literal)
        return "".join(parts)


def indented(text: str, prefix: str) -> str:
    """Return what `textwrap.indent` returns."""
    return "".join([prefix + line if line.strip() else line for line in text.splitlines(True)])


def pose_as(generator: str) -> None:
    """Make torchgen's "@generated by" comments name `generator`, as in PyTorch's own build."""
    from torchgen.utils import REPO_ROOT

    sys.modules["__main__"].__file__ = str(Path(REPO_ROOT) / generator)


def watch_files(report: Report) -> None:
    """Skip the *Everything* files (22 MB that no build compiles), and report every other file once it is written."""
    from torchgen.utils import FileManager

    original = FileManager.write_with_template

    def write_with_template(self: Any, filename: Any, template_fn: Any, env_callable: Any) -> None:
        name = os.path.basename(str(filename))
        if "Everything" not in name:
            original(self, filename, template_fn, env_callable)
            report({"file": name})

    FileManager.write_with_template = write_with_template


def generate_aten(arguments: argparse.Namespace, _: Report) -> None:
    """Write build/aten/src/ATen and AOTInductor's shims below `arguments.out`, as cmake/Codegen.cmake does."""
    from torchgen import gen

    assert_origin(arguments.torchgen.resolve())
    pose_as("torchgen/gen.py")
    sys.argv = [
        "gen.py",
        "--source-path",
        str(arguments.packaged / "ATen"),
        "--install_dir",
        str(arguments.out / "build/aten/src/ATen"),
        "--per-operator-headers",  # without it, the line numbers differ from the wheel's
        "--aoti_install_dir",
        str(arguments.out / "torch/csrc/inductor/aoti_torch/generated"),
        "--generate",
        "sources",
    ]
    known = Path(str(gen.__file__)).read_text(encoding="utf-8")  # its options differ between releases
    if '"--headeronly-install-dir"' in known:
        sys.argv += ["--headeronly-install-dir", str(arguments.out / "build/torch/headeronly/core")]
    sys.argv += [f"--{flag}" for flag in arguments.flag if f'"--{flag}"' in known]
    gen.main()


def generate_autograd(arguments: argparse.Namespace, report: Report) -> None:
    """Write torch/csrc/autograd/generated, and the model in ptexplore/, below `arguments.out`.

    One process does both: the model needs the results of the parser, which torchgen caches.
    """
    from torchgen.packaged.autograd.gen_autograd import gen_autograd, gen_autograd_python
    from torchgen.selective_build.selector import SelectiveBuilder

    assert_origin(arguments.torchgen.resolve())
    pose_as("tools/setup_helpers/generate_code.py")
    packaged, generated = arguments.packaged, arguments.out / "torch/csrc/autograd/generated"
    generated.mkdir(parents=True, exist_ok=True)
    inputs = [str(packaged / name) for name in NATIVE_INPUTS]
    inputs += [str(generated), str(packaged / "autograd")]
    gen_autograd_python(*inputs)
    gen_autograd(*inputs, SelectiveBuilder.get_nop_selector())
    generate_model(arguments, report)


def generate_model(arguments: argparse.Namespace, report: Report) -> None:
    """Write only the model, in ptexplore/, below `arguments.out`: a torch in its source tree has the generated C++."""
    aids = arguments.out / "ptexplore"
    aids.mkdir(exist_ok=True)
    write_model(arguments.packaged, aids)
    report({"file": "model.json"})


WORKS = {"aten": generate_aten, "autograd": generate_autograd, "model": generate_model}

_CALL = re.compile(r"(?<![\w.>])((?:[A-Za-z_]\w*::)*[A-Za-z_]\w*)\s*(?:<[^<>()]*>)?\(")
_NO_CALL = frozenset({"if", "for", "while", "return", "sizeof", "static_cast", "decltype", "switch", "auto"})


def write_model(packaged: Path, folder: Path) -> None:
    """Write the model of the inputs in `packaged` to model.json and headers.tsv in `folder`."""
    from torchgen import gen
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    inputs, derivatives = [str(packaged / name) for name in NATIVE_INPUTS], packaged / "autograd" / "derivatives.yaml"
    parsed = gen.parse_native_yaml(*inputs)
    infos, _ = load_derivatives(str(derivatives), *inputs)
    yaml_entries = entries(derivatives)
    model: TorchgenModelData = {
        "format": 1,
        "operators": [operator(function, parsed.backend_indices) for function in parsed.native_functions],
        "structured": structured(gen.get_grouped_native_functions(parsed.native_functions)),
        "derivatives": matched(parsed.native_functions, infos, yaml_entries),
        "entries": yaml_entries,
    }
    (folder / "model.json").write_text(json.dumps(model, separators=(",", ":")), encoding="utf-8")
    rows = headers(model["operators"], model["structured"])
    listing = "".join(f"\n{symbol}\t{','.join(sorted(paths))}" for symbol, paths in sorted(rows.items()))
    (folder / "headers.tsv").write_text(listing + "\n", encoding="utf-8")


def headers(operators: Iterable[ModelOperatorData], meta_classes: Mapping[str, str]) -> dict[str, set[str]]:
    """Return for each function or structured class the ATen/ops headers that declare it, as gen_headers writes them."""
    declared: defaultdict[str, set[str]] = defaultdict(set)
    for op in operators:
        ops = f"build/aten/src/ATen/ops/{op['root']}"
        for namespace, kernel, is_structured in op["kernels"].values():
            declared[f"{namespace}::{'structured_' if is_structured else ''}{kernel}"].add(f"{ops}_native.h")
        if op["name"] in meta_classes:
            declared[meta_classes[op["name"]]].add(f"{ops}_meta.h")
    return declared


def full_name(function: Any) -> str:
    """Return a NativeFunction's name with its namespace: aten::add.Tensor."""
    return f"{function.namespace}::{function.func.name}"


def operator(function: Any, backend_indices: Mapping[Any, Any]) -> ModelOperatorData:
    """Return one NativeFunction as plain data. `line`: of its YAML entry (for a generated overload, of its base)."""
    kernels: dict[str, tuple[str, str, bool]] = {}
    for key, index in backend_indices.items():
        metadata = index.get_kernel(function)
        if metadata is not None and index.has_kernel(function):
            kernels[str(key)] = (metadata.cpp_namespace, metadata.kernel, bool(metadata.structured))
    delegate = function.structured_delegate
    return {
        "name": full_name(function),
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
    """Return for every operator of a structured group the name of its meta class."""
    from torchgen.api import meta
    from torchgen.model import NativeFunctionsGroup

    return {
        full_name(function): f"at::meta::structured_{meta.name(group)}"
        for group in grouped
        if isinstance(group, NativeFunctionsGroup) and group.structured
        for function in group.functions()
    }


def matched(
    functions: Sequence[Any], infos: Any, yaml_entries: Mapping[str, YamlEntryData]
) -> dict[str, list[MatchedEntryData]]:
    """Return for every operator with a derivative its YAML entry and node class, and how torchgen matched them."""
    from torchgen.api import autograd, cpp

    ordered = sorted(functions, key=lambda function: cpp.name(function.func))
    matches = [match for match in autograd.match_differentiability_info(ordered, infos) if match.info]
    infos_of_matches = [info for match in matches for info in match.info.values()]
    in_yaml = {info.op: info for info in infos_of_matches if info.op and str(info.func.func) in yaml_entries}
    views = view_of_copy(functions)
    derivatives = {}
    for match in matches:
        rows = [row(match.func, key, info, in_yaml, yaml_entries, views) for key, info in match.info.items()]
        derivatives[full_name(match.func)] = [given for given in rows if given is not None]
    return {name: rows for name, rows in derivatives.items() if rows}


def view_of_copy(functions: Sequence[Any]) -> dict[str, Any]:
    """Return for the schema text of each view_copy operator the view it was made from, by torchgen's own grouping."""
    from torchgen.gen import get_grouped_by_view_native_functions
    from torchgen.model import NativeFunctionsViewGroup

    return {
        str(group.view_copy.func): group.view
        for group in get_grouped_by_view_native_functions(functions)
        if isinstance(group, NativeFunctionsViewGroup) and group.view_copy is not None
    }


def row(
    function: Any,
    dispatch: str,
    info: Any,
    in_yaml: Mapping[str, Any],
    yaml_entries: Mapping[str, YamlEntryData],
    views: Mapping[str, Any],
) -> MatchedEntryData | None:
    """Return one operator's derivative under one dispatch entry; None if it comes from no YAML entry."""
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
        "source_op": full_name(source),
        "source_schema": str(source.func),
        "node": info.op,
        "matched": words,
    }


def how(function: Any, source: Any) -> str:
    """Return in words why torchgen gives `function` the entry of `source`."""
    if str(function.func) == str(source.func):
        return "exact"
    if function.func.name.name.base.startswith("_foreach"):
        return "foreach from its scalar operator"
    return f"{function.func.kind().name} from {source.func.kind().name}"


def entries(file: Path) -> dict[str, YamlEntryData]:
    """Return derivatives.yaml with line numbers: for each schema text its entry, with formulas by dispatch key."""
    import yaml

    text = file.read_text(encoding="utf-8")
    root: Any = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    lines = text.split("\n")
    by_schema: dict[str, YamlEntryData] = {}
    for entry in root.value:
        name, shared, per_key = "", [], {}
        for key, value in entry.value:
            if key.value == "name":
                name = value.value
            elif key.value == "dispatch":
                per_key.update({sub.value: [formula(*pair) for pair in body.value] for sub, body in value.value})
            elif key.value != "output_differentiability":
                shared.append(formula(key, value))
        start = entry.start_mark.line + 1
        end = last_line(lines, start, entry.end_mark.line)
        by_schema[name] = {"line": start, "end": end, "dispatch": per_key or {"Default": shared}}
    return by_schema


def formula(key: Any, value: Any) -> FormulaData:
    """Return one `inputs: formula` line."""
    text = value.value if isinstance(value.value, str) else ""
    calls = [name for name in _CALL.findall(text) if name not in _NO_CALL]
    return {"inputs": key.value, "line": key.start_mark.line + 1, "text": text, "calls": list(dict.fromkeys(calls))}


def last_line(lines: Sequence[str], start: int, end: int) -> int:
    """Return the entry's last line that is neither blank nor a comment."""
    while end > start and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
        end -= 1
    return end


if __name__ == "__main__":
    main()
