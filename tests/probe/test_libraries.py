"""The lines that oneDNN and MKL print of their calls."""

from __future__ import annotations

import importlib
from functools import partial

import pytest

read = partial(importlib.import_module("ptexplore.probe.libraries").read, phase="forward")


MATMUL = (
    "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core_bf16,undef,src:bf16::blocked:ab::f0 "
    "wei:bf16::blocked:ba::f0 dst:bf16::blocked:ab::f0,attr-scratchpad:user,,64x64:64x64,0.00805664"
)
REORDER = (  # as oneDNN 3.5 writes it
    "onednn_verbose,primitive,exec,cpu,reorder,jit:uni,undef,src_f32::blocked:abcd::f0,attr-scratchpad:user,,"
    "64x8x3x3,0.0100098"
)
SGEMM = "MKL_VERBOSE SGEMM(N,N,3,3,3,0x7fff,0x55ee,3,0x55ee,3,0x7fff,0x55ee,3) 20.21us CNR:OFF Dyn:0 FastMM:1"
CDOTC = "MKL_VERBOSE CDOTC(0x7ffd,3,0x55ee,1,0x55ff,1) 0.3us CNR:OFF Dyn:0 FastMM:1"
COPIED = "MKL_VERBOSE MKL_SOMATCOPY(R, N, 3, 3, 1.000000, 0x55ee, 4, 0x55ff, 3) 0.4us CNR:OFF Dyn:0 FastMM:1"


@pytest.mark.parametrize(
    ("line", "expected", "took"),
    [
        (MATMUL, ("oneDNN", "matmul", "brg_matmul:avx512_core_bf16", "64x64:64x64"), 8_057),
        (REORDER, ("oneDNN", "reorder", "jit:uni", "64x8x3x3"), 10_010),
        (SGEMM, ("MKL", "SGEMM", None, "N,N,3,3,3"), 20_210),
        (CDOTC, ("MKL", "CDOTC", None, "3"), 300),
        (COPIED, ("MKL", "MKL_SOMATCOPY", None, "R,N,3,3,1.000000"), 400),
    ],
)
def test_a_line_of_their_output(line: str, expected: tuple[str, str, str | None, str], took: int) -> None:
    call = read(line)
    assert call is not None
    assert (call["library"], call["what"], call["implementation"], call["problem"]) == expected
    assert call["took"] == took


@pytest.mark.parametrize(
    "line",
    [
        "onednn_verbose,v1,info,cpu,runtime:OpenMP,nthr:1",
        "onednn_verbose,v1,primitive,create:cache_hit,cpu,matmul,brg_matmul,undef,a,b,c,64x64:64x64,0.1",
        "MKL_VERBOSE oneMKL 2024.0 Update 2 Product build 20240605 for Intel(R) 64 architecture",
        "printed by the expression",
    ],
)
def test_other_lines_tell_of_no_call(line: str) -> None:
    assert read(line) is None


# As MKL 2024.2 prints them for torch.linalg.lstsq, eig, eigh and qr: what asks for a workspace has an LWORK of -1.
QUERIES = [
    "SGELSY(3,3,3,0x5585,3,0x5586,3,0x5587,0x7ffe,0,0x7ffd,-1,0)",
    "CGEEV(N,N,3,0x5585,3,0x5586,(nil),1,(nil),1,0x7ffe,-1,0x5587,0)",
    "CHEEVD(V,L,3,0x5585,3,0x5586,0x7ffe,-1,0x7ffd,-1,0x7ffc,-1,0)",
    "SGEQRF(3,3,0x5585,3,0x5586,0x7ffe,-1,0)",
]
COMPUTING = [
    "SGELSY(3,3,3,0x5585,3,0x5586,3,0x5587,0x7ffe,3,0x5588,14,0)",
    "CGEEV(N,N,3,0x5585,3,0x5586,(nil),1,(nil),1,0x7ffe,100,0x5587,0)",
    "SPOTRF(L,3,0x5585,3,-1)",  # INFO: an argument was wrong
    "SLASWP(3,0x5585,3,1,3,0x5586,-1)",  # the rows are swapped in the order from the last to the first
    "SAXPY(3,0x7ffe,0x5585,-1,0x5586,1)",  # steps through vectors, backwards
    "DGEMV(N,3,3,0x7ffe,0x5585,3,0x5586,-1,0x7ffd,0x5587,1)",
    "IDAMAX(3,0x5585,-1)",
    "SGEMM(N,N,3,3,3,0x7fff,0x55ee,3,0x55ee,3,0x7fff,0x55ee,3)",
]


@pytest.mark.parametrize("given", [*QUERIES, *COMPUTING])
def test_a_call_that_only_asks_for_the_size_of_a_workspace_is_known(given: str) -> None:
    call = read(f"MKL_VERBOSE {given} 27.01us CNR:OFF Dyn:1 FastMM:1 TID:0  NThr:2")
    assert call is not None
    assert call["what"] == given.partition("(")[0]
    assert call.get("query", False) is (given in QUERIES)
