"""Who does not belong to a cluster and comes to its door all the same: refused with the reason, and the cluster is unharmed."""

import shutil

from cluster_faults import three
from scenarios_clocks import shifted_clock
from world import eventually, expect


def member(w, at, name):
    return next(m for m in w.cluster(at)["members"] if m["name"] == name)


def scenario_strangers_of_another_cluster():
    """A member's machine and keys come back as another cluster's: neither takes the other's records, votes or tokens."""
    with three().form() as w:
        w.put("a", "before")
        w.kill("c")
        own, kept = w.members["c"].data, w.root / "kept"
        shutil.move(own, kept)
        own.mkdir(mode=0o700)
        shutil.copytree(kept / "keys", own / "keys")
        w.begin("c")
        w.at("c", "cluster", "init", "--name", "far").ends(0, "member 1 of cluster far")
        eventually(lambda: "does not allow our key" in member(w, "a", "c")["why"], "it is named")
        w.at("c", "cluster", "join", "-", text=w.token("a") + "\n").ends(4, "member of cluster 'far' already")
        for at, name in (("a", "of-lab"), ("c", "of-far"), ("b", "of-lab-too")):
            w.put(at, name)
        expect([m["name"] for m in w.cluster("c")["members"]] == ["c"], "it is alone", w.cluster("c"))
        expect(member(w, "a", "c")["state"] == "away", "it is not let in", w.cluster("a"))
        far = {one["summary"].split()[0] for one in w.records("c")}
        expect("of-far" in far and not far & {"before", "of-lab", "of-lab-too"}, "it has its own records", far)
        stray = w.token("c")
        w.kill("c")
        shutil.rmtree(own)
        shutil.move(kept, own)
        w.begin("c")
        w.settled()
        # The other cluster's token leads to the same address and key, where nobody made it.
        w.add("d")
        w.begin("d")
        w.at("d", "cluster", "join", "-", text=stray + "\n").ends(4, "does not take this token", "is unknown", "assay cluster token")
        w.kill("d")
        w.check(["before", "of-lab", "of-lab-too"])
        expect("of-far" not in {one["summary"].split()[0] for one in w.records("a")}, "nothing of the other one is here")


def scenario_strangers_with_one_id():
    """A copy of a whole data directory runs beside the original: both are told, the others go on, and without it all is well."""
    with three().form() as w:
        w.lead("a")
        w.put("a", "before")
        w.kill("c")
        twin = w.add("twin")
        shutil.copytree(w.members["c"].data, twin.data, ignore=lambda *_: ["admin.sock"])
        twin.config.write_text(twin.config.read_text().replace("name: twin", "name: c"))
        del w.members["twin"]
        w.begin("c")
        w.settled()
        with w.writing("a", "b") as load:
            load.more(5)
            term = w.term("a")
            copy = w.spawn(twin.program, "--config", twin.config, log="twin.log")
            for log in ("c.log", "twin.log"):  # They take turns: who comes later is heard, for some seconds.
                eventually(lambda: "a copy of its data directory runs elsewhere" in (w.root / log).read_text(), f"{log} names it")
            load.more(10)
            # An election refuses what is under way, and what comes until somebody leads; else nobody is refused.
            odd = [one for one in load.refused if w.term("a") == term or one[1] not in (0, 503)]
            expect(not odd, "nobody else is refused", *odd[:3])
            expect(w.term("a") <= term + 2, "it raises no term after the other", term, w.term("a"))
            copy.kill()
            copy.wait(20)
        w.settled()
        w.put("c", "after")
        w.check([*load.names(), "before", "after"])


def scenario_strangers_with_tokens():
    """A token of yesterday, or one that another has used, lets nobody in; a fresh one lets the same assayd in."""
    preload = shifted_clock()
    with three() as w:
        w.add("d")
        clock = w.write("clock", "0")
        for name in w.members:
            w.more[name] = {"LD_PRELOAD": str(preload), "ASSAY_TEST_CLOCK": str(clock)}
        waiting = w.members.pop("d")
        w.form()
        old, used = w.token("a"), w.token("b")
        w.members["d"] = waiting
        w.begin("d")
        w.at("d", "cluster", "join", "-", text=used + "\n").is_ok()
        w.settled()
        w.add("e")
        w.begin("e")
        w.at("e", "cluster", "join", "-", text=used + "\n").ends(4, "used")
        clock.write_text(str(16 * 60_000))  # For all of them, so that nobody's is off.

        def is_late():
            w.at("e", "cluster", "join", "-", text=old + "\n").ends(4, "past its 15 minutes", "ask for a new one")
            return True
        eventually(is_late, "the token is past its time")
        names = [m["name"] for m in w.cluster("a")["members"]]
        expect(names == ["a", "b", "c", "d"], "nobody came in", names)
        w.put("b", "after")
        w.join("e", at="c")
        w.settled()
        w.check(["after"])
