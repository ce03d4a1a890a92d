"""What indexing and looking up cost, beside GNU Global, cscope and Universal Ctags on the same files, in turns."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median as middle

from lib.measure import ROOT, Bench, Row, Runner, Sample, median
from lib.peers import Installed, installed

FOLDERS = ("aten", "c10", "torch/csrc")
CPP = {".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".hh", ".inl", ".inc", ".cu", ".cuh", ".m", ".mm"}
ALSO = {".py", ".pyi", ".yaml", ".yml", ".metal"}
EDITED = "aten/src/ATen/native/BinaryOps.cpp"
FLOOR = str(ROOT / "scripts/lib/parse_floor.py")
QUERY = str(ROOT / "ptexplore/index/cpp/definitions.scm")
PARSED = "tree-sitter's parse and one query in two processes:"
COMMANDS = (("find", "mul_kernel"), ("show", "mul_kernel"), ("refs", "resize_output"))  # a few hits; many
LOOKUPS = "at::native::mul_kernel at::native::cpublas::gemm c10::TensorImpl::release_resources torch::autograd::Engine"
ATLAS = f"""
import time, resource, json
started = time.perf_counter()
from ptexplore.source.atlas import SHIPPED, Atlas
imported = time.perf_counter()
atlas = Atlas.open()
for name in {LOOKUPS.split()!r}:
    assert atlas.definitions(name), name
assert atlas.dialect("mul_stub") and atlas.dialect_targeting("mul_kernel")
done = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([(done - imported) * 1000, peak, SHIPPED.stat().st_size / 1e6]))
"""
TEXT = """
import json, sys
from pathlib import Path
from ptexplore.store.index.reader import IndexStore
files = IndexStore.open(Path(sys.argv[1])).files()
print(json.dumps([len(files), sum(file.size for file in files) / 1e6]))
"""


@dataclass(frozen=True)
class Corpus:
    """A copy of the C++ of a release that may be edited; `names` lists the files that the peers read."""

    root: Path
    names: Path
    files: int
    megabytes: float

    def edit(self, number: int) -> None:
        """Change one file: another function at its end each time."""
        file = self.root / EDITED
        with file.open("a", encoding="utf-8") as handle:
            handle.write(f"\nstatic int ptexplore_bench_{number}() {{ return {number}; }}\n")


def corpus(source: Path, folder: Path) -> Corpus:
    """Copy what is measured from a source tree into `folder`/tree."""
    root = folder / "tree"
    names, size = [], 0
    for top in FOLDERS:
        for file in sorted((source / top).rglob("*")):
            if file.is_symlink() or not file.is_file() or file.suffix not in CPP | ALSO:
                continue
            path = file.relative_to(source)
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / path)
            if file.suffix in CPP:
                names.append(str(path))
                size += file.stat().st_size
    shutil.copy(source / "version.txt", root / "version.txt")
    listing = folder / "names"
    listing.write_text("\n".join(names) + "\n", encoding="utf-8")
    return Corpus(root, listing, len(names), size / 1e6)


class IndexBench:
    """The rows about indexing, in the order in which they are measured."""

    def __init__(self, bench: Bench, tree: Corpus, peers: list[Installed], progress: Callable[[str], None]) -> None:
        """`bench`: with the generated layer made already in its cache."""
        self.bench, self.tree, self.peers, self.progress = bench, tree, peers, progress
        self.folder = bench.cache / "index"

    def rows(self, cold: int, runs: int) -> list[Row]:
        """Everything; leaves both indexes built."""
        self.progress("the first index")
        self.bench.ptexplore("fetch", "--from", str(self.tree.root))
        self.bench.ptexplore("index")
        [name] = [
            one["name"] for one in json.loads(self.bench.ptexplore("fetch", "--list", "--json").output)["checkouts"]
        ]
        alone = ("index", "--checkout", name)
        what = f"aten/ c10/ torch/csrc ({self.tree.files} files, {self.tree.megabytes:.1f} MB)"
        return [
            *self._cold(f"index {what}", alone, "checkout-*", cold, self.peers, floor=True),
            *self._cold(
                "index the generated C++, headers and torch's Python on top", ("index",), "runtime-*", cold, []
            ),
            self._nothing_changed(runs),
            self._one_file_changed(runs),
            *self._lookups(runs),
            *self._atlas(runs),
        ]

    def _floor(self) -> Sample:
        """Parse and one query alone, in two processes, on the files of the tree."""
        python = Runner(self.tree.root)
        return python.run(self.bench.python, FLOOR, str(self.tree.names), QUERY)

    def _cold(
        self,
        what: str,
        command: tuple[str, ...],
        databases: str,
        runs: int,
        peers: Sequence[Installed],
        *,
        floor: bool = False,
    ) -> list[Row]:
        """One database from nothing, the other one being there: time, memory of all processes, size."""
        ours: list[Sample] = []
        least: list[Sample] = []
        theirs: dict[str, list[Sample]] = {peer.peer.name: [] for peer in peers}
        for number in range(max(runs, 1)):
            self.progress(f"{what}: {number + 1} of {runs}")
            for peer in peers:
                theirs[peer.peer.name].append(peer.build())
            least += [self._floor()] if floor else []
            self._drop(databases)
            ours.append(self.bench.ptexplore(*command))
        self.progress(f"{what}: memory")
        self._drop(databases)
        held = self.bench.ptexplore(*command, memory=True).megabytes
        beside = " · ".join(f"{name} {median(samples):.1f} s" for name, samples in theirs.items())
        memory = " · ".join(f"{peer.peer.name} {peer.build(memory=True).megabytes:.0f} MB" for peer in peers)
        [database] = self.folder.glob(f"{databases}.sqlite")
        files, text = json.loads(self.bench.run_python("-c", TEXT, str(database)).output)
        size = sum(file.stat().st_size for file in self.folder.glob(f"{databases}.sqlite*")) / 1e6
        sizes = " · ".join(f"{peer.peer.name} {peer.megabytes:.0f} MB" for peer in peers)
        note = f"{size:.0f} MB for {files} files of {text:.1f} MB"
        above = (
            [Row("the same / tree-sitter", median(ours) / median(least), "x", 2, f"{PARSED} {median(least):.1f} s")]
            if floor
            else []
        )
        return [
            Row(f"cold: {what}", median(ours), "s", 8 if floor else 12, beside),
            *above,
            Row("its memory, all processes", held, "MB", 1024, memory),
            Row("its database", size / text, "x", 2, f"{note} · {sizes}" if sizes else note),
        ]

    def _drop(self, databases: str) -> None:
        for file in self.folder.glob(f"{databases}.sqlite*"):
            file.unlink()

    def _nothing_changed(self, runs: int) -> Row:
        return self._again("index again, nothing changed", 0.5, runs, lambda _: None)

    def _one_file_changed(self, runs: int) -> Row:
        return self._again("index again, one file changed", 1, runs, self.tree.edit)

    def _again(self, what: str, budget: float, runs: int, change: Callable[[int], None]) -> Row:
        ours: list[Sample] = []
        theirs: dict[str, list[Sample]] = {peer.peer.name: [] for peer in self.peers}
        for number in range(runs):
            self.progress(f"{what}: {number + 1} of {runs}")
            time.sleep(1.1)  # cscope compares whole seconds
            change(number)
            for peer in self.peers:
                theirs[peer.peer.name].append(peer.again())
            ours.append(self.bench.ptexplore("index"))
        beside = " · ".join(f"{name} {median(samples):.1f} s" for name, samples in theirs.items())
        return Row(what, median(ours), "s", budget, beside)

    def _lookups(self, runs: int) -> list[Row]:
        """Whole processes that read what is there, beside the peers' own look-ups of the same name."""
        ours: dict[str, list[Sample]] = {}
        theirs: dict[tuple[str, str], list[Sample]] = {}
        for number in range(runs):
            self.progress(f"find, show, refs: {number + 1} of {runs}")
            for command, name in COMMANDS:
                what = f"{command} {name}"
                for peer in self.peers:
                    if sample := peer.ask(command, name):
                        theirs.setdefault((what, peer.peer.name), []).append(sample)
                ours.setdefault(what, []).append(self.bench.ptexplore(command, name))
        rows = []
        for what, samples in ours.items():
            beside = " · ".join(answered(who, few) for (other, who), few in theirs.items() if other == what)
            rows.append(Row(what, median(samples), "s", 0.3, beside))
            rows.append(Row(f"{what}, memory", median(samples, lambda sample: sample.megabytes), "MB", 120))
        return rows

    def _atlas(self, runs: int) -> list[Row]:
        """The atlas: opened in a fresh process and asked six times."""
        figures = [json.loads(self.bench.run_python("-c", ATLAS).output) for _ in range(runs)]
        took, peak, size = (middle(column) for column in zip(*figures, strict=True))
        return [
            Row("atlas (the shipped table of names and lines): open, six look-ups", took, "ms", 20),
            Row("atlas: memory of the whole process", peak, "MB", 30),
            Row("atlas: size of the file", size, "MB", 4),
        ]


def answered(who: str, samples: list[Sample]) -> str:
    """How long a peer took, and whether it knew the name at all."""
    return f"{who} {median(samples):.3f} s" + (", which finds none" if not samples[0].output.strip() else "")


def measure(
    bench: Bench, source: Path, folder: Path, runs: tuple[int, int], progress: Callable[[str], None]
) -> tuple[list[Row], str]:
    """All rows about indexing, and the versions of the peers. `runs`: cold and warm."""
    progress("copying the source")
    tree = corpus(source, folder)
    peers = installed(tree.root, tree.names, folder / "peers")
    rows = IndexBench(bench, tree, peers, progress).rows(*runs)
    return rows, " · ".join(peer.version for peer in peers)
