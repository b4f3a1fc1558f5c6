"""Machine code on the disk: never stale, found from wherever the package lies, and removed when nobody uses it."""

import ast
import gc
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba.core.errors import TypingError

from tests.loops import copy_loops
from vinesim.core import code
from vinesim.jit import kernels, machine_code
from vinesim.model.errors import InputWarning

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "src" / "vinesim"
POLICY = (ROOT / "examples" / "my_policy.py").read_text()
RUN = """
import sys, vinesim as vs
for policy in sys.argv[2:]:
    reported = []
    case = vs.read_scenario(sys.argv[1], ["policy=" + policy])
    done = vs.simulate(case, engine="compiled", on_message=reported.append)
    print(done.summary["jobs"]["latency_us"]["mean"], "compiled" if reported else "loaded")
"""


def imported(file):
    """The modules of the package that a file imports when it is imported itself."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_the_hash_is_of_all_that_the_kernels_import():
    hashed = set(code.files())
    for file in hashed - {PACKAGE / "core" / "state.py"}:  # it allocates, and nothing in it is compiled
        for module in imported(file):
            parts = module.split(".")
            other = (PACKAGE / "/".join(parts[1:])).with_suffix(".py")
            if parts[:2] in (["vinesim", "core"], ["vinesim", "jit"], ["vinesim", "state"]) and other.is_file():
                assert other in hashed, f"{file.name} imports {module}, which is no part of the hash"


def copy_of_the_package(folder):
    shutil.copytree(PACKAGE, folder / "vinesim", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def run(cache, package, *policies):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package)}
    command = [sys.executable, "-c", RUN, ROOT / "examples" / "quickstart.yaml", *policies]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=package)
    return done.stdout.split()


def test_code_is_found_from_wherever_the_package_lies_and_never_stale(tmp_path):
    mine, cache = tmp_path / "mine.py", tmp_path / "cache"
    mine.write_text(POLICY)
    one, other = (copy_of_the_package(tmp_path / name) for name in ("one", "other"))
    copy_loops(cache)
    latency, how = run(cache, one, f"{mine}:Patient")
    assert how == "compiled"
    with (other / "vinesim" / "engine" / "reference.py").open("a") as file:
        file.write("# no kernel is made from this\n")
    assert run(cache, other, f"{mine}:Patient") == [latency, "loaded"]
    with (other / "vinesim" / "core" / "actions.py").open("a") as file:
        file.write("# all kernels are made from this\n")
    assert run(cache, other, f"{mine}:Patient") == [latency, "compiled"]
    mine.write_text(POLICY.replace(", preferred_type(model, state, task))", ")"))
    edited, how = run(cache, one, f"{mine}:Patient")
    assert how == "compiled"
    assert edited != latency


def test_policies_that_processes_of_their_own_compiled_stay_apart_where_one_loads_both(tmp_path):
    """Numba gave the functions of both the same name, and the code that was loaded first was run for both."""
    copy_loops(tmp_path)
    alone = {name: run(tmp_path, PACKAGE.parent, name)[0] for name in ("flat", "pref")}
    assert alone["flat"] != alone["pref"]
    assert run(tmp_path, PACKAGE.parent, "flat", "pref") == [alone["flat"], "loaded", alone["pref"], "loaded"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    machine_code.folder.cache_clear()
    yield machine_code.folder()
    machine_code.folder.cache_clear()


def twice(number):
    return number + number


@pytest.mark.parametrize("is_on", [True, False])
def test_no_cycles_are_looked_for_while_a_kernel_is_compiled(folder, is_on):
    """Whether it can be compiled or not; and then it is as it was before."""
    seen = []

    def collects(phase, info):
        seen.append(phase)

    gc.callbacks.append(collects)
    (gc.enable if is_on else gc.disable)()
    try:
        made = kernels.cached_kernel(twice, "0" * 16, {})
        gc.collect()
        seen.clear()
        assert made(21) == 42
        assert len(seen) <= 2  # one collection, when they are on again
        with pytest.raises(TypingError):
            made({})
        assert gc.isenabled() == is_on
    finally:
        gc.callbacks.remove(collects)
        gc.enable()


def test_a_kernel_has_code_for_calls_from_python_only(folder):
    made = kernels.cached_kernel(twice, "0" * 16, {})
    assert made(21) == 42
    (compiled,) = made.overloads.values()
    assert [one.name for one in compiled.library.get_defined_functions() if "cfunc" in one.name] == []


def answer(argument=21):
    """What a kernel answers, and whether its code came from the disk."""
    made = kernels.cached_kernel(twice, "0" * 16, {})
    return made(argument), sum(made.stats.cache_hits.values()) == 1


def flip(file, at, bit=2):
    data = bytearray(file.read_bytes())
    data[int(at * (len(data) - 1))] ^= 1 << bit
    file.write_bytes(data)


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_damaged_code_is_compiled_again_and_kept(folder, suffix):
    """Numba would unpickle and run it: an error of the policy, or the end of the process."""
    assert [answer(), answer()] == [(42, False), (42, True)]
    (file,) = folder.glob(f"*{suffix}")
    harms = [lambda at=at: flip(file, at) for at in (0.0, 0.3, 0.7, 1.0)]
    harms += [lambda: file.write_bytes(b""), lambda: file.write_bytes(file.read_bytes()[:100]), file.unlink]
    for harm in harms:
        harm()
        assert [answer(), answer()] == [(42, False), (42, True)]


def test_code_for_several_types_is_kept_side_by_side(folder):
    assert [answer(21), answer(1.5), answer(21), answer(1.5)] == [(42, False), (3.0, False), (42, True), (3.0, True)]


def test_a_file_that_can_neither_be_read_nor_replaced_is_reported_once(folder):
    answer()
    for file in list(folder.glob("*.nb[ic]")):
        file.unlink()
        file.mkdir()
    machine_code.tell_not_kept.cache_clear()
    with pytest.warns(InputWarning, match=r"compiled policies are not kept, .*: Is a directory") as reported:
        assert [answer(), answer()] == [(42, False), (42, False)]
    assert len(reported) == 1


def test_a_full_disk_is_reported_and_the_run_goes_on(folder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    machine_code.tell_not_kept.cache_clear()
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.warns(InputWarning, match="compiled policies are not kept, .*: File too large"):
            assert answer() == (42, False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(folder.iterdir()) == []  # no part of a file, and no index of what is not there
    assert [answer(), answer()] == [(42, False), (42, True)]


@pytest.mark.parametrize("harm", ["another user's", "others may write"])
def test_code_in_a_folder_of_others_is_never_read(folder, monkeypatch, harm):
    assert [answer(), answer()] == [(42, False), (42, True)]
    if harm == "another user's":
        monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    else:
        folder.chmod(0o770)
    machine_code.folder.cache_clear()
    machine_code.tell_not_kept.cache_clear()
    with pytest.warns(InputWarning, match="not kept, .*: (it belongs to another user|other users can write to it)"):
        assert answer() == (42, False)
    assert not machine_code.is_kept("twice", "0" * 16)


def test_the_folder_is_for_its_user_only(folder):
    assert folder.stat().st_mode & 0o777 == 0o700


def kept(folder, name, age_s, size=10):
    for suffix in (".nbi", ".1.nbc"):
        file = folder / f"loop.{name}-.{machine_code.PYTHON}{suffix}"
        file.write_bytes(bytes(size))
        os.utime(file, 2 * (time.time() - age_s,))


def kept_names(folder):
    return sorted({file.name.split("-")[0] for file in folder.iterdir()})


def test_code_that_nobody_uses_is_removed(folder):
    kept(folder, "old", machine_code.UNUSED_S + 60)
    kept(folder, "young", machine_code.UNUSED_S - 60)
    kept(folder, "used", machine_code.UNUSED_S + 60)
    machine_code.touch("loop.used")
    machine_code.tidy()
    assert kept_names(folder) == ["loop.used", "loop.young"]


def test_the_oldest_goes_when_all_is_too_much(folder, monkeypatch):
    for age_s, name in enumerate(["new", "middle", "oldest"]):
        kept(folder, name, 100 * age_s, size=10)
    monkeypatch.setattr(machine_code, "MOST_BYTES", 40)
    machine_code.tidy()
    assert kept_names(folder) == ["loop.middle", "loop.new"]


def test_code_is_kept_by_name(folder):
    digest = "0123456789abcdef" * 4
    assert not machine_code.is_kept("run_events", digest)
    kept(folder, machine_code.name_of("run_events", digest), 0)
    assert machine_code.is_kept("run_events", digest)
    assert not machine_code.is_kept("run_block", digest)


def test_a_folder_that_cannot_be_made_is_reported_and_does_without(tmp_path):
    (tmp_path / "file").write_text("no folder")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file")}
    code = (
        "import vinesim as vs\n"
        "print(vs.simulate(vs.read_scenario('examples/quickstart.yaml'), engine='compiled').exit_reason)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout == "ALL_DONE\n"
    assert "compiled policies are not kept" in done.stderr


def test_linear_algebra_is_loaded_only_by_kernels_that_need_it():
    code = (
        "import sys\n"
        "import vinesim.jit.kernels as kernels\n"
        "import numba, numpy as np\n"
        "assert kernels.njit(**kernels.OPTIONS)(lambda x: x + 1)(1) == 2\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "a = np.eye(3)\n"
        "assert numba.njit(lambda a: np.dot(a, a))(a).sum() == 3.0\n"
        "assert 'scipy.linalg' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
