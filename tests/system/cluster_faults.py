"""A cluster to which bad things are done, and what has to hold whatever was done (the oracle of docs/faults.md).

A `Harmed` cluster adds to `Cluster` one attempt at a time (whose refusal is seen, not retried away), writers that keep
what was acknowledged to them, and `check`: nothing acknowledged is lost or doubled, every member holds the same records
with a chain that verifies, and all are level again within the time that the matrix gives.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter

from cluster import Cluster
from network import Network, NoNetwork
from world import BIN, PATIENCE, Skipped, eventually, expect

BOTH = ["coordinator", "ingress"]
HEALED = 30.0  # Seconds until all live members are level again.
PACE = 0.05  # Seconds between two records of one writer: a scenario's fit into one answer of the ledger (1,000).
LEVEL = PATIENCE + HEALED  # The same, with what a busy machine may add.


def is_slow():
    """Whether the matrix's own numbers are wanted (tests/system/run --slow)."""
    return os.environ.get("ASSAY_SLOW") == "1"


def passed(seconds):
    """What has to hold for a while is looked at when so many seconds are over."""
    until = time.monotonic() + seconds
    eventually(lambda: time.monotonic() > until, f"{seconds} s pass", seconds + 10)


class Writers:
    """Threads that put records, one after the other, each said again until it is acknowledged."""

    def __init__(self, w, places, tag):
        self.acknowledged = []  # (when its last attempt began, when it was acknowledged, name)
        self.refused = []  # what an attempt got that was not acknowledged
        self.is_over = threading.Event()
        self.threads = [threading.Thread(target=self._put, args=(w, at, f"{tag}-{at}"), daemon=True) for at in places]

    def _put(self, w, at, tag):
        for i in range(100000):
            while not self.is_over.is_set():
                begun = time.monotonic()
                try:
                    status, said = w.ask_admin(at, "POST", "apply", w.project(f"{tag}-{i}"), 10)
                except (OSError, http.client.HTTPException, ValueError) as why:
                    status, said = 0, str(why)
                if status == 200:
                    self.acknowledged.append((begun, time.monotonic(), f"{tag}-{i}"))
                    self.is_over.wait(PACE)
                    break
                self.refused.append((at, status, said))
                self.is_over.wait(0.02)
            if self.is_over.is_set():
                return

    def names(self):
        return [name for _, _, name in list(self.acknowledged)]

    def more(self, count, patience=PATIENCE):
        """As many further acknowledgements."""
        least = len(self.acknowledged) + count
        eventually(lambda: len(self.acknowledged) >= least, f"{count} more records are acknowledged", patience)

    def after(self, since):
        """Seconds from then to the first acknowledgement of what was asked from then on."""
        return min(done for begun, done, _ in list(self.acknowledged) if begun >= since) - since

    def silence(self, since, until):
        """The share of that span in which nothing was acknowledged, a second at a time."""
        whole = int(until - since)
        seconds = {int(done - since) for _, done, _ in list(self.acknowledged) if since <= done < since + whole}
        return 1 - len(seconds) / whole

    def rate(self, since, until):
        """Acknowledgements per second in that span of `time.monotonic()`."""
        return sum(since <= done < until for _, done, _ in list(self.acknowledged)) / (until - since)

    def p99(self, since, until):
        """Seconds from an attempt to its acknowledgement, of those that were begun in that span."""
        took = sorted(done - begun for begun, done, _ in list(self.acknowledged) if since <= begun < until)
        expect(len(took) >= 100, "enough records for a 99th percentile", len(took))
        return took[int(len(took) * 0.99)]


def within(what, figure, bound, unit="times"):
    """A bound of the matrix, of the long form only: the short one runs beside others. Printed, for whoever writes it down."""
    if is_slow():
        print(f"  {what}: {figure:.2f} {unit} (at most {bound})", flush=True)
        expect(figure <= bound, what, figure, bound)


class Harmed(Cluster):
    def __init__(self, **roles):
        super().__init__(**(roles or {"a": BOTH, "b": BOTH, "c": BOTH}))
        self.paused = set()
        self.more = {}  # By member: what its environment has besides.

    def spawn(self, *words, log="other.log", env=None):
        more = self.more.get(log.removesuffix(".log"), {})
        return super().spawn(*words, log=log, env=env or self.environment(**more))

    # -- asking ----------------------------------------------------------------------------------

    @staticmethod
    def project(name):
        return {"files": [{"name": "p.yaml", "text": f"project: {name}\n"}]}

    @staticmethod
    def large(name):
        """A record of 40 kB, so that what is free inside the files is soon used up."""
        labels = "".join(f"  l{number}: {'x' * 4000}\n" for number in range(10))
        return {"files": [{"name": "p.yaml", "text": f"pool: {name}\nfamily: plugin\nlabels:\n{labels}"}]}

    def open_admin(self, at, method, path, body=None, patience=PATIENCE):
        """The request is sent; its answer can be fetched later."""
        connection = http.client.HTTPConnection("localhost", timeout=patience)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(patience)
        connection.sock.connect(str(self.members[at].data / "run/admin.sock"))
        connection.request(method, f"/assay/v1/{path}", None if body is None else json.dumps(body))
        return connection

    def ask_admin(self, at, method, path, body=None, patience=PATIENCE):
        """One call at that member's admin socket: status and document."""
        connection = self.open_admin(at, method, path, body, patience)
        try:
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def read_admin(self, at, path):
        """The same for what may be no document: status and text."""
        connection = self.open_admin(at, "GET", path)
        try:
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()

    def records(self, at):
        """The newest ones, as that member's ledger or the leader's has them."""
        status, said = self.ask_admin(at, "GET", "ledger?limit=1000")
        expect(status == 200, "the ledger is read", status, said)
        return said["records"]

    def try_put(self, at, name, patience=PATIENCE):
        """One attempt at one record: its status."""
        return self.ask_admin(at, "POST", "apply", self.project(name), patience)[0]

    @contextlib.contextmanager
    def writing(self, *places, tag="w"):
        load = Writers(self, places, tag)
        for one in load.threads:
            one.start()
        try:
            yield load
        finally:
            load.is_over.set()
            for one in load.threads:
                one.join(30)

    def term(self, at=None):
        return self.cluster(at)["term"]

    def followers(self):
        lead = self.leader()
        return [name for name in self.alive() if name != lead]

    # -- harming ---------------------------------------------------------------------------------

    def pause(self, name):
        self.members[name].process.send_signal(signal.SIGSTOP)
        self.paused.add(name)

    def resume(self, name):
        self.members[name].process.send_signal(signal.SIGCONT)
        self.paused.discard(name)

    def alive(self):
        return [name for name in super().alive() if name not in self.paused]

    @contextlib.contextmanager
    def injected(self, name, *how):
        """System calls of that member as strace spoils them, from now to the end of the block."""
        if not shutil.which("strace"):
            raise Skipped("strace is missing")
        log = self.root / f"strace-{name}.log"
        spoiler = subprocess.Popen(["strace", "-f", "-o", log, "-p", str(self.members[name].process.pid), *how],
                                   stderr=subprocess.PIPE, text=True, env=self.environment())
        try:
            first = spoiler.stderr.readline()
            if "attached" not in first:
                raise Skipped(f"no process can be traced here: {first.strip()}")
            yield log
        finally:
            spoiler.terminate()
            spoiler.stderr.close()
            spoiler.wait(20)

    def ends(self, name, code, *parts):
        """That member ends by itself, so, and its log names every one of `parts`."""
        found = self.members[name].process.wait(PATIENCE)
        self.members[name].process = None
        self.says(name, *parts)
        expect(found == code, f"{name} ends with {code}", found, self.log(f"{name}.log"))

    def says(self, name, *parts):
        text = self.log(f"{name}.log")
        for part in parts:
            expect(part in text, f"`{part}` is named by {name}", text)

    def refuses_to_start(self, name, code, *parts):
        member = self.members[name]
        member.process = self.spawn(member.program, "--config", member.config, log=f"{name}.log")
        self.ends(name, code, *parts)

    def close(self, is_failed=False):
        for name in list(self.paused):
            self.resume(name)
        super().close(is_failed)

    # -- what has to hold --------------------------------------------------------------------------

    def check(self, names=()):
        """O1, O2, O3 and O6, at every member that lives."""
        coordinators = [n for n in self.alive() if "coordinator" in self.members[n].roles]

        def level():
            seqs = {n: self.cluster(n)["seq"] for n in self.alive()}
            return len(set(seqs.values())) == 1
        eventually(level, "all members are level", LEVEL)
        copies = {}
        for name in coordinators:
            self.lead(name)
            self.at(name, "ledger", "verify").is_ok()
            records = self.records(name)
            copies[name] = sorted(records, key=lambda r: r["seq"])
            found = Counter(r["summary"].split()[0] for r in records if r["summary"].endswith("project declared"))
            if len(records) == 1000:  # Older ones are not in one answer: that they are there shows elsewhere.
                for one in self.ask_admin(name, "GET", "projects")[1]["items"]:
                    found.setdefault(one["name"], 1)
            wrong = {one: found.get(one, 0) for one in names if found.get(one, 0) != 1}
            expect(not wrong, f"every acknowledged record is there once at {name}", wrong)
        # Who leads for the first time issues keys for its errands, so a later one may have more; never others.
        # By number: an answer holds 1,000, and the later one's begins later.
        known = {}
        for name, records in copies.items():
            first = next(((r, known[r["seq"]]) for r in records if known.setdefault(r["seq"], r) != r), None)
            expect(not first, f"{name} has the same records as the others", first)
        self.same_state(coordinators)

    def same_state(self, names):
        """All rows of these members, byte by byte: the root that ends a backup is over them."""
        def are_equal():
            roots = {name: self.state_root(name) for name in names}
            return len(set(roots.values())) == 1
        eventually(are_equal, "the members have one state", LEVEL)

    def state_root(self, name):
        file = self.root / f"state-of-{name}"
        self.at(name, "cluster", "backup", file).is_ok()
        ends = file.read_bytes()[-64:]  # The root, and the digest of the whole file.
        file.unlink()
        return ends[:32].hex()

    def lead(self, name):
        """Leadership is sent there, whoever has it."""
        def leads():
            if self.leader() == name:
                return True
            self.at(self.leader(), "cluster", "transfer", name)
            return self.leader() == name
        eventually(leads, f"{name} leads")


class Networked(Harmed):
    """Each member in a namespace of its own, so that what lies between them can be cut and spoilt."""

    def __init__(self, **roles):
        self.network = Network()
        try:
            super().__init__(**roles)
            for number, name in enumerate(self.members, 1):
                self.network.add(name, f"10.77.0.{number}")
            self.network.start()
        except NoNetwork as why:
            raise Skipped(str(why)) from None

    def add(self, name, roles=tuple(BOTH)):
        member = super().add(name, roles)
        text = member.config.read_text()
        for part in ("agents", "peers"):
            text = text.replace(f'{part}: {{listen: "{member.address}:', f'{part}: {{listen: "10.77.0.{len(self.members)}:')
        member.config.write_text(text)
        return member

    def begin(self, name):
        with self.network.inside(name):
            super().begin(name)

    def sees(self, at, other):
        return next(m["state"] for m in self.cluster(at)["members"] if m["name"] == other)

    def close(self, is_failed=False):
        super().close(is_failed)
        self.network.close()


def three():
    return Harmed()
