"""The real clients: pinned packages in a virtual environment that is made once, under build/.

Where it cannot be made (no package index is reached, no `venv` module) the scenario that wants it is skipped, with the reason.
"""

import fcntl
import hashlib
import os
import subprocess
import sys

from world import SOURCE, Skipped

PINS = ["openai==3.51.0", "anthropic==2.10.0"]
LIMIT = 240  # Seconds to fetch and unpack some 30 MB.


def client_python():
    """The interpreter that has the clients."""
    if os.environ.get("ASSAY_NO_CLIENTS"):
        raise Skipped("ASSAY_NO_CLIENTS is set")
    folder = SOURCE / "build/clients" / hashlib.sha256(" ".join(PINS).encode()).hexdigest()[:12]
    folder.parent.mkdir(parents=True, exist_ok=True)
    python = folder / "bin/python"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Scenarios run side by side, and make it once.
        if not (folder / "whole").exists():
            make(folder, python)
    return python


def make(folder, python):
    for words in ([sys.executable, "-m", "venv", "--clear", folder], [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PINS]):
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Skipped(f"the clients were not to be had within {LIMIT} s") from None
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise Skipped(f"the clients cannot be had here: {lines[-1] if lines else 'no reason was given'}")
    (folder / "whole").touch()
