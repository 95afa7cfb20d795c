"""Moves in a cluster: whose word they wait for, and whose they do not."""

from cluster_faults import three
from world import eventually, expect

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
