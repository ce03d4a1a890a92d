# Makes or reuses a virtual environment of this checkout; sourced by quickstart and test.
# shellcheck shell=sh

# fail WHAT WHY TRY: the three-part error, exit 3 (something needed is missing).
fail() {
    printf 'error: %s\nwhy:   %s\ntry:   %s\n' "$1" "$2" "$3" >&2
    exit 3
}

hash_of_stdin() {
    if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

# find_python NEWEST: prints a Python 3.10 .. 3.NEWEST that can make virtual environments.
find_python() {
    newest=$1
    for candidate in ${PTEXPLORE_PYTHON:-} python3 python3.13 python3.12 python3.11 python3.10 python3.14 python; do
        command -v "$candidate" >/dev/null 2>&1 || continue
        "$candidate" -c "import sys, venv, ensurepip
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, $newest))" >/dev/null 2>&1 || continue
        command -v "$candidate"
        return 0
    done
    fail "no Python that can make a virtual environment" \
        "none of python3, python3.10 … on PATH is 3.10 to 3.$newest with the modules venv and ensurepip" \
        "apt-get install python3 python3-venv    (or set PTEXPLORE_PYTHON=/path/to/python)"
}

# stamp_of KIND FILE...: what a finished environment was made from.
stamp_of() {
    kind=$1
    shift
    { echo "$kind"; pwd -P; cat "$@"; } | hash_of_stdin
}

# usable FOLDER NEWEST: an environment that works where it lies; one that was moved has scripts naming its old place.
usable() {
    grep -qF "$1/bin/" "$1/bin/pip" 2>/dev/null && "$1/bin/python" -c "import pip, sys
sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, $2))" >/dev/null 2>&1
}

# ensure_venv FOLDER NEWEST STAMP PIP_ARGUMENT...: the environment, made only when the stamp differs.
# $compiled: the modules, apart by spaces, that Python compiles then with all that they import; only torch where it is not set.
# That goes on in the background: wait_for_compiled.
# The stamp is written last, so an interrupted run is done again.
ensure_venv() {
    newest=$2 stamp=$3
    case $1 in /*) venv=$1 ;; *) venv=$(pwd -P)/$1 ;; esac
    shift 3
    if [ "$(cat "$venv/.ptexplore-stamp" 2>/dev/null)" = "$stamp" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        return 0
    fi
    if [ -e "$venv" ] && [ ! -e "$venv/pyvenv.cfg" ]; then
        fail "$venv is in the way" "it is there and is no virtual environment" "move it away and run this again"
    fi
    rm -f "$venv/.ptexplore-stamp"
    if ! usable "$venv" "$newest"; then
        python=$(find_python "$newest") || exit 3
        rm -rf "$venv"
        echo "making $venv with $("$python" --version)" >&2
        "$python" -m venv "$venv" || fail "could not make $venv" "python -m venv failed" "look at its message above"
    fi
    echo "installing into $venv (the first time this takes minutes)" >&2
    # Of what is installed most is never imported: Python compiles the rest when it first is.
    "$venv/bin/python" -m pip install -qq --disable-pip-version-check --no-compile "$@" >&2 || fail \
        "pip could not install what is needed" "see its message above" \
        "check the network and pip's own configuration, then run this again"
    # A probe leaves no file beside torch, so it would compile torch anew each time.
    for module in ${compiled:-torch}; do echo "import $module"; done |
        env -u PYTHONDONTWRITEBYTECODE "$venv/bin/python" - >/dev/null 2>&1 &
    compiling=$!
    echo "$stamp" >"$venv/.ptexplore-stamp"
}

# wait_for_compiled: until what ensure_venv has compiled, if it has, is.
wait_for_compiled() {
    [ -z "${compiling:-}" ] || wait "$compiling" || true
    compiling=
}

# with_lock FILE: holds FILE until this shell ends, where the machine has flock.
with_lock() {
    mkdir -p "$(dirname "$1")"
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$1"
        flock 9
    fi
}
