"""F24 of the fault matrix: clocks that are wrong, with real coordinators and ingresses."""

import json
import re

from cluster_faults import Harmed, is_slow, passed, three
from world import BIN, Skipped, eventually, expect


def shifted_clock():
    """The library that moves the clock of what loads it by what a file says."""
    preload = BIN / "shifted_clock.so"
    if not preload.exists():
        raise Skipped(f"{preload} is missing (target shifted_clock)")
    return preload


def scenario_f24_clock_jumps():
    """The leader's clock goes an hour off: it hands over and says why; nothing expires, and stamps go on in order."""
    preload = shifted_clock()
    with three() as w:
        clock = w.write("clock", "0")
        w.more["a"] = {"LD_PRELOAD": str(preload), "ASSAY_TEST_CLOCK": str(clock)}
        w.form()
        w.lead("a")
        token = w.token("b")
        w.put("a", "before")
        for jump in (3_600_000, -3_600_000):
            w.lead("a")
            term = w.cluster("a")["term"]
            clock.write_text(str(jump))
            lead = eventually(lambda: (lambda name: name if name != "a" else None)(w.leader()), f"it hands over ({jump})", 12)
            # One transfer and no election; a machine so busy that heartbeats come late may add one.
            most = term + (1 if is_slow() else 2)
            expect(term < w.cluster(lead)["term"] <= most, "it was one transfer", term, w.cluster(lead))
            eventually(lambda: any("the clocks of a and" in one for one in w.cluster(lead)["problems"]), "the clock is named")
            w.put("b", f"with-{'ahead' if jump > 0 else 'behind'}")
            clock.write_text("0")
            eventually(lambda: not w.cluster(lead)["problems"], "it is right again")
        stamps = [one["stamped_at_ms"] for one in sorted(w.records(w.leader()), key=lambda one: one["seq"])]
        expect(stamps == sorted(stamps), "stamps go on in order", stamps)
        expect(stamps[-1] - stamps[0] < 1_800_000, "no record has the wrong hour", stamps)
        w.add("d")
        w.begin("d")
        w.at("d", "cluster", "join", "-", text=token + "\n").is_ok()  # Good for a quarter of an hour, which has not passed.
        w.settled()
        w.check(["before", "with-ahead", "with-behind"])


def scenario_f24_ingress_an_hour_ahead():
    """An ingress whose clock is an hour ahead goes by the others': what ends in an hour has not ended."""
    preload = shifted_clock()
    with Harmed(a=["coordinator"], b=["coordinator"], c=["coordinator"], i=["ingress"]) as w:
        clock = w.write("clock", "0")
        w.more["i"] = {"LD_PRELOAD": str(preload), "ASSAY_TEST_CLOCK": str(clock)}
        w.form()
        w.start_agent()
        lead = w.leader()
        said = w.at(lead, "apply", "-f", w.catalog(task="embedding")).out
        secret = re.search(r"assay-[A-Za-z0-9_-]{43}", said)[0]
        name = json.loads(w.at(lead, "get", "implementations", "-o", "json").out)[0]["name"]
        w.at(lead, "waive", name, "--gate", "2", "--gate", "4", "--gate", "5", "--hours", "1", "--reason", "short").is_ok()

        def embedded():
            at = (w.members["i"].address, 7100)
            return w.post({"model": "tiny", "input": "hello"}, "/v1/embeddings", where=at, key=secret)
        eventually(lambda: embedded().status == 200, "it serves under the waiver")
        clock.write_text(str(3_600_000 + 60_000))
        eventually(lambda: any("the clocks of i and" in one for one in w.cluster(lead)["problems"]), "the clock is named")
        eventually(lambda: "clock_off" in w.log("i.log"), "the ingress knows it")
        eventually(lambda: embedded().status == 200, "the waiver has not ended")
        for _ in range(5):
            answer = embedded()
            expect(answer.status == 200, "and does not", answer, w.log("i.log"))


def scenario_f24_drift_and_leap():
    """A leader's clock that drifts, and one that repeats a second: only stamps change, and they go on in order."""
    preload = shifted_clock()
    with Harmed() as w:
        clock = w.write("clock", "0")
        w.more["a"] = {"LD_PRELOAD": str(preload), "ASSAY_TEST_CLOCK": str(clock)}
        w.form()
        w.lead("a")
        with w.writing("a", "b") as load:
            load.more(5)
            for shift, seconds in (("0 500", 600 if is_slow() else 2), ("-1000 500", 2), ("0 -500", 2), ("1000 -500", 2)):
                clock.write_text(shift)
                passed(seconds)
                load.more(5)
        for name in w.alive():
            expect("clock_off" not in w.log(f"{name}.log"), "nobody hands over for it", w.log(f"{name}.log"))
            expect("assay_ledger_clock_trusted 1" in w.metrics(name), "the clock is believed", name)
        stamps = [one["stamped_at_ms"] for one in sorted(w.records(w.leader()), key=lambda one: one["seq"])]
        expect(stamps == sorted(stamps), "stamps go on in order", stamps)
        w.settled()
        w.check(load.names())
