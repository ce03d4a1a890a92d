"""Several threads read a type for the first time at once: msgspec before 0.23 then ended the process by SIGSEGV."""

from __future__ import annotations

import subprocess
import sys

FIRST_USE = """
import sys, threading
from ptexplore.model.codes import convert

sys.setswitchinterval(1e-6)

def fresh(number):
    lines = ["from __future__ import annotations", "from msgspec import Struct"]
    for i in range(30):
        inner = f"A{i - 1} | None" if i else "int"
        lines += [f"class A{i}(Struct, frozen=True):", *(f"    f{j}: {inner} = None" for j in range(8))]
    module = type(sys)(f"fresh{number}")
    sys.modules[module.__name__] = module
    exec("\\n".join(lines), module.__dict__)
    return module.A29

for number in range(40):
    kind, together = fresh(number), threading.Barrier(4)

    def read():
        together.wait()
        convert({"f0": None}, kind)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_are_the_first_to_read_a_type_do_not_crash() -> None:
    """`notes check --labs` and a `Workspace` in threads do this."""
    ended = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
