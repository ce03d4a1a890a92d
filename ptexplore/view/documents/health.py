"""The report of `doctor`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from ptexplore.model.operators import Count
from ptexplore.view.documents.parts import FORMAT, TorchBuild, TreeEntry, tree_entry
from ptexplore.view.health import CheckoutHealth, Health
from ptexplore.view.words.places import place_sentence


class TorchInstalled(TorchBuild, frozen=True):
    """The installed torch, and the Python that it is installed in."""

    python: str  # the Python
    python_version: str  # its version
    folder: str  # the folder of the package
    built_in: str | None  # the source tree that it was built in and runs from


class ConfirmedCount(Struct, frozen=True):
    """How many registrations are confirmed: the line that the record names exists and contains this registration."""

    confirmed: int  # how many are confirmed
    total: int  # how many there are


class NotConfirmed(Struct, frozen=True):
    """One reason why registrations are not confirmed."""

    reason: str  # in words
    count: int  # how many there are


class CacheEntry(Struct, frozen=True):
    """A cached file or folder."""

    name: str  # what the file contains
    path: str  # the file or folder
    bytes: int  # its size; 0 if it is missing


class FilesCompared(Struct, frozen=True):
    """The files of a checkout that the wheel also has."""

    same: int  # how many have the same text
    different: int  # how many have another text


class CheckoutReport(TreeEntry, frozen=True, kw_only=True, omit_defaults=True):
    """A checkout in use, and how it relates to the torch that runs."""

    project: str  # `pytorch`, or the extension's name
    why: str  # why the checkout has this `relation`
    files: FilesCompared  # the files that the wheel also has
    different: tuple[str, ...]  # the files with another text
    records: ConfirmedCount  # the registrations in hand-written C++


class DoctorDocument(Struct, frozen=True):
    """`doctor --json`."""

    format: int  # 1
    torch: TorchInstalled  # the torch that was examined
    trees: tuple[TreeEntry, ...]  # where text comes from
    operators: int  # how many operators it has
    registrations: Mapping[str, ConfirmedCount]  # by where they are: `generated`, `handwritten`, `python`, `nofile`
    unconfirmed: tuple[NotConfirmed, ...]  # why some are not confirmed, the most frequent reason first
    caches: tuple[CacheEntry, ...]  # the files in the cache
    checkouts: tuple[CheckoutReport, ...]  # the checkouts in use
    in_cpp: ConfirmedCount  # `generated` and `handwritten` together
    sound: bool  # whether every registration in generated C++ is confirmed
    advice: tuple[str, ...]  # missing things, each with the command to get it


def doctor_document(report: Health) -> DoctorDocument:
    """Returns the report with its figures, as a document."""
    runtime = report.runtime
    return DoctorDocument(
        format=FORMAT,
        torch=TorchInstalled(
            version=runtime.version,
            git_version=runtime.git_version,
            build=runtime.build,
            python=runtime.python,
            python_version=runtime.python_version,
            folder=runtime.torch_dir,
            built_in=report.built_in,
        ),
        trees=tuple(map(tree_entry, report.trees)),
        operators=report.operators,
        registrations={name: _confirmed(count) for name, count in report.registrations.items()},
        unconfirmed=tuple(NotConfirmed(reason, count) for reason, count in report.reasons),
        caches=tuple(CacheEntry(cache.name, cache.path, cache.size) for cache in report.caches),
        checkouts=tuple(map(_checkout_report, report.checkouts)),
        in_cpp=_confirmed(report.in_cpp),
        sound=report.sound,
        advice=report.advice,
    )


def _confirmed(count: Count) -> ConfirmedCount:
    return ConfirmedCount(count.confirmed, count.total)


def _checkout_report(health: CheckoutHealth) -> CheckoutReport:
    relation = health.relation
    return CheckoutReport(
        **structs.asdict(tree_entry(health.tree)),
        project=health.checkout.project,
        why=place_sentence(relation.why),
        files=FilesCompared(relation.same, len(relation.different)),
        different=tuple(relation.different),
        records=_confirmed(relation.records),
    )
