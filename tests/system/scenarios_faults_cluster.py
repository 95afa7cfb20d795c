"""The fault matrix with real coordinators; docs/faults.md has every row. Each ends with `check`, the common oracle."""

import json
import os
import shutil
import threading
import time
import uuid

from cluster_faults import is_slow, three
from world import eventually, expect


def scenario_f02_follower_killed():
    """kill -9 of a follower: those who write elsewhere are not refused once, and it comes back level."""
    with three().form() as w:
        lead = w.leader()
        gone, other = w.followers()
        with w.writing(lead, other) as load:
            load.more(10)
            term = w.term(lead)
            w.kill(gone)
            load.more(20)
            # On a starved machine a leader may change for want of time, which is another row's matter.
            expect(not load.refused or w.term(lead) != term, "nothing was refused", *load.refused[:3])
        w.begin(gone)
        w.settled()
        w.check(load.names())


def scenario_f05_leader_stopped():
    """A leader that slept knows of it: what it answers as current is current, and what it was told late is decided once."""
    with three().form() as w:
        for _ in range(20 if is_slow() else 1):
            old = w.leader()
            with w.writing(*w.alive(), tag=f"t{time.monotonic_ns()}") as load:
                load.more(10)
                w.pause(old)
                load.more(10)
            lead = w.leader()
            newest = f"n{time.monotonic_ns()}"
            w.put(lead, newest)
            # Both wait in its socket, and are the first that it reads when it goes on.
            read = w.open_admin(old, "GET", "projects")
            late = w.open_admin(old, "POST", "apply", w.project(f"late-{newest}"))
            w.resume(old)
            told = json.loads(read.getresponse().read())
            expect(told.get("freshness") != "linearizable" or newest in json.dumps(told), "no stale read", told)
            answer = late.getresponse()
            text = answer.read().decode()
            expect(answer.status in (200, 503), "a late proposal is decided by whoever leads, or refused", text)
            for _ in range(20):
                status, told = w.ask_admin(old, "GET", "projects")
                expect(status != 200 or told["freshness"] != "linearizable" or newest in json.dumps(told),
                       "no stale read", told)
            read.close()
            late.close()
            w.settled()
            w.check([*load.names(), newest, *([f"late-{newest}"] if answer.status == 200 else [])])


def scenario_f12_sync_fails():
    """A commit that fails ends the leader at once with its reason; nothing that it acknowledged hangs on it."""
    with three().form() as w:
        lead = w.leader()
        other = w.followers()[0]
        with w.writing(lead, other) as load:
            load.more(5)
            with w.injected(lead, "-e", "trace=fdatasync,fsync,msync", "-e", "inject=fdatasync,fsync,msync:error=EIO"):
                w.ends(lead, 74, "Input/output error")
            load.is_over.set()
        w.put(other, "goes-on")
        w.begin(lead)
        w.settled()
        w.check([*load.names(), "goes-on"])


def scenario_f13_slow_sync_of_follower():
    """A follower whose disk takes a tenth of a second for each sync delays nobody."""
    with three().form() as w:
        lead = w.leader()
        slow, other = w.followers()
        with w.writing(lead, other) as load:
            load.more(10)
            term = w.term(lead)
            delay = "2s" if is_slow() else "100ms"
            with w.injected(slow, "-e", "trace=fdatasync", "-e", f"inject=fdatasync:delay_enter={delay}"):
                load.more(30)
            expect(not load.refused or w.term(lead) != term, "nothing was refused", *load.refused[:3])
        w.settled()
        w.check(load.names())


def scenario_f15_truncated_store():
    """A store that was cut, or is gone, is refused with its reason; that disk joins anew under another id."""
    with three().form() as w:
        w.put("a", "before")
        w.kill("c")
        kept = w.root / "kept"
        shutil.copytree(w.members["c"].data, kept, ignore=lambda *_: ["admin.sock"])
        for store in ("raft", "ledger"):
            file = w.members["c"].data / store / "data.mdb"
            os.truncate(file, file.stat().st_size // 2)
            w.refuses_to_start("c", 1, str(file))
            file.unlink()
            w.refuses_to_start("c", 1, str(file))
            shutil.copy(kept / store / "data.mdb", file)
        w.put("b", "meanwhile")
        w.at("a", "cluster", "remove", "c", "--reason", "disk lost").is_ok()
        shutil.rmtree(w.members["c"].data)
        w.begin("c")
        w.join("c", at="b")
        w.settled()
        nodes = {m["name"]: m["node"] for m in w.cluster("c")["members"]}
        expect(nodes["c"] == 4, "under another id", nodes)
        w.check(["before", "meanwhile"])


def scenario_f29_retried():
    """One record_id, said ten times at all members and across a fail-over: one record, and one receipt."""
    with three().form() as w:
        w.patiently("a", "apply", "-f", "-", text="project: p\n---\nkey: k\nproject: p\nclass: interactive\n---\n"
                                                  "key: other\nproject: p\nclass: interactive\n")
        asks = [{"kind": "key", "name": name, "reason": "left", "record_id": new_id()} for name in ("k", "other")]
        told = [[], []]

        def say(at, which):
            def tried():
                status, said = w.ask_admin(at, "POST", "revoke", asks[which], 10)
                expect(status in (200, 503), "taken, or not now", status, said)
                return said["receipt"] if status == 200 else None
            told[which].append(eventually(tried, "it is answered"))
        threads = [threading.Thread(target=say, args=("abc"[i % 3], i // 3 % 2)) for i in range(12)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        w.kill(w.leader())
        for which in (1, 0, 1, 0):
            for at in w.alive():
                say(at, which)
        for which in (0, 1):
            expect(len(told[which]) == 10, "each was answered", told[which])
            expect(len({json.dumps({**one, "repeated": 0}, sort_keys=True) for one in told[which]}) == 1, "one receipt",
                   *told[which])
            expect(sum(not one["repeated"] for one in told[which]) <= 1, "one effect", *told[which])
        log = w.records(w.leader())
        for ask in asks:
            effects = [one for one in log if one["kind"] == "key_revoked" and one["summary"].startswith(f"{ask['name']} ")]
            expect(len(effects) == 1, "one record", ask, *log)
        w.check(["p"])


def new_id():
    """A UUIDv7."""
    stamp = time.time_ns() // 1_000_000
    number = stamp << 80 | 7 << 76 | (uuid.uuid4().int & (1 << 76) - 1)
    return str(uuid.UUID(int=number & ~(3 << 62) | 2 << 62))
