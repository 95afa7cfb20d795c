"""Several coordinators: found, join, hand over, leave, die, come back."""

import itertools
import json
import re
import shutil
import signal
import threading
from collections import Counter
from datetime import datetime, timezone

from cluster import Cluster
from cluster_faults import Harmed, is_slow, passed
from scenarios_doors import ready
from scenarios_faults_cluster import fill, flip, put_for_good
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
        w.at("a", "cluster", "transfer", "c").ends(4, "c leads already", "another one")
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
    """A member that finds its records damaged is named by the others until there is room on its disk for another copy."""
    with three() as w:
        w.mount_tmpfs(w.members["c"].data, "32m")
        w.form()
        state = put_for_good(w, "c", "bitflipped")
        w.kill("c")
        expect(flip(state, b"bitflipped"), "its bytes are in the state")
        w.begin("c")
        fill(w.members["c"].data)  # It looks for seconds before it believes what it finds.

        def is_named():
            c = member_at(w.cluster("a"), "c")
            return c["state"] == "damaged" and "assay cluster remove c" in c["why"]
        eventually(is_named, "a says what c is")
        eventually(lambda: "no room for a second state" in (w.root / "c.log").read_text(), "c says why it is not mended")
        w.at("a", "cluster", "status").ends(0, "c is damaged: ", "assay cluster remove c")
        (w.members["c"].data / "ballast").unlink()
        eventually(lambda: member_at(w.cluster("a"), "c")["state"] == "up", "and that it is sound again")


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
