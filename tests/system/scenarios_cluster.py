"""Several coordinators: found, join, hand over, leave, die, come back."""

import hashlib
import itertools
import json
import random
import re
import shutil
import signal
import subprocess
import threading
from collections import Counter
from datetime import datetime, timezone

from cluster import Cluster
from cluster_faults import Harmed, is_slow, passed
from scenarios_doors import ready
from scenarios_faults_cluster import fill, flip
from world import eventually, expect

BOTH = ["coordinator", "ingress"]


def three():
    return Cluster(a=BOTH, b=BOTH, c=BOTH)


def member_at(seen, name):
    return next(m for m in seen["members"] if m["name"] == name)


def check_all_found(w, names):
    """Each record is there once, at every member that lives, with one chain."""
    for at in w.alive():
        if "coordinator" not in w.members[at].roles:
            continue  # A separate ingress has only a copy to show.
        found = w.found(at)
        wrong = {name: found.get(name, 0) for name in names if found.get(name, 0) != 1}
        expect(not wrong, "every acknowledged record is there once", at, wrong)
    w.patiently(w.alive()[0], "ledger", "verify")


def scenario_cluster_forms():
    """Three join by token; each answers for all; a token joins one; what is wrong is refused with its reason."""
    with three() as w:
        w.begin("a")
        w.at("a", "status").ends(5, "belongs to no cluster", "assay cluster init")
        w.at("a", "cluster", "join", "rubbish").ends(1, "token")
        w.at("a", "cluster", "init", "--name", "lab").ends(0, "member 1 of cluster lab")
        w.at("a", "cluster", "init", "--name", "lab").ends(4, "cluster")
        w.begin("b")
        w.begin("c")
        token = w.join("b")
        w.at("c", "cluster", "join", "-", text=token + "\n").ends(4, "token")
        host = w.at("a", "host", "token").is_ok().out.split()[0]
        w.at("c", "cluster", "join", "-", text=host + "\n").ends(4, "assay cluster token")
        broken = token[:-4] + ("aaaa" if token[-4:] != "aaaa" else "bbbb")
        w.at("c", "cluster", "join", "-", text=broken + "\n").ends(1, "token")
        w.join("c", at="b")
        w.settled()
        for at in w.alive():
            seen = w.cluster(at)
            expect([m["name"] for m in seen["members"]] == ["a", "b", "c"], "each names all three", seen)
            expect(seen["leader"] == "a" and seen["reached"] == 3 and not seen["problems"], "nothing is wrong", seen)
            w.put(at, f"by-{at}")
        eventually(lambda: w.cluster("a")["members"][1]["clock_off_millis"] is not None, "clocks are compared")
        table = w.at("a", "cluster", "status").ends(0, "CLOCK OFF MILLIS").out
        expect(re.search(r"^b .* -?\d+$", table, re.M), "how far a clock is off is a number and no date", table)
        check_all_found(w, [f"by-{at}" for at in w.alive()])
        last = json.loads(w.at("b", "ledger", "log", "--limit", "2", "-o", "json").out)
        expect({one["author"] for one in last} == {"root"}, "who asked a follower is the author", last)
        for one in last:
            w.at("b", "ledger", "show", one["record_id"]).ends(0, one["summary"])


def scenario_cluster_leader_killed():
    """kill -9 of the leader, twice: nothing acknowledged is lost or doubled, and the dead come back."""
    with three().form() as w:
        acknowledged = []
        is_over = threading.Event()

        def load(at):
            for i in range(1000):
                if is_over.is_set():
                    return
                w.put(at, f"{at}-{i}")
                acknowledged.append(f"{at}-{i}")
        for _ in range(2):
            gone = w.leader()
            writers = [threading.Thread(target=load, args=(at,)) for at in w.alive() if at != gone]
            is_over.clear()
            before = len(acknowledged)
            for one in writers:
                one.start()
            try:
                eventually(lambda: len(acknowledged) >= before + 4, "records are acknowledged")
                w.kill(gone)
                after = len(acknowledged)
                eventually(lambda: len(acknowledged) >= after + 6, "records are acknowledged again")
            finally:
                is_over.set()
                for one in writers:
                    one.join()
            expect(w.leader() != gone, "another one leads")
            check_all_found(w, acknowledged)
            w.begin(gone)
            w.settled()
            acknowledged[:] = [name for name in acknowledged if not name.startswith(gone)]
        check_all_found(w, acknowledged)


def scenario_cluster_without_quorum():
    """With two of three gone nothing is acknowledged, the text says who is missing; with one back it goes on."""
    with three().form() as w:
        w.put("a", "before")
        lead = w.leader()
        others = [name for name in w.alive() if name != lead]
        for name in others:
            w.kill(name)
        eventually(lambda: w.at(lead, "apply", "-f", "-", text="project: lost\n").code == 5, "nothing is decided")
        said = eventually(lambda: next(iter(w.cluster(lead)["problems"]), None), "it says what is wrong")
        for part in ("quorum is lost", *others, "2 are needed", "assayd"):
            expect(part in said, f"`{part}` is named", said)
        w.at(lead, "status").ends(5, "quorum is lost")
        w.at(lead, "get", "projects").ends(0, "before", "no leader could be asked")
        w.at(lead, "ledger", "log").ends(0, "no leader could be asked")
        w.at(lead, "get", "jobs").is_ok()
        w.begin(others[0])
        w.put(lead, "after")
        found = w.found(others[0])
        expect(found["before"] == 1 and found["after"] == 1 and found.get("lost", 0) <= 1, "all is there", found)


def scenario_cluster_all_killed():
    """A power cut of the whole site: everything acknowledged is there."""
    with three().form() as w:
        names = [f"p{i}" for i in range(5)]
        for i, name in enumerate(names):
            w.put("abc"[i % 3], name)
        for name in w.alive():
            w.members[name].process.send_signal(signal.SIGKILL)
        for name in list(w.alive()):
            w.kill(name)
        for name in w.members:
            w.begin(name)
        w.settled()
        check_all_found(w, names)


def scenario_cluster_changes():
    """Leadership goes where it is sent; a leader that is removed hands over; a lost disk joins under a new id."""
    with three().form() as w:
        w.at("b", "cluster", "transfer", "c").ends(0, "c leads")
        def transferred():  # Exit 5: who leads now has only just begun to.
            said = w.at("a", "cluster", "transfer", "nobody")
            return said.code != 5 and said
        eventually(transferred, "the leader answers").ends(3, "nobody", "a, b, c")
        w.at("a", "cluster", "remove", "nobody").ends(3, "nobody")
        w.kill("a")
        w.at("b", "cluster", "remove", "b").ends(4, "would be decided")
        w.begin("a")
        w.settled()
        w.at("a", "cluster", "remove", "c", "--reason", "disk lost").ends(0, "c is no member")
        eventually(lambda: [m["name"] for m in w.cluster("a")["members"]] == ["a", "b"], "two are left")
        eventually(lambda: any("removed" in p for p in w.cluster("c")["problems"]), "it knows that it was removed")
        w.put("b", "without-c")
        w.kill("c", signal.SIGTERM)
        shutil.rmtree(w.members["c"].data)
        w.begin("c")
        w.join("c", at="b")
        w.settled()
        nodes = {m["name"]: m["node"] for m in w.cluster("c")["members"]}
        expect(nodes == {"a": 1, "b": 2, "c": 4}, "an id is never used twice", nodes)
        check_all_found(w, ["without-c"])


def scenario_cluster_lost_for_good():
    """Every disk is lost: one member rises from a backup that a follower made, and others join it anew."""
    with three().form() as w:
        names = [f"r{i}" for i in range(6)]
        for i, name in enumerate(names):
            w.put("abc"[i % 3], name)
        follower = next(name for name in w.alive() if name != w.leader())
        file = w.root / "lab.assay"

        def has_all():
            w.at(follower, "cluster", "backup", file).ends(0, f"signing key of {follower}")
            return json.loads(w.at(follower, "cluster", "backup", file, "-o", "json").out)["seq"] >= w.cluster(w.leader())["seq"]
        eventually(has_all, "the follower has applied what was acknowledged")
        expect(file.stat().st_mode & 0o777 == 0o600, "it is its owner's alone")
        w.at(follower, "cluster", "restore", file).ends(4, "member of cluster 'lab' already")
        w.at(follower, "cluster", "backup", w.root / "no" / "where").ends(3, "no backup was written")
        # The others live on while one rises from the backup: nothing of theirs is touched, nobody joins by accident.
        w.kill(follower, signal.SIGTERM)
        shutil.rmtree(w.members[follower].data)
        w.begin(follower)
        w.at(follower, "cluster", "restore", w.root / "none").ends(3, "none")
        w.at(follower, "cluster", "restore", w.members[follower].config).ends(1, "not a backup")
        w.at(follower, "cluster", "restore", file).ends(0, f"{follower} is member 4 of cluster lab")
        others = [name for name in w.members if name != follower]
        w.put(others[0], "by-the-others")
        seen = w.cluster(others[0])
        expect([m["node"] for m in seen["members"]] == [1, 2, 3], "it is not theirs", seen)
        eventually(lambda: next(m for m in w.cluster(others[0])["members"] if m["name"] == follower)["state"] != "up",
                   "it has no link")
        eventually(lambda: w.cluster(follower)["leader"] == follower, "it leads alone")
        expect([m["node"] for m in w.cluster(follower)["members"]] == [4], "they are not its members")
        w.put(follower, "by-the-risen")
        expect("by-the-risen" not in w.found(others[0]) and "by-the-others" not in w.found(follower), "they are two")
        for name in others:
            w.kill(name)
            shutil.rmtree(w.members[name].data)
        for name in others:
            w.begin(name)
            w.join(name, at=follower)
        w.settled()
        check_all_found(w, [*names, "by-the-risen"])
        nodes = sorted(m["node"] for m in w.cluster()["members"])
        expect(nodes == [4, 5, 6], "no id is used twice", nodes)


def bent(file, at, to):
    """A copy of which one byte is another one."""
    whole = bytearray(file.read_bytes())
    whole[at] = to(whole[at])
    return bytes(whole)


def emptied(w, name):
    """That member without its disk, and its assayd waiting for a word."""
    w.kill(name)
    shutil.rmtree(w.members[name].data)
    w.begin(name)


def scenario_cluster_backup_bad_input():
    """A backup that is cut, bent, newer or none is refused with its reason; a restore that was cut is said again."""
    with Cluster(a=BOTH) as w:
        w.form()
        w.put("a", "kept")
        file, other = w.root / "lab.assay", w.root / "other.assay"
        eventually(lambda: w.at("a", "cluster", "backup", file, "-o", "json").json()["seq"] >= w.cluster()["seq"], "all is in it")
        w.at("a", "cluster", "restore", file).ends(4, "member of cluster 'lab' already", "empty data directory")
        emptied(w, "a")
        w.at("a", "cluster", "backup", other).ends(5, "belongs to no cluster")
        whole = file.read_bytes()
        for content, code, what in (
                (whole[:-1], 1, "damaged"), (whole[:len(whole) // 2], 1, "damaged"), (whole + b"x", 1, "damaged"),
                (bent(file, len(whole) // 2, lambda b: b ^ 1), 1, "damaged"), (b"data: here", 1, "not a backup"),
                (bent(file, 13, lambda b: b + 1), 4, "format 2"), (bent(file, 17, lambda b: 99), 4, "schema version 99")):
            other.write_bytes(content)
            w.at("a", "cluster", "restore", other).ends(code, what, str(other))
        w.at("a", "cluster", "restore", w.root / "none").ends(3, "none")
        w.at("a", "status").ends(5, "belongs to no cluster")

        def restored():
            w.at("a", "cluster", "restore", file).ends(0, "a is member 2 of cluster lab")
            check_all_found(w, ["kept"])
        restored()
        # All is there but its place, which cannot be written: no member yet, and nothing else may begin here.
        emptied(w, "a")
        place = w.members["a"].data / "member.json"
        in_the_way = place.with_name(f"member.json.{w.members['a'].process.pid}.tmp")
        in_the_way.mkdir()
        w.at("a", "cluster", "restore", file).ends(5, "member.json")
        w.at("a", "cluster", "init").ends(4, "a restore was cut here", "restore again")
        w.at("a", "cluster", "join", "-", text="rubbish\n").ends(4, "a restore was cut here")
        in_the_way.rmdir()
        restored()
        # Killed anywhere in it: it is a member, or takes another.
        emptied(w, "a")
        asked = threading.Thread(target=w.at, args=("a", "cluster", "restore", file))
        asked.start()
        eventually((w.members["a"].data / "ledger" / "data.mdb").exists, "it has begun to write")
        w.kill("a")
        w.begin("a")
        asked.join()
        if not place.exists():
            restored()
        check_all_found(w, ["kept"])


def scenario_cluster_backup_full_disk():
    """A full disk in mid-backup leaves the backup before; in mid-restore it leaves a directory that takes it with more room."""
    with Cluster(a=BOTH) as w:
        w.form()
        w.put("a", "kept")
        small = w.root / "small"
        w.mount_tmpfs(small, "16m")
        file = small / "lab.assay"
        eventually(lambda: w.at("a", "cluster", "backup", file, "-o", "json").json()["seq"] >= w.cluster()["seq"], "all is in it")
        before = file.read_bytes()
        content = random.randbytes(40 << 20)
        name = hashlib.sha256(content).hexdigest()
        blob = w.members["a"].data / "blobs" / name[:2] / name[2:]
        blob.parent.mkdir(mode=0o700, exist_ok=True)
        blob.write_bytes(content)
        w.at("a", "cluster", "backup", file).ends(5, "No space left", str(small), "no backup was written", "free space")
        expect([one.name for one in small.iterdir()] == ["lab.assay"], "nothing half is left")
        expect(file.read_bytes() == before, "the backup before is as it was")
        large = w.root / "lab.assay"
        w.at("a", "cluster", "backup", large).ends(0, "1 blobs")
        w.kill("a")
        data = w.members["a"].data
        shutil.rmtree(data)
        w.mount_tmpfs(data, "32m")
        w.begin("a")
        w.at("a", "cluster", "restore", large).ends(5, "No space left", str(data), "free space")
        w.at("a", "status").ends(5, "belongs to no cluster")
        subprocess.run(["mount", "-o", "remount,size=160m", data], check=True)
        w.at("a", "cluster", "restore", large).ends(0, "a is member 2 of cluster lab")
        check_all_found(w, ["kept"])
        expect((data / "blobs" / name[:2] / name[2:]).stat().st_size == len(content), "the blob is back")


def scenario_cluster_wiped_disk():
    """A wiped disk does not come back under its old id, nor does its key on another disk."""
    with three().form() as w:
        w.kill("c")
        keys = w.root / "keys-of-c"
        shutil.copytree(w.members["c"].data / "keys", keys)
        place = (w.members["c"].data / "member.json").read_text()
        shutil.rmtree(w.members["c"].data)
        w.begin("c")
        token = w.token("a")
        w.at("c", "cluster", "join", "-", text=token + "\n").ends(4, "name")
        w.kill("c", signal.SIGTERM)
        shutil.rmtree(w.members["c"].data / "keys")
        shutil.copytree(keys, w.members["c"].data / "keys")
        (w.members["c"].data / "member.json").write_text(place)
        (w.members["c"].data / "member.json").chmod(0o600)
        w.begin("c")
        eventually(lambda: "coordinator 3 has another disk" in (w.root / "a.log").read_text(), "it is refused for its disk")

        def is_named():
            seen = w.cluster("a")
            why = member_at(seen, "c")["why"]
            return member_at(seen, "c")["state"] == "refused" and "another disk" in why and "assay cluster remove c" in why \
                and seen["reached"] == 2
        eventually(is_named, "a says what c is, and does not count it")
        eventually(lambda: "c is refused: a hello was refused" in w.at("a", "cluster", "status").out, "people read it as well")
        eventually(lambda: any("its disk is another one" in p and "another disk" in p for p in w.cluster("c")["problems"]),
                   "c says what it was told")
        ready((w.members["c"].address, 7101), 503, "it has taken nothing over")
        w.put("a", "unharmed")


def scenario_cluster_full_disk():
    """A member whose disk is full is named by the others, with what to do, until there is room."""
    with three() as w:
        w.mount_tmpfs(w.members["c"].data, "32m")
        w.form()
        names = itertools.count()
        ballast = w.members["c"].data / "ballast"

        def is_named():
            fill(w.members["c"].data)
            w.at("a", "apply", "-f", "-", text=Harmed.large(f"p{next(names)}")["files"][0]["text"])
            c = member_at(w.cluster("a"), "c")
            return c["state"] == "full" and "free some" in c["why"]
        eventually(is_named, "a says that the disk of c is full")
        ballast.unlink()
        eventually(lambda: member_at(w.cluster("a"), "c")["state"] == "up", "and no longer")
        w.settled()


def scenario_cluster_damaged_copy():
    """A member that finds its records damaged is named by the others, with what to do."""
    with three().form() as w:
        mark = b"bitflipped"
        w.put("a", mark.decode())
        state = w.members["c"].data / "ledger/data.mdb"
        eventually(lambda: mark in state.read_bytes(), "the state's commit, which is a lazy one, is there")
        w.kill("c")
        expect(flip(state, mark), "its bytes are in the state")
        w.begin("c")
        eventually(lambda: member_at(w.cluster("a"), "c")["state"] == "damaged", "a says what c is")
        w.at("a", "cluster", "status").ends(0, "c is damaged: ", "assay cluster remove c")


def loaded(w, names, deed, least=20, asked=None):
    """Chats at each of these ingresses, before, during and after `deed`; the answers that were not 200.

    `asked` gets how many there were at each."""
    answers = {name: [] for name in names}
    is_over = threading.Event()

    def load(name):
        while not is_over.is_set():
            try:
                answers[name].append(w.ask(name))
            except OSError as why:
                answers[name].append(why)
    threads = [threading.Thread(target=load, args=(name,)) for name in names]
    for one in threads:
        one.start()
    try:
        eventually(lambda: all(len(a) >= least for a in answers.values()), "answers before")
        deed()
        before = {name: len(a) for name, a in answers.items()}
        eventually(lambda: all(len(answers[n]) >= before[n] + least for n in names), "answers after")
    finally:
        is_over.set()
        for one in threads:
            one.join()
    for name in names if asked is not None else ():
        asked[name] += len(answers[name])
    return [str(a) for all_of in answers.values() for a in all_of if getattr(a, "status", 0) != 200]


def scenario_cluster_serves():
    """Chats at every ingress; kill -9 of the leader costs those that live not one request; agents follow."""
    with three().form() as w:
        w.serve()
        gone = w.leader()
        live = [name for name in w.ingresses() if name != gone]

        def deed():
            w.kill(gone)
            expect(w.leader() != gone, "another one leads")
            w.wait_connected()
        failed = loaded(w, live, deed)
        expect(not failed, "no request failed", len(failed), *failed[:3])
        w.begin(gone)
        w.settled()
        eventually(lambda: w.ask(gone).status == 200, "its ingress serves again")
        told = w.patiently(live[0], "get", "replicas", "-o", "json").json()
        expect([r["phase"] for r in told] == ["ready"], "the replica was taken over, not started anew", told)


def told_of_service(w, at):
    """Chats that `who-served` counts by ingress, in every hour since the route carried anything."""
    now = datetime.now(timezone.utc).isoformat()
    said = w.patiently(at, "who-served", "tiny", "--at", now).out
    since = re.search(r"since (\S+) by step", said)[1]
    counts = {}
    for out in (said, w.patiently(at, "who-served", "tiny", "--at", since).out):
        hour = re.search(r"sent in the hour from (\S+)", out)[1]
        for ingress, start, whom, served in re.findall(r"(\S+) \(start (\d+)\) to (\S+): \d+ requests, (\d+) served", out):
            counts[hour, ingress, start, whom] = int(served)
    sums = Counter()
    for (_, ingress, _, _), served in counts.items():
        sums[ingress] += served
    return sums


def scenario_cluster_who_served():
    """The ledger counts each answered chat once, by ingress, but for the open hour of a process that was killed."""
    with Cluster(a=BOTH, b=BOTH, c=BOTH, i=["ingress"]) as w:
        w.form()
        w.serve()
        answered = Counter(w.ingresses())  # `serve` had one answer of each.

        def ask(name, count):
            for _ in range(count):
                expect(w.ask(name).status == 200, f"the ingress of {name} answers")
            answered[name] += count
        for name in w.ingresses():
            ask(name, 3)
        gone = w.leader()
        w.kill(gone)
        answered[gone] = 0
        for name in w.ingresses():
            ask(name, 2)
        w.begin(gone)
        w.settled()
        w.wait_connected()
        eventually(lambda: w.ask(gone).status == 200, f"the ingress of {gone} answers again")
        answered[gone] += 1
        for name in w.ingresses():
            ask(name, 2)
        for name in ("i", "a", "b", "c"):
            w.kill(name, signal.SIGTERM)
            expect("service_untold" not in w.log(f"{name}.log"), "it told all", w.log(f"{name}.log"))
            w.begin(name)
            w.settled()
        told = told_of_service(w, w.leader())
        expect(told == answered, "what is told was answered", told, answered)
        w.at(w.leader(), "ledger", "verify").is_ok()


def scenario_cluster_separate_ingress():
    """An ingress that never votes serves through the loss of every coordinator."""
    with Cluster(a=["coordinator"], b=["coordinator"], c=["coordinator"], i=["ingress"], j=["ingress"]) as w:
        w.form()
        roles = {m["name"]: m["role"] for m in w.cluster()["members"]}
        expect(roles["i"] == roles["j"] == "ingress", "they have no vote", roles)
        w.at("i", "apply", "-f", "-", text="project: p\n").ends(4, "separate ingress", "a, b, c")
        w.serve()

        def deed():
            for name in ("a", "b", "c"):
                w.kill(name)
        failed = loaded(w, ["i", "j"], deed)
        expect(not failed, "no request failed", len(failed), *failed[:3])
        if is_slow():
            failed = loaded(w, ["i", "j"], lambda: passed(600))
            expect(not failed, "no request failed in ten minutes", len(failed), *failed[:3])
        stale = eventually(lambda: int(w.ask("i").headers.get("x-assay-stale-seconds", 0)), "answers say so")
        expect(stale < (660 if is_slow() else 60), "and for how long", stale)
        expect("assay_stale_seconds 0" not in w.metrics("i") and "assay_ledger_has_leader 0" in w.metrics("i"),
               "metrics say so", w.metrics("i"))
        for name in ("a", "b", "c"):
            w.begin(name)
        w.settled()
        w.wait_connected()
        w.at("a", "explain", "--decision", w.ask("j").headers["x-assay-decision"]).ends(0, "tiny")
        w.at("a", "explain", "--decision", "k-1-1").ends(3, "k-1-1")
        w.at("a", "explain", "--model", "tiny").ends(0, "eligible")
        failed = loaded(w, ["i", "j"], lambda: w.put("a", "after"))
        expect(not failed, "no request failed", len(failed), *failed[:3])
        eventually(lambda: "x-assay-stale-seconds" not in w.ask("i").headers, "the new leader renews it")
