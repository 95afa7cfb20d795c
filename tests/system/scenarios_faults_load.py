"""The rows of the fault matrix where one member is far behind, or slow to read."""

import contextlib
import threading
import time

from cluster_faults import is_slow, passed, three, within
from scenarios_faults_cluster import memory_of
from world import eventually, expect

LOG_KEPT = 1024  # Entries that a leader's log keeps for who is behind (limits::log_trailing).
BUDGETS = (24 + 96 + 24) * 1.0  # MiB that may wait for one member, all lanes (src/base/peer_limits.hpp).


def push_log(w, lead, count):
    """As many entries of the log more: records, and reads, each of which the leader proves by an entry."""
    until = w.cluster(lead)["log_index"] + count
    is_over = threading.Event()

    def put(tag):
        for i in range(100_000):
            if is_over.is_set():
                return
            w.try_put(lead, f"{tag}-{i}")

    def read():
        while not is_over.is_set():
            w.ask_admin(lead, "GET", "ledger?limit=1")
    threads = [threading.Thread(target=put, args=(f"x{time.monotonic_ns()}",), daemon=True)]
    threads += [threading.Thread(target=read, daemon=True) for _ in range(3)]
    for one in threads:
        one.start()
    try:
        eventually(lambda: w.cluster(lead)["log_index"] > until, f"{count} entries", 900 if is_slow() else 200)
    finally:
        is_over.set()
        for one in threads:
            one.join(30)


def scenario_f21_far_behind():
    """A follower that the log cannot bring up to date takes over a state while writes go on, and nobody is elected for it."""
    with three().form() as w:
        lead = w.leader()
        gone, other = w.followers()
        w.kill(gone)
        push_log(w, lead, LOG_KEPT * (30 if is_slow() else 2) + 100)
        term = w.term(lead)
        with w.writing(lead, other) as load:
            begun = time.monotonic()
            load.more(1000 if is_slow() else 5, 300)
            back = time.monotonic()
            w.begin(gone)
            eventually(lambda: "fetching a state" in (w.root / f"{gone}.log").read_text(), "the log does not reach back so far")
            load.more(20)
            w.settled()
            if is_slow():
                within("F21, p99 of an acknowledgement while one catches up",
                       load.p99(back, time.monotonic()) / load.p99(begun, back), 2)
            # A machine that is busy with others may make one of its own; who is behind makes none.
            expect(w.term(lead) <= term + 1, "no elections", term, w.term(lead))
            expect(not load.refused or w.term(lead) != term, "nothing was refused", *load.refused[:3])
        w.check(load.names())


@contextlib.contextmanager
def large_records(w, lead):
    """One after the other; what is yielded grows with each."""
    is_over = threading.Event()
    put = []

    def go_on():
        while not is_over.is_set():
            w.ask_admin(lead, "POST", "apply", w.large(f"large-{len(put)}"))
            put.append(time.monotonic())
    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield put
    finally:
        is_over.set()
        thread.join(20)


def scenario_f28_slow_reader():
    """A follower that reads in short spells costs the leader no more memory than its budget, and the others no answer."""
    with three().form() as w:
        lead = w.leader()
        slow, other = w.followers()
        is_over = threading.Event()

        def doze():
            while not is_over.is_set():
                w.pause(slow)
                is_over.wait(0.9)
                w.resume(slow)
                is_over.wait(0.05)
        with w.writing(lead, other) as load, large_records(w, lead) as large:
            begun = time.monotonic()
            load.more(1000 if is_slow() else 5, 300)
            term = w.term(lead)
            before = memory_of(w.members[lead].process)
            spells = threading.Thread(target=doze, daemon=True)
            dozing = time.monotonic()
            spells.start()
            try:
                sent = len(large)
                passed(120 if is_slow() else 5)
                load.more(20)
                if is_slow():
                    within("F28, p99 of an acknowledgement while one reads slowly",
                           load.p99(dozing, time.monotonic()) / load.p99(begun, dozing), 1.2)
            finally:
                is_over.set()
                spells.join(20)
            grown = memory_of(w.members[lead].process) - before
            expect(grown <= BUDGETS, "memory", f"{grown:.0f} MiB")
            expect(not load.refused or w.term(lead) != term, "nothing was refused", *load.refused[:3])
            expect(len(large) > sent + 3, "large ones were taken meanwhile", len(large) - sent)
        w.settled()
        w.check(load.names())
