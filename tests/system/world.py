"""One real standalone for one scenario: assayd, its agent, and a runtime that is fake unless said otherwise.

A `World` owns a temporary folder and whatever was started with it. It promises that nothing lives on after `close`:
every process that has the folder in its words or its environment is ended by id, and those that should have been gone
by themselves are reported. It waits by polling with deadlines, never by a fixed pause, and uses no fixed port.
"""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("ASSAY_BIN", SOURCE / "build/dev/bin"))
FAKE = SOURCE / "tests/support/fake_llama_server.py"
PATIENCE = 60.0  # Seconds for what takes less than one when the machine is idle.


class Failed(AssertionError):
    pass


class Skipped(Exception):
    pass


def expect(holds, what, *seen):
    if not holds:
        raise Failed(what + "".join(f"\n    {one}" for one in seen))


def eventually(look, what, patience=PATIENCE):
    """The first true value of `look`; it may raise OSError or Failed, which count as not yet."""
    until = time.monotonic() + patience
    last = None
    while True:
        try:
            last = look()
            if last:
                return last
        except (OSError, http.client.HTTPException, Failed) as why:
            last = why
        if time.monotonic() > until:
            raise Failed(f"not within {patience:.0f} s: {what}; last seen: {str(last)[:600]}")
        time.sleep(0.05)


def processes_of(mark):
    """Ids of the processes that have `mark` in their words or environment, without us."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{entry}/cmdline").read_bytes()
            if words and (mark in words or mark in Path(f"/proc/{entry}/environ").read_bytes()):
                found.append(int(entry))
    return found


def is_alive(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return False


class Said:
    """What a program said before it ended."""

    def __init__(self, words, done):
        self.words = words
        self.code = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    def __str__(self):
        return f"$ {' '.join(map(str, self.words))}\n    exit {self.code}\n    out: {self.out[-700:]}\n    err: {self.err[-1500:]}"

    def is_ok(self):
        expect(self.code == 0, "a command failed", self)
        return self

    def ends(self, code, *parts):
        """It ended so, and names every one of `parts`."""
        expect(self.code == code, f"exit code {code} was expected", self)
        for part in parts:
            expect(part in self.out + self.err, f"`{part}` is not named", self)
        return self

    def json(self):
        return json.loads(self.is_ok().out)


class Answer:
    def __init__(self, status, headers, body, is_whole=True):
        self.status = status
        self.headers = headers
        self.body = body
        self.is_whole = is_whole

    def __str__(self):
        return f"{self.status} {self.headers} {self.body[:1500]!r}"

    def json(self):
        return json.loads(self.body)

    def error(self):
        return self.json()["error"]

    def fails(self, status, code, *parts):
        expect(self.status == status and self.error()["code"] == code, f"{status} {code} was expected", self)
        for part in parts:
            expect(part in self.error()["message"], f"`{part}` is not named", self)
        return self


class World:
    def __init__(self, root=None):
        self.root = Path(root or tempfile.mkdtemp(prefix="assay-system-"))
        self.data = self.root / "data"
        self.control = self.root / "control"
        self.path = self.root / "runtime"
        self.started = []
        self.mounts = []
        self.assayd = None
        for folder in (self.control, self.path, self.root / "model", self.root / "home"):
            folder.mkdir()
        self.model_file = self.root / "model/tiny.gguf"
        self.model_file.write_bytes(b"GGUF" + bytes(range(256)) * 64)
        self.write_runtime()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(kind is not None)

    # -- files ---------------------------------------------------------------------------------

    def write_runtime(self, comment="1"):
        """The program `llama-server` of the runtime's folder; another comment is another stack."""
        program = self.path / "llama-server"
        new = self.path.parent / "llama-server.new"
        new.write_text(f"#!/bin/sh\n# {comment}\nexec /usr/bin/python3 -E -s {FAKE} --control {self.control} \"$@\"\n")
        new.chmod(0o755)
        new.rename(program)

    def behave(self, **how):
        new = self.control / "behave.new"
        new.write_text(json.dumps(how))
        new.rename(self.control / "behave.json")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def sha256(self):
        done = subprocess.run(["sha256sum", self.model_file], capture_output=True, text=True, check=True)
        return done.stdout.split()[0]

    def catalog(self, implementations=None, slots=2, extra="", task="chat"):
        """A folder with everything that one model on the local pool needs."""
        items = "".join(f"""
  - id: {name}
    ask: "{ask}"
    expect: {expected}""" for name, ask, expected in ITEMS)
        listed = implementations if implementations is not None else f"""
implementations:
  - pool: local
    artifact: q4
    status: production
    slots: {slots}
    limits: {{context-tokens: 128, output-tokens: 64}}
    args: {{ctx-size: {128 * slots}}}"""
        self.write("catalog/catalog.yaml", f"""pool: local
family: cpu
compatibility: true
---
artifact: q4
model: tiny
kind: gguf
location: {self.model_file.parent}
files:
  - path: tiny.gguf
    sha256: sha256:{self.sha256()}
profile: llama-server
---
model: tiny
contract:
  task: {task}
  limits: {{context-tokens: 128, output-tokens: 64, body: 64 KiB}}
evaluation-policy: short{listed}
---
project: default
---
key: tryout
project: default
class: interactive
---
policy: short
suite: short-suite
score-at-least: 40 %
items-at-least: 8
distinct-answers-at-least: 4
{extra}""")
        self.write("catalog/suite.yaml", f"""suite: short-suite
task: {"completion" if task == "completion" else "chat"}
filler: " a"
deadline: 60 s
frees-within: 30 s
sampling: {{temperature: 0, max-tokens: 8}}
items:{items}
""")
        for profile in ("llama-server", "http"):
            shutil.copy(SOURCE / f"deploy/runtimes/{profile}.yaml", self.root / "catalog")
        return self.root / "catalog"

    # -- programs ------------------------------------------------------------------------------

    def environment(self, **more):
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.root / "home"), "LANG": "C.UTF-8",
                "ASSAY_SERVER": f"unix:{self.data}/run/admin.sock", "ASSAY_TEST_ROOT": str(self.root), **more}

    def run(self, program, *words, patience=PATIENCE, text=None, env=None):
        words = [BIN / program, *map(str, words)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, input=text, timeout=patience,
                                  env=env or self.environment(), stdin=None if text else subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failed(f"no end within {patience} s: {' '.join(map(str, words))}") from None
        return Said(words, done)

    def assay(self, *words, **how):
        return self.run("assay", *words, **how)

    def raw_output(self, program, *words):
        """Standard output that is no text."""
        done = subprocess.run([BIN / program, *map(str, words)], capture_output=True, timeout=PATIENCE, check=False,
                              env=self.environment(), stdin=subprocess.DEVNULL)
        expect(done.returncode == 0, "a command failed", words, done.stderr)
        return done.stdout

    def get(self, kind):
        return self.assay("get", kind, "-o", "json").json()

    def item(self, kind, name):
        return self.assay("describe", kind, name, "-o", "json").json()["item"]

    def spawn(self, *words, log="other.log", env=None):
        with open(self.root / log, "ab") as out:
            process = subprocess.Popen(list(map(str, words)), stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                       env=env or self.environment(), start_new_session=True)
        self.started.append(process)
        return process

    def start(self, *more):
        """assayd, up to its first answer."""
        begun = self.spawn(BIN / "assayd", "--standalone", self.data, "--runtime-path", self.path, *more, log="assayd.log")
        self.assayd = begun

        def is_up():
            expect(begun.poll() is None, "assayd ended", self.log())
            return self.assay("status").code == 0
        eventually(is_up, "assayd answers")
        return self

    def log(self, name="assayd.log"):
        with contextlib.suppress(OSError):
            return (self.root / name).read_text()[-2000:]
        return ""

    def end_assayd(self, how=signal.SIGTERM):
        self.assayd.send_signal(how)
        return self.assayd.wait(PATIENCE)

    def agent_pid(self):
        return int(((self.data / "agent/lock").read_text().split() or ["0"])[0])

    def mount_tmpfs(self, folder, size):
        folder.mkdir(mode=0o700)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "assay-test", folder],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skipped(f"no tmpfs can be mounted here: {done.stderr.strip()}")
        self.mounts.append(folder)

    # -- the usual way -------------------------------------------------------------------------

    def replicas(self, *fields):
        return [tuple(one[f] for f in fields) if len(fields) > 1 else one[fields[0]] for one in self.get("replicas")]

    def wait_ready(self, count=1):
        eventually(lambda: self.assay("status", "-o", "json").json()["replicas_ready"] >= count,
                   f"{count} replicas are ready: {self.get('replicas')}")

    def implementation(self):
        return self.get("implementations")[0]["name"]

    def qualify(self, name=None, code=0):
        said = self.assay("qualify", name or self.implementation(), "--wait", "--timeout", "100", patience=120)
        return said.ends(code)

    def promote(self, name=None):
        return self.assay("promote", name or self.implementation(), "--wait", "--timeout", "60", patience=90).is_ok()

    def serve(self, **how):
        """Started, applied, qualified and promoted."""
        if not self.assayd:
            self.start()
        self.assay("apply", "-f", self.catalog(**how)).is_ok()
        self.qualify()
        self.promote()
        eventually(lambda: self.chat("capital of France").status == 200, "the first chat is answered")
        return self

    # -- HTTP ----------------------------------------------------------------------------------

    def endpoint(self, name="ingress"):
        host, port = json.loads((self.data / "run/endpoints.json").read_text())[name].rsplit(":", 1)
        return host, int(port)

    def key(self):
        return re.search(r"OPENAI_API_KEY=(\S+)", (self.data / "run/env").read_text())[1]

    def post(self, body, path="/v1/chat/completions", headers=None, where=None, key=None):
        """One request; a body that is cut gives what came, with `is_whole` false."""
        connection = http.client.HTTPConnection(*(where or self.endpoint()), timeout=PATIENCE)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request("POST", path, raw, {"Content-Type": "application/json",
                                                   "Authorization": f"Bearer {key or self.key()}", **(headers or {})})
            answer = connection.getresponse()
            found = {k.lower(): v for k, v in answer.getheaders()}
            try:
                return Answer(answer.status, found, answer.read())
            except http.client.IncompleteRead as cut:
                return Answer(answer.status, found, cut.partial, False)
        finally:
            connection.close()

    def admin(self, method, path, body=None):
        """One call of the admin API: its status and document."""
        connection = http.client.HTTPConnection("localhost", timeout=PATIENCE)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.sock.connect(str(self.data / "run/admin.sock"))
            connection.request(method, f"/assay/v1/{path}", None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def chat(self, text, **more):
        return self.post({"model": "tiny", "messages": [{"role": "user", "content": text}], **more})

    def raw(self, sent, patience=PATIENCE):
        """Bytes to the ingress, and all that comes back until it closes or a whole answer came."""
        with socket.create_connection(self.endpoint(), timeout=patience) as link:
            with contextlib.suppress(OSError):
                link.sendall(sent)
            answer = http.client.HTTPResponse(link)
            answer.begin()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())

    def seen(self, event="got", part=""):
        """What reached the runtime."""
        with contextlib.suppress(OSError):
            lines = (self.control / "requests.jsonl").read_text().splitlines()
            return [one for one in map(json.loads, lines) if one["event"] == event and part in one["body"]]
        return []

    def replica_folder(self):
        return max((self.data / "agent/replicas").glob("*/endpoint.json"), key=os.path.getmtime).parent

    def replica_endpoint(self):
        """Address and secret of the newest replica, as the agent wrote them down."""
        document = json.loads((self.replica_folder() / "endpoint.json").read_text())
        return ("127.0.0.1", document["port"]), document.get("secret", document.get("key"))

    def runtime_pid(self):
        """The process that answers as llama-server; only it has the port in its words."""
        mark = f"--control\0{self.control}\0".encode()
        found = [p for p in processes_of(mark) if mark in Path(f"/proc/{p}/cmdline").read_bytes()]
        return found[0] if found else None

    # -- the end -------------------------------------------------------------------------------

    def agents(self):
        """Processes that run the agent of our data directory, from their first moment on."""
        words = [b"run", b"--data", str(self.data).encode()]
        found = []
        for pid in processes_of(str(self.root).encode()):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cmdline").read_bytes().split(bytes(1))[1:4] == words:
                    found.append(pid)
        return found

    def end_started(self, which):
        ending = [process for process in self.started if which(process)]
        for process in ending:
            if process.poll() is None:
                process.terminate()
        for process in ending:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def close(self, is_failed=False):
        # assayd first: it starts an agent again that died, and the one that is told to end must be the last.
        self.end_started(lambda process: Path(process.args[0]).name == "assayd")
        with contextlib.suppress(Failed):
            eventually(lambda: not (found := self.agents()) or found == [self.agent_pid()], "an agent that begins has its lock or found it taken", 15)
        if (self.data / "agent/lock").exists():
            subprocess.run([BIN / "assay-agent", "stop", "--data", self.data, "--stop-replicas"], env=self.environment(),
                           capture_output=True, timeout=PATIENCE, check=False)
        self.end_started(lambda process: True)
        mark = str(self.root).encode()
        left = []
        with contextlib.suppress(Failed):
            eventually(lambda: not processes_of(mark), "nothing lives on", 15)
        for pid in processes_of(mark):
            with contextlib.suppress(OSError):
                left.append(f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode()[:200]}")
                os.kill(pid, signal.SIGKILL)
        if left and (self.data / "agent/agent.log").exists():
            left.extend((self.data / "agent/agent.log").read_text().splitlines()[-20:])
        for folder in self.mounts:
            subprocess.run(["umount", folder], capture_output=True, check=False)
        if is_failed and os.environ.get("ASSAY_KEEP"):
            print(f"    kept: {self.root}")
        else:
            shutil.rmtree(self.root, ignore_errors=True)
        if not is_failed:
            expect(not left, "processes lived on", *left)


ITEMS = [
    ("france", "What is the capital of France?", "{contains: Paris}"),
    ("japan", "What is the capital of Japan?", "{contains: Tokyo}"),
    ("italy", "What is the capital of Italy?", "{contains: Rome}"),
    ("sum", "What is 12 + 13?", "{number: 25}"),
    ("week", "How many days are in a week?", "{number: 7}"),
    ("spider", "How many legs does a spider have?", "{number: 8}"),
    ("hot", "What is the opposite of hot?", "{contains: cold}"),
    ("banana", "Repeat this word: banana", "{exact: banana}"),
]
