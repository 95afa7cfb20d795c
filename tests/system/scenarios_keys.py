"""New keys for the members of a cluster that runs, and what may cut them short."""

import threading

from cluster import Cluster
from cluster_faults import Networked
from scenarios_cluster import BOTH, check_all_found, three
from scenarios_faults_network import passed
from world import eventually, expect


def keys_of(w, name):
    folder = w.members[name].data / "keys"
    return (folder / "signing.secret").read_text(), (folder / "coordinator.secret").read_text()


def waits(w, name):
    """Whether it has next keys that are not in use."""
    return [one.name for one in (w.members[name].data / "keys").iterdir() if one.name.startswith("next-")]


def check_changed(w, name, before):
    now = keys_of(w, name)
    expect(now[0] != before[0] and now[1] != before[1], "both keys are new", name)
    expect(not waits(w, name), "none waits", name, waits(w, name))


def scenario_cluster_rotates_keys():
    """Every member gets new keys under a load of writes; nothing acknowledged is lost, and the old keys open no door."""
    with Cluster(a=BOTH, b=BOTH, c=BOTH, i=["ingress"]) as w:
        w.form()
        agent = w.start_agent()
        export, after = w.root / "before.assay", w.root / "after.assay"
        w.at("a", "ledger", "export", export).is_ok()
        w.at("a", "cluster", "rotate-keys", "nobody").ends(1, "nobody", "a, b, c, i")
        before = {name: keys_of(w, name) for name in w.alive()}
        acknowledged, is_over = [], threading.Event()

        def load():
            for i in range(300):
                if is_over.is_set():
                    return
                w.put("abc"[i % 3], f"k{i}")
                acknowledged.append(f"k{i}")
        writer = threading.Thread(target=load)
        writer.start()
        try:
            eventually(lambda: len(acknowledged) > 3, "records are acknowledged")
            w.at("b", "cluster", "rotate-keys", "--reason", "test", patience=200).ends(
                0, *(f"{name} has new keys" for name in before))
        finally:
            is_over.set()
            writer.join()
        w.settled()
        for name, keys in before.items():
            check_changed(w, name, keys)
        w.put("c", "afterwards")
        check_all_found(w, [*acknowledged, "afterwards"])
        w.wait_connected()
        w.patiently("a", "ledger", "export", after)
        for file in (export, after):
            w.at("a", "ledger", "verify", file).ends(0, "hold up to")
        # A host that is away would be locked out.
        agent.kill()
        agent.wait(30)
        eventually(lambda: "h1" in w.at("a", "cluster", "rotate-keys").ends(1, "away now").err, "it is missed")
        # A member with its old CURVE key is let in by nobody, whatever its ledger says.
        w.kill("c")
        place = w.members["c"].data / "keys" / "coordinator.secret"
        new_secret = place.read_text()
        place.write_text(before["c"][1])
        w.begin("c")
        w.put("a", "without-c")
        for one in ("a", "b"):
            eventually(lambda: "does not allow our key" in next(m for m in w.cluster("c")["members"] if m["name"] == one)["why"],
                       "it is shut out")
        expect("without-c" not in w.at("c", "ledger", "log", "--limit", "1000", "-o", "json").out, "it hears nothing")
        w.kill("c")
        place.write_text(new_secret)
        w.begin("c")
        w.settled()
        check_all_found(w, ["without-c"])


def scenario_cluster_rotates_keys_cut():
    """kill -9 in mid-change: the member comes back with the keys that are on record; while one is away nobody's are changed."""
    with three().form() as w:
        lead = w.leader()
        gone, other = (name for name in w.alive() if name != lead)
        w.kill(gone)
        w.at(other, "cluster", "rotate-keys", other, patience=60).ends(1, gone, "away", "nobody's are changed")
        expect(not waits(w, other), "nothing was begun")
        w.begin(gone)
        w.settled()
        before = keys_of(w, gone)
        asked = threading.Thread(target=w.at, args=(lead, "cluster", "rotate-keys", gone), kwargs={"patience": 120})
        asked.start()
        eventually(lambda: "next-coordinator.secret" in waits(w, gone), "its next keys are there")
        w.kill(gone)
        w.put(lead, "meanwhile")
        w.begin(gone)
        asked.join()
        w.settled()
        # Whether the record came before its death or not: said again it has new ones, and everybody hears it.
        eventually(lambda: w.at(lead, "cluster", "rotate-keys", gone, patience=120).code == 0, "it is done", 60)
        check_changed(w, gone, before)
        w.settled()
        w.put(gone, "after")
        check_all_found(w, ["meanwhile", "after"])


def scenario_cluster_rotates_keys_unheard():
    """Cut off as its new keys are put on record, and killed: it comes back by trying them, as nobody knows the old ones."""
    with Networked().form() as w:
        gone = w.followers()[0]
        before = keys_of(w, gone)

        def put_on_record():
            """The answer with its new keys is on its way when it is cut off, unless this machine is busy: then once more."""
            w.network.heal()
            w.settled()
            lead = w.leader()
            made = w.log(f"{gone}.log").count("keys_prepared")
            w.network.spoil(250, 0, 0, 0)
            said = []
            asked = threading.Thread(target=lambda: said.append(
                w.ask_admin(lead, "POST", "cluster/rotate-keys", {"name": gone, "reason": "test"}, 60)))
            asked.start()
            try:
                eventually(lambda: said or w.log(f"{gone}.log").count("keys_prepared") > made, "it made them")
            finally:
                w.network.isolate(gone)
                asked.join()
            return said and said[0][0] == 200 and waits(w, gone)
        eventually(put_on_record, "they are on record and it has not heard of it", 200)
        w.kill(gone)
        w.network.heal()
        w.put(w.alive()[0], "meanwhile")
        passed(2)  # Nobody knows its old key any more.
        w.begin(gone)
        w.settled()
        eventually(lambda: not waits(w, gone), "it takes them")
        check_changed(w, gone, before)
        w.settled()
        w.check(["meanwhile"])
