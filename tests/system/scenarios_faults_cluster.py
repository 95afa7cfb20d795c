"""The fault matrix with real coordinators; docs/faults.md has every row. Each ends with `check`, the common oracle."""

import contextlib
import json
import os
import random
import shutil
import socket
import threading
import time
import uuid

from cluster_faults import BOTH, Harmed, is_slow, three, within
from scenarios_blobs import job_file, name_of, place_of
from world import BIN, eventually, expect


def scenario_f02_follower_killed():
    """kill -9 of a follower: those who write elsewhere are not refused once, and it comes back level."""
    with three().form() as w:
        lead = w.leader()
        gone, other = w.followers()
        with w.writing(lead, other) as load:
            begun = time.monotonic()
            load.more(300 if is_slow() else 10)
            term = w.term(lead)
            killed = time.monotonic()
            w.kill(gone)
            load.more(300 if is_slow() else 20)
            if is_slow():
                within("F2, p99 of an acknowledgement after the kill", load.p99(killed, time.monotonic()) / load.p99(begun, killed), 2)
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
                began = time.monotonic()
                w.ends(lead, 74, "Input/output error")
                within("F12, from the first commit that fails to the end", time.monotonic() - began, 1, "s")
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
            begun = time.monotonic()
            load.more(300 if is_slow() else 10)
            term = w.term(lead)
            delay = "2s" if is_slow() else "100ms"
            slowed = time.monotonic()
            with w.injected(slow, "-e", "trace=fdatasync", "-e", f"inject=fdatasync:delay_enter={delay}"):
                load.more(300 if is_slow() else 30)
                if is_slow():
                    within("F13, p99 of an acknowledgement beside a slow follower",
                           load.p99(slowed, time.monotonic()) / load.p99(begun, slowed), 2)
            expect(not load.refused or w.term(lead) != term, "nothing was refused", *load.refused[:3])
        w.settled()
        w.check(load.names())


def scenario_f13_slow_sync_of_leader():
    """A leader whose syncs take half a second, and the others' do not, says so and another one leads."""
    with three().form() as w:
        w.lead("a")
        with w.writing("b", "c") as load:
            load.more(10)
            with w.injected("a", "-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=500ms"):
                began = time.monotonic()
                eventually(lambda: w.leader() != "a", "another one leads")
                within("F13, until another one leads", time.monotonic() - began, 10, "s")
                load.more(10)
            load.more(5)
        w.settled()
        w.check(load.names())


def flipped(mark):
    """With one bit the other way; twice is as it was."""
    return bytes([mark[0] ^ 1]) + mark[1:]


def flip(file, mark):
    """One bit in every place where `mark` stands; how many places there were."""
    data = file.read_bytes()
    file.write_bytes(data.replace(mark, flipped(mark)))
    return data.count(mark)


def put_for_good(w, member, mark):
    """A record that is in the member's state; its pages lie in the file before their commit is whole, a later one's do not."""
    state = w.members[member].data / "ledger/data.mdb"
    for name in (mark, "another"):
        w.put("a", name)
        eventually(lambda: name.encode() in state.read_bytes(), "the state's commit, which is a lazy one, is there")
    return state


def scenario_f15_truncated_store():
    """A store that was cut, or is gone, is refused with its reason; that disk joins anew under another id."""
    with three().form() as w:
        w.put("a", "before")
        w.kill("c")
        kept = w.root / "kept"
        shutil.copytree(w.members["c"].data, kept, ignore=lambda *_: ["admin.sock"])
        for name in ("raft/data.mdb", "ledger/data.mdb", "raft/journal"):
            file = w.members["c"].data / name
            os.truncate(file, file.stat().st_size // 2)
            w.refuses_to_start("c", 1, str(file))
            file.unlink()
            w.refuses_to_start("c", 1, str(file))
            shutil.copy(kept / name, file)
        w.put("b", "meanwhile")
        w.at("a", "cluster", "remove", "c", "--reason", "disk lost").is_ok()
        shutil.rmtree(w.members["c"].data)
        w.begin("c")
        w.join("c", at="b")
        w.settled()
        nodes = {m["name"]: m["node"] for m in w.cluster("c")["members"]}
        expect(nodes["c"] == 4, "under another id", nodes)
        w.check(["before", "meanwhile"])


def scenario_f22_last_comer_lost():
    """Who came last is lost for good and removed by a leader that never met it; another one takes its place."""
    with three().form() as w:
        w.kill("c")
        w.lead("b")
        w.patiently("b", "cluster", "remove", "c", "--reason", "disk lost")
        eventually(lambda: [m["name"] for m in w.cluster("a")["members"]] == ["a", "b"], "two are left")
        shutil.rmtree(w.members["c"].data)
        w.begin("c")
        w.join("c", at="a")
        w.settled()
        w.kill("a")
        w.put("b", "without-a")
        w.begin("a")
        w.settled()
        w.check(["without-a"])


def scenario_f23_ledger_gone():
    """A member whose ledger is gone, say because its disk is not mounted, does not found a twin of its cluster."""
    with three().form() as w:
        w.put("a", "before")
        w.kill("c")
        kept = w.root / "kept"
        kept.mkdir()
        for store in ("raft", "ledger"):
            shutil.move(w.members["c"].data / store, kept / store)
        w.refuses_to_start("c", 1, "is member 3 ('c') of cluster 'lab', and its ledger is gone", "assay cluster remove c")
        for store in ("raft", "ledger"):
            shutil.rmtree(w.members["c"].data / store, ignore_errors=True)
            shutil.move(kept / store, w.members["c"].data / store)
        w.begin("c")
        w.settled()
        w.check(["before"])


def scenario_cluster_half_done():
    """A join that came to nothing keeps a founding out of its directory, and bad names are refused before anything is made."""
    with three().form() as w:
        w.add("d")
        w.begin("d")
        for name in (" ", "x" * 200_000, "a/b"):
            status, said = w.ask_admin("d", "POST", "cluster/init", {"name": name})
            expect(status == 400 and "cannot have this name" in said["error"]["what"], "a bad name is refused", status, str(said)[:300])
        for body, what in (({"name": 1}, "is no string"), ({"nmae": "x"}, "is not known here")):
            status, said = w.ask_admin("d", "POST", "cluster/init", body)
            expect(status == 400 and what in said["error"]["what"], "a bad word is refused", status, said)
        token = w.token("a")
        for name in ("a", "b", "c"):
            w.kill(name)
        w.at("d", "cluster", "join", "-", text=token + "\n").ends(5)
        w.at("d", "cluster", "init").ends(4, "a join was begun here before", "assay cluster join")
        for name in ("a", "b", "c"):
            w.begin(name)
        eventually(lambda: w.at("d", "cluster", "join", "-", text=token + "\n").code == 0, "the join can be said again")
        w.settled()


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


def fill(folder):
    """A file there that takes all the room that is left."""
    ballast = folder / "ballast"
    with open(ballast, "ab", buffering=0) as file:
        with contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))
    return ballast


def scenario_f10_full_disk_of_leader():
    """A leader without room refuses and reads on; with room again it goes on by itself, and nothing is lost."""
    with three() as w:
        for member in w.members.values():
            w.mount_tmpfs(member.data, "32m")
        w.form()
        lead = w.leader()
        running = w.members[lead].process
        names = []

        def refused():
            ballast = fill(w.members[lead].data)
            names.append(f"full-{len(names)}")
            status, said = w.ask_admin(lead, "POST", "apply", w.large(names[-1]))
            if status != 200:
                return status, said, names.pop(), ballast
            return w.leader() != lead and (200, "another one leads", "", ballast)
        status, said, _, ballast = eventually(refused, "it is refused, or another one leads")
        expect(status in (200, 503, 507), "refused for want of room", status, said)
        expect(status != 507 or "full" in json.dumps(said), "the reason is named", said)
        expect(w.ask_admin(lead, "GET", "projects")[0] == 200, "reads go on")
        ballast.unlink()
        freed = time.monotonic()
        for at in w.alive():
            w.put(at, f"after-{at}")
        within("F10, until all take records again", time.monotonic() - freed, 10, "s")
        expect(running.poll() is None, "nothing was restarted", w.log(f"{lead}.log"))
        w.settled()
        w.check([f"after-{at}" for at in w.alive()])


def scenario_f14_bit_flip():
    """A bit that flipped in a journal keeps its member down; in a state or a blob it is found and mended; the others are unharmed."""
    with three().form() as w:
        w.patiently("a", "apply", "-f", w.catalog())
        file, text = job_file(w)
        w.patiently("a", "submit", file, "--model", "tiny")
        blob = place_of(w, "c", name_of(text))
        eventually(blob.exists, "c has the blob, too")
        mark = "bitflipped"
        state, journal = put_for_good(w, "c", mark), w.members["c"].data / "raft/journal"
        number = next(one["seq"] for one in w.records("a") if one["summary"].startswith(f"{mark} "))
        w.kill("c")
        expect(flip(journal, mark.encode()), "its bytes are in the log")
        w.refuses_to_start("c", 1, str(journal), "is damaged, and frame")
        expect(flip(journal, flipped(mark.encode())), "they are as they were")

        expect(flip(state, mark.encode()), "its bytes are in the state")
        blob.write_bytes(flipped(blob.read_bytes()))
        w.pause("a")
        w.pause("b")  # So that nobody leads whom it could take a sound state from.
        w.begin("c")

        def is_shut():
            status, said = w.read_admin("c", "ledger/export")
            return status == 409 and f"record {number}" in said
        eventually(is_shut, "c finds it, and shows nothing of its copy")
        w.resume("a")
        w.resume("b")
        w.settled()
        w.put("a", "meanwhile")
        eventually(lambda: "assay_ledger_mended 1" in w.metrics("c"), "it takes a sound state")
        w.says("c", f"record {number}", "a whole state of the leader's takes its place")
        expect("assay_ledger_damaged 0" in w.metrics("c"), "it is damaged no more")
        expect(flipped(mark.encode()) not in state.read_bytes(), "what was damaged is gone")
        eventually(lambda: not w.cluster("c")["problems"], "and nothing is wrong with it")
        eventually(lambda: blob.read_bytes() == text.encode(), "its blob is another member's copy")
        w.says("c", "the blob is damaged")
        eventually(lambda: "assay_blobs_damaged 0" in w.metrics("c"), "metrics say so")

        w.kill("c")  # And after a restart, alone from what is on its disk.
        w.begin("c")
        w.settled()
        w.lead("c")
        w.at("c", "ledger", "verify").is_ok()
        w.check([mark, "another", "meanwhile"])


def scenario_f22_members_change_under_kills():
    """Members come and go while leaders die: one change at a time, and who was removed raises no term."""
    with three().form() as w:
        w.add("d")
        w.begin("d")
        with w.writing("a", "b", "c") as load:
            load.more(5)
            w.join("d")
            gone = w.leader()
            w.kill(gone)
            load.more(5)
            w.begin(gone)
            w.settled()
            lead = w.leader()
            w.patiently(w.followers()[0], "cluster", "remove", lead)
            w.kill(lead)
            load.more(5)
            w.begin(lead)
            # It may have died before it heard that it was removed; then nobody tells it, and it asks for votes in vain.
            term = w.term(w.leader())
            load.more(20)
            # A busy machine may have one election of its own; who disturbs causes one after the other.
            expect(w.term(w.leader()) <= term + 1, "who was removed raises no term", term, w.term(w.leader()))
            load.is_over.set()
        w.kill(lead)
        left = [m["name"] for m in w.cluster()["members"]]
        expect(sorted(left) == sorted(w.alive()), "the others are left", left)
        w.settled()
        w.check(load.names())


def scenario_f26_key_taken_away():
    """From two seconds after the record nothing of a revoked member is accepted; a stranger's key never is."""
    with three().form() as w:
        w.lead("a")
        w.add("x")
        w.begin("x")
        w.kill("x")
        w.kill("c")
        own = w.members["c"].data / "keys"
        kept = w.root / "keys-of-c"
        shutil.copytree(own, kept)
        for file in (w.members["x"].data / "keys").iterdir():
            shutil.copy2(file, own)
        w.members["c"].process = w.spawn(BIN / "assayd", "--config", w.members["c"].config, log="c.log")
        eventually(lambda: w.members["c"].process.poll() is not None or w.ask_admin("c", "GET", "cluster")[0] == 200, "it runs")
        for i in range(20):
            if w.members["c"].process.poll() is None:
                expect(w.ask_admin("c", "POST", "apply", w.project(f"stranger-{i}"))[0] != 200, "nothing of it is accepted")
        expect(next(m["state"] for m in w.cluster("a")["members"] if m["name"] == "c") == "away", "it is not let in")
        w.kill("c")
        shutil.rmtree(own)
        shutil.copytree(kept, own)
        w.begin("c")
        w.settled()
        w.put("c", "before")
        w.at("a", "revoke", "host", "c", "--reason", "stolen").is_ok()
        until = time.monotonic() + 2
        eventually(lambda: time.monotonic() > until, "two seconds pass")
        for i in range(20):
            status, said = w.ask_admin("c", "POST", "apply", w.project(f"revoked-{i}"))
            expect(status != 200, "nothing of it is accepted", said)
        expect(next(m["state"] for m in w.cluster("a")["members"] if m["name"] == "c") != "up", "its links are cut")
        w.put("a", "after")
        w.kill("c")
        w.check(["before", "after"])
        names = {one["summary"].split()[0] for one in w.records("a")}
        expect(not [one for one in names if one.startswith(("stranger", "revoked"))], "no record is theirs", names)


def memory_of(process):
    """MiB in use."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00CURVE" + bytes(47)  # ZMTP 3.0, as a client begins.


def scenario_f27_rubbish_on_the_peers_port():
    """Rubbish, floods and handshakes that never end cost little, and those who may speak are heard."""
    with three().form() as w:
        lead = w.leader()
        victim = w.members[lead]
        gone = w.followers()[0]
        rng = random.Random(4)
        with contextlib.ExitStack() as open_links, w.writing(lead, w.followers()[1]) as load:
            load.more(5)
            before = memory_of(victim.process)
            for i in range(1000 if is_slow() else 250):
                link = open_links.enter_context(socket.create_connection((victim.address, 7104), timeout=10))
                with contextlib.suppress(OSError):
                    link.sendall(GREETING[:rng.randrange(len(GREETING) + 1)])
                if i % 5 == 0:
                    with contextlib.suppress(OSError):
                        link.sendall(GREETING + rng.randbytes(2000))
                if i % 50 == 0:
                    with contextlib.suppress(OSError):
                        link.sendall(b"\xff" * (1 << 20))
            load.more(10)
            w.kill(gone)
            w.begin(gone)
            w.settled()
            grown = memory_of(victim.process) - before
            expect(grown <= 64, "memory", f"{grown:.0f} MiB")
        w.check(load.names())


def scenario_cluster_of_five():
    """Five coordinators live through the loss of two, the leader among them; the third's is named, and all come back level."""
    with Harmed(a=BOTH, b=BOTH, c=BOTH, d=BOTH, e=BOTH) as w:
        w.form()
        with w.writing(*w.followers()[2:], tag="five") as load:
            load.more(10)
            for name in (w.leader(), w.followers()[0]):
                w.kill(name)
            load.more(10)
        gone = [name for name in w.members if name not in w.alive()]
        last = w.followers()[0]
        w.kill(last)
        left = w.alive()
        for name in left:
            status, said = w.ask_admin(name, "POST", "apply", w.project("lost"))
            expect(status == 503, "two of five decide nothing", status, said)
            said = eventually(lambda: next((p for p in w.cluster(name)["problems"] if "quorum is lost" in p), None), "it is named")
            for part in (*gone, last, "3 are needed", "assayd"):
                expect(part in said, f"`{part}` is named", said)
            w.at(name, "get", "projects").ends(0, load.names()[0], "no leader could be asked")
        for name in (last, *gone):
            w.begin(name)
        w.settled()
        w.put("e", "after")
        w.check([*load.names(), "after"])
