"""Programs come and go while the cluster works: members restarted in turn, and newer and older programs together.

The newer program is built by tests/newer. It knows one more record kind, which a `delete` with a reason "for good: ..."
writes, and one more field, which holds the "(ticket X)" that a reason ends with; an older one shows a reason without it.
"""

import signal
import time

from cluster_faults import three
from scenarios_cluster import loaded
from world import BIN, Skipped, eventually, expect

KNOWN, NEXT = 2, 3  # Schema versions: of this program, and of the one that tests/newer builds.
OLDER = BIN / "assayd"
NEWER = BIN / "newer" / "assayd"


def needs_newer():
    if not NEWER.exists():
        raise Skipped(f"{NEWER} is missing (target newer_assayd)")


def replace(w, name, program):
    """That member ends as a service manager ends it, and goes on with this program."""
    w.kill(name, signal.SIGTERM)
    w.members[name].program = program
    w.begin(name)
    w.settled()


def while_leading(w, name, deed):
    """What `deed` gave while that member led from beginning to end; done again where leadership moved meanwhile.

    Who leads writes the records and answers for all, so a busy machine's election would show another program's work.
    """
    def standing():
        seen = w.ask_admin(name, "GET", "cluster")[1]
        return seen["leader"], seen["term"]

    def tried():
        before = standing()
        if before[0] != name:
            w.lead(name)
            before = standing()
        done = deed()
        return before[0] == name and standing() == before and (done,)
    return eventually(tried, f"it is done while {name} leads")[0]


def by_itself(w, name, *record_ids):
    """Records as that member's own ledger has them."""
    return while_leading(w, name, lambda: [w.at(name, "ledger", "show", one, "-o", "json").json() for one in record_ids])


def newest(w, kind):
    """The id of the last record of that kind, once there is one."""
    def look():
        found = [one for one in w.records(w.leader()) if one["kind"] == kind]
        return found and max(found, key=lambda one: one["seq"])["record_id"]
    return eventually(look, f"a record of kind {kind} is there")


def agreed(w, version):
    """The cluster takes records of that version."""
    eventually(lambda: any(one["kind"] == "cluster_version" and one["summary"].startswith(f"schema {version} ")
                           for one in w.records(w.leader())), f"version {version} is agreed on")


def deleted(w, at, reason):
    """A project that is declared for this and taken away for this reason: what was said."""
    name = f"p{time.monotonic_ns()}"
    w.put(at, name)
    return w.at(at, "delete", "project", name, "--reason", reason)


def in_turn(w, deed):
    """Does it to every member, the leader last, under records and chats elsewhere; nobody may notice."""
    acknowledged = []
    asked = {"a": 0, "b": 0, "c": 0}
    for name in [*w.followers(), w.leader()]:
        others = [one for one in w.members if one != name]
        with w.writing(*others, tag=f"without-{name}") as load:
            load.more(5)
            failed = loaded(w, others, lambda: deed(name), asked=asked)
            load.more(5)
        expect(not failed, f"no chat failed while {name} was away", asked, len(failed), *failed[:3])
        acknowledged += load.names()
        eventually(lambda: w.ask(name).status == 200, f"the ingress of {name} serves again")
    return acknowledged


def scenario_rolling_restart():
    """Every member in turn, the leader last, is ended and started: no chat elsewhere fails, and nothing acknowledged is lost."""
    with three().form() as w:
        w.serve()
        names = in_turn(w, lambda name: replace(w, name, OLDER))
        replicas = w.patiently("a", "get", "replicas", "-o", "json").json()
        expect([r["phase"] for r in replicas] == ["ready"], "the replica was taken over, not started anew", replicas)
        w.check(names)


def scenario_f25_rolling_upgrade():
    """Every member in turn gets a newer program under load; once the last has it, the version is agreed on and its kind is taken."""
    needs_newer()
    with three().form() as w:
        w.serve()
        names = in_turn(w, lambda name: replace(w, name, NEWER))
        agreed(w, NEXT)
        while_leading(w, "a", lambda: deleted(w, "a", "for good: nobody needs it").is_ok())
        w.check(names)


def scenario_f25_newer_and_older():
    """A newer field lives on in those that do not know it; a newer kind waits for the last member; then no older program gets in."""
    needs_newer()
    with three().form() as w:
        replace(w, "b", NEWER)
        while_leading(w, "b", lambda: deleted(w, "b", "moved (ticket T-1)").is_ok())
        with_field = newest(w, "retired")
        seen = {name: by_itself(w, name, with_field) for name in "abc"}
        shown = {name: one["reason_text"] for name, (one,) in seen.items()}
        expect(shown == {"a": "moved", "b": "moved (ticket T-1)", "c": "moved"}, "a newer field is shown by who knows it", shown)
        expect(len({one["record"] for one, in seen.values()}) == 1, "all have one hash for it", seen)

        replace(w, "c", NEWER)
        agreed(w, KNOWN)
        for name in "abc":
            while_leading(w, "c", lambda: deleted(w, name, "for good: no use").ends(
                4, "newer_schema", f"needs schema version {NEXT}", f"takes 1 to {KNOWN}"))
        replace(w, "c", OLDER)
        expect(by_itself(w, "c", with_field) == seen["c"], "an older program reads on where a newer one wrote")
        w.put("c", "by-older")
        for name in "ca":
            replace(w, name, NEWER)
        agreed(w, NEXT)
        while_leading(w, "a", lambda: deleted(w, "a", "for good: no use").is_ok())
        of_kind = newest(w, "retired")
        seen = {name: by_itself(w, name, with_field, of_kind) for name in "abc"}
        expect(all(one == seen["b"] for one in seen.values()), "what was kept unread is read by the newer program", seen)
        field, kind = seen["b"]
        expect(field["reason_text"] == "moved (ticket T-1)", "the field is there", field)
        expect(kind["schema_version"] == str(NEXT) and kind["reason_text"] == "for good: no use", "the kind is there", kind)
        refuse_older(w)
        w.check(["by-older", "without-c"])


def refuse_older(w):
    """Whichever way an older program comes to a ledger of the newer version, it says what it does not know, and harms nobody."""
    too_new = f"schema version {NEXT}"
    export, backup = w.root / "lab.ledger", w.root / "lab.assay"
    w.at("a", "ledger", "export", export).is_ok()
    w.assay("ledger", "verify", export).ends(4, too_new, f"this program knows 1 to {KNOWN}", "nothing is wrong up to record ")
    w.at("a", "cluster", "backup", backup).is_ok()
    w.add("d")
    w.begin("d")
    w.at("d", "cluster", "restore", backup).ends(4, too_new, f"knows versions 1 to {KNOWN}")
    token = w.token("a")
    w.at("d", "cluster", "join", "-", text=token + "\n").ends(4, too_new, f"no newer one than {KNOWN}", "did not use the token up")
    expect([m["name"] for m in w.cluster("a")["members"]] == ["a", "b", "c"], "it is no member", w.cluster("a"))

    w.kill("c", signal.SIGTERM)
    w.members["c"].program = OLDER
    w.refuses_to_start("c", 1, "at seq ", too_new, f"this program knows 1 to {KNOWN}", "install the version of Assay that wrote it")
    w.put("b", "without-c")
    w.members["c"].program = NEWER
    w.begin("c")
    w.kill("d", signal.SIGTERM)
    w.members["d"].program = NEWER
    w.begin("d")
    w.at("d", "cluster", "join", "-", text=token + "\n").is_ok()
    w.settled()
