"""The leader dies in the middle of what it carries on: whoever leads next ends it, legally and once."""

import re
import threading

from cluster_faults import is_slow, three
from world import eventually, expect

STATUS = ("batch-only", "production")
MARKS = ("move_route_changed", "move_proposed", "move_acked", "move_authorised")
FINAL = {"committed", "denied", "cancelled", "reverted"}


def moves_of(w, at):
    """Every move by id: its records' kinds and what they say, in order."""
    found = {}
    for one in sorted(w.records(at), key=lambda one: one["seq"]):
        if one["kind"].startswith("move_"):
            move = re.search(r"\bm-[0-9a-f]+", one["summary"])[0]
            found.setdefault(move, []).append((one["kind"], one["summary"].split(move, 1)[1].split(":")[0].strip()))
    return found


def begun(w, lead, known, mark):
    """A move that was not known is on record up to `mark`; its id. Looked for without a pause, since steps take milliseconds."""
    for _ in range(20):
        for move, steps in moves_of(w, lead).items():
            if move not in known and any(kind == mark for kind, _ in steps):
                return move
    return None


def check_once(w, moves):
    """Every one of these moves is over, each of its records is there once, and generations follow each other."""
    told = eventually(lambda: moves_of(w, w.leader()), "the ledger is read")
    for move in moves:
        steps = told[move]
        expect(len(steps) == len(set(steps)), "nothing is there twice", move, *steps)
        expect(sum(kind == "move_route_changed" and text.startswith("step") for kind, text in steps) <= 1, "one step", *steps)
    made = [int(re.search(r"generation (\d+)", text)[1]) for steps in told.values()
            for kind, text in steps if kind == "move_route_changed"]
    expect(sorted(made) == list(range(1, len(made) + 1)), "no generation is skipped or made twice", made)


def scenario_f30_leader_killed_in_a_move():
    """kill -9 of the leader before and after the steps of moves: its successor ends each, and no step is made twice."""
    with three().form() as w:
        w.serve()
        w.implementation = w.patiently("a", "get", "implementations", "-o", "json").json()[0]["name"]
        moves = []
        known = eventually(lambda: moves_of(w, "a"), "the ledger is read")
        for number in range(12 if is_slow() else 2):
            status, mark = STATUS[number % len(STATUS)], MARKS[number % len(MARKS)]
            gone = w.leader()
            followers = w.followers()
            asked = threading.Thread(target=w.at, args=(gone, "promote", w.implementation, "--status", status))
            asked.start()
            moves.append(eventually(lambda: begun(w, gone, known, mark), f"{mark} is on record"))
            for name in followers:  # So that the leader gets no further before it dies.
                w.pause(name)
            w.kill(gone)
            for name in followers:
                w.resume(name)
            asked.join()
            known = eventually(lambda: moves_of(w, w.leader()), "the ledger is read")
            w.wait_connected()
            state = eventually(lambda: (lambda s: s if s in FINAL else None)(w.patiently(
                w.leader(), "describe", "move", moves[-1], "-o", "json").json()["item"]["state"]), "it is over")
            w.begin(gone)
            w.settled()
        check_once(w, moves)
        for name in w.ingresses():
            eventually(lambda: w.ask(name).status == 200, f"the ingress of {name} serves")
        w.check()


def scenario_leader_killed_in_a_qualification():
    """kill -9 of the leader while a suite runs: the successor says so or goes on, and the next run counts once."""
    with three().form() as w:
        w.start_agent()
        w.patiently("a", "apply", "-f", w.catalog())
        name = w.patiently("a", "get", "implementations", "-o", "json").json()[0]["name"]
        w.behave(pace_s=0.2)
        w.patiently("a", "qualify", name)
        gone = w.leader()
        eventually(lambda: w.seen(part="capital of Japan"), "the suite runs")
        w.kill(gone)
        w.behave()
        lead = w.leader()

        def ended():
            found = w.patiently(lead, "get", "qualifications", "-o", "json").json()
            return len(found) == 1 and found[0]["state"] == "inconclusive" and found[0]
        cut = eventually(ended, "what was cut is inconclusive")
        expect("in the middle of it; qualify again" in cut["detail"], "and says why, and what to do", cut)
        w.wait_connected()
        w.patiently(lead, "qualify", name, "--wait", "--timeout", "100", patience=120)
        records = eventually(lambda: w.records(w.leader()), "the ledger is read")
        kinds = [one["kind"] for one in sorted(records, key=lambda one: one["seq"])]
        told = [kind for kind in kinds if kind.startswith(("qualification", "eval"))]
        expect(told == ["qualification_opened", "qualification_changed", "qualification_decided", "qualification_changed",
                        "eval_run", "eval_run", "qualification_decided"], "one run came to nothing, and one counts", *told)
        w.begin(gone)
        w.settled()
        w.check()
