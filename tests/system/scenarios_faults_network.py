"""The rows of the fault matrix that cut or spoil the network between coordinators, each in namespaces of its own."""

import contextlib
import time

from cluster_faults import Networked, is_slow, passed, within
from world import eventually, expect

ELECTION = 1.0  # Seconds without a word from the leader.


def scenario_f06_minority_leader():
    """A leader that is cut off acknowledges nothing; the others go on, and it follows once it hears them."""
    with Networked().form() as w:
        old = w.leader()
        others = w.followers()
        with w.writing(*others, tag="many") as many, w.writing(old, tag="few") as few:
            many.more(5)
            few.more(5)
            w.network.isolate(old)
            cut = time.monotonic()
            passed(2 * ELECTION)
            count = len(few.acknowledged)
            many.more(20)
            within("F6, until the majority goes on", many.after(cut), 5, "s")
            passed(60 if is_slow() else 2)
            expect(len(few.acknowledged) == count, "the minority acknowledges nothing", few.names()[count:])
            eventually(lambda: any("quorum is lost" in one for one in w.cluster(old)["problems"]), "it says why")
            w.network.heal()
            few.more(3)
        w.settled()
        w.check(many.names() + few.names())


def scenario_f07_one_way():
    """A member that hears but is not heard, or is heard but does not hear: writes go on, and terms do not climb."""
    with Networked().form() as w:
        for way in ("to the leader", "from the leader"):
            lead = w.leader()
            deaf, other = w.followers()
            term = w.term(lead)
            with w.writing(other, tag=way.split()[0]) as load:
                load.more(5)
                w.network.cut(*((deaf, lead) if way == "to the leader" else (lead, deaf)), both=False)
                cut = time.monotonic()
                passed(180 if is_slow() else 5)
                load.more(20)
                within("F7, seconds without an acknowledgement", 100 * load.silence(cut, time.monotonic()), 5, "%")
                w.network.heal()
            # At most two changes of the leader in a minute; one more for a machine that is busy with others.
            expect(w.term(other) - term <= (6 if is_slow() else 3), f"few terms with {way} cut", term, w.term(other))
            w.settled()
            w.check(load.names())


@contextlib.contextmanager
def crowd(w, count):
    """So many writers at each member: what a bad line takes from one is less to many."""
    with contextlib.ExitStack() as loads:
        yield [loads.enter_context(w.writing(*w.alive(), tag=f"crowd{i}")) for i in range(count)]


def scenario_f08_bad_line():
    """Late, lost, doubled and reordered packets everywhere: slower, and nothing else."""
    with Networked().form() as w:
        with w.writing(*w.alive()) as load, crowd(w, 20 if is_slow() else 0) as others:
            load.more(10)
            begun = time.monotonic()
            passed(30 if is_slow() else 0)
            term = w.term()
            spoilt = time.monotonic()
            w.network.spoil(50, 20, 10, 5)
            load.more(300 if is_slow() else 15, 240)
            if is_slow():
                clean = sum(one.rate(begun, spoilt) for one in (load, *others))
                bad = sum(one.rate(spoilt, time.monotonic()) for one in (load, *others))
                within("F8, acknowledgements a second on clean lines to those on bad ones", clean / bad, 1 / 0.3)
            # None on an idle machine; one that is busy with others may add some of its own, but not one after the other.
            expect(w.term() - term <= (20 if is_slow() else 5), "few elections", term, w.term())
            w.network.heal()
            load.more(5)
        w.settled()
        w.check(load.names())


def scenario_f09_half_dead_link():
    """Connections that stay open though nothing comes any more are given up by both ends, and made again."""
    with Networked().form() as w:
        cut = time.monotonic()
        w.network.cut("b", "c", both=False)
        eventually(lambda: w.sees("b", "c") == "away" and w.sees("c", "b") == "away", "both ends know")
        if is_slow():
            within("F9, seconds until both ends know, to the matrix's three", (time.monotonic() - cut) / 3, 1)
        # By what they say to each other: the kernel would hold such a connection open for minutes.
        w.says("c", "nothing was heard of it in time")
        w.put("b", "during")
        w.put("c", "during-c")
        w.network.heal()
        eventually(lambda: w.sees("b", "c") == "up" and w.sees("c", "b") == "up", "both are there again")
        w.settled()
        w.check(["during", "during-c"])
