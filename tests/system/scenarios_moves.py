"""Moves in a cluster: whose word they wait for, and whose they do not."""

from cluster_faults import three
from world import ITEMS, World, eventually, expect

GONE = 14  # Seconds of silence after which an ingress holds no credit: limits::ingress_gone.


def serving(w):
    """A route of one implementation, which is carried by every ingress; what it is called."""
    w.serve()
    return w.patiently("a", "get", "implementations", "-o", "json").json()[0]["name"]


def state_of(w, at, move):
    return w.patiently(at, "describe", "move", move, "-o", "json").json()["item"]


def newest_move(w, at):
    return w.patiently(at, "get", "moves", "-o", "json").json()[-1]["name"]


def acknowledged(w, at, move):
    """What the newest `acked` record of the move says."""
    said = [one for one in w.records(at) if one["kind"] == "move_acked" and f"{move} acked" in one["summary"]]
    return max(said, key=lambda one: one["seq"])


def scenario_move_waits_for_every_ingress():
    """A move is not over while one ingress still routes by the old records, and its record names all that acknowledged it."""
    with three().form() as w:
        name = serving(w)
        lead = w.leader()
        slow = w.followers()[0]
        w.pause(slow)
        w.at(lead, "promote", name, "--status", "batch-only")
        move = newest_move(w, lead)
        waiting = eventually(lambda: (lambda one: one if one["state"] == "ramping" else None)(state_of(w, lead, move)),
                             "the move is ramping")
        expect(f"the ingress of {slow}" in waiting["why"], "it says whose word it waits for", waiting)
        w.resume(slow)
        eventually(lambda: state_of(w, lead, move)["state"] == "committed", "it goes on when that one is back")
        said = acknowledged(w, lead, move)["summary"]
        expect(all(f"{one} at generation" in said for one in "abc"), "each ingress is named with what it runs", said)
        w.check()


def scenario_f32_move_past_a_silent_ingress():
    """An ingress that holds no credit any more is not waited for; the record says so, and it has the new route when it is back."""
    with three().form() as w:
        name = serving(w)
        lead = w.leader()
        gone = w.followers()[0]
        w.pause(gone)
        w.at(lead, "promote", name, "--status", "batch-only")
        move = newest_move(w, lead)
        eventually(lambda: state_of(w, lead, move)["state"] == "committed", "the move goes on", GONE + 10)
        record = acknowledged(w, lead, move)
        expect(f"{gone} at generation" not in record["summary"], "it did not acknowledge", record)
        said = w.patiently(lead, "ledger", "show", str(record["seq"]), "-o", "json").json()
        expect(f"not waited for, as they hold no credit: {gone}" in str(said), "the record says so", said)
        w.resume(gone)
        eventually(lambda: w.ask(gone).status in (403, 404, 503), "it routes by the new records", 5)
        w.check()


def scenario_canary_takes_its_share():
    """`promote --share --hold --bake` mean what they say; what they cannot mean is refused by name."""
    with World() as w:
        w.serve()
        text = (w.root / "catalog/catalog.yaml").read_text()
        second = """  - pool: edge
    artifact: q4
    status: canary
    slots: 2
    limits: {context-tokens: 128, output-tokens: 64}
    args: {ctx-size: 256}
"""
        at = text.index("---\nproject: default")
        w.write("catalog/catalog.yaml", f"{text[:at]}{second}{text[at:]}---\npool: edge\nfamily: cpu\n")
        w.assay("apply", "-f", w.root / "catalog").is_ok()
        name = "tiny/edge/q4"
        w.qualify(name)
        for words, part in ((["--share", "20"], "%"), (["--share", "120 %"], "more than all"), (["--share", "0.001 %"], "0.01 %"),
                            (["--hold", "5"], "hold"), (["--bake", "31 d"], "30 d"), (["--share", "0 %"], "1 to 9999"),
                            (["--status", "production", "--share", "20 %"], "only a canary")):
            status = [] if "--status" in words else ["--status", "canary"]
            said = w.assay("promote", name, *status, *words)
            expect(said.code in (1, 4) and part in said.err, f"{words} is refused", said)
        expect(not any(one["state"] == "proposed" for one in w.get("moves")), "nothing was proposed")
        w.assay("promote", name, "--status", "canary", "--share", "25 %", "--hold", "1 s", "--bake", "1 s", "--wait").is_ok()
        route = w.assay("describe", "route", "tiny").is_ok()
        expect("25 %" in route.out and "75 %" in route.out, "the route has these shares", route)
        rows = {one["name"]: one for one in w.assay("matrix", "tiny", "-o", "json").json()}
        expect(set(rows) == {"tiny/local/q4", name}, "the matrix has both implementations", rows)
        row = rows[name]
        expect((row["status"], row["share"], row["qualification"], row["artifact"]) == ("canary", "25 %", "qualified", "approved"),
               "and says how each stands", row)
        expect(f"of {len(ITEMS)} (40 % wanted)" in row["score"] and "in, " in row["covers"], "on which evidence", row)
        w.assay("matrix", "none").ends(3, "assay get models")
        move = w.get("moves")[-1]["name"]
        item = w.assay("describe", "move", move, "-o", "json").json()["item"]
        expect(item["state"] == "committed" and item["why"] == "", "it is over and waits for nothing", item)
