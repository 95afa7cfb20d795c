"""The rows of the fault matrix that concern a member's files: readers that were killed, and disks without room."""

import contextlib
import subprocess

from cluster_faults import is_slow, three
from scenarios_faults_cluster import fill
from world import BIN, Skipped, eventually, expect


@contextlib.contextmanager
def reading(w, name, count, store="ledger"):
    """Another program that holds so many reads of that member's files open; it is killed at the end."""
    program = BIN / "held_reader"
    if not program.exists():
        raise Skipped(f"{program} is missing (target held_reader)")
    process = subprocess.Popen([program, w.members[name].data / store, str(count)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=w.environment())
    try:
        held = int(process.stdout.readline() or 0)
        expect(held > 0, "it reads", held)
        yield process, held
    finally:
        process.kill()
        process.wait(20)
        process.stdin.close()
        process.stdout.close()


def problems(w, name):
    return w.cluster(name)["problems"]


def scenario_f17_killed_readers():
    """As many readers as there are places, and then killed: nobody who asks gets to see that the table was full."""
    with three().form() as w:
        lead = w.leader()
        with w.writing(*w.alive()) as load:
            load.more(5)
            for _ in range(5 if is_slow() else 2):
                with reading(w, lead, 100_000) as (_, held):
                    expect(held > 100, "they take what there is", held)
                    load.more(5)
                    w.at(lead, "ledger", "verify").is_ok()
                for _ in range(20):
                    status, said = w.ask_admin(lead, "GET", "ledger?limit=10")
                    expect(status == 200, "who reads is answered", status, said)
                w.at(lead, "ledger", "verify").is_ok()
                load.more(5)
        w.settled()
        w.check(load.names())


def scenario_f11_full_disks_of_majority():
    """Two of three disks full: nothing more is acknowledged, reads go on, each says so; with room again all goes on by itself."""
    with three() as w:
        for member in w.members.values():
            w.mount_tmpfs(member.data, "32m")
        w.form()
        w.put("a", "before")
        running = [w.members[name].process for name in w.alive()]
        full = w.followers()
        tried = []

        def refused():
            for name in full:
                fill(w.members[name].data)
            tried.append(f"full-{len(tried)}")
            try:
                status, said = w.ask_admin(w.leader(), "POST", "apply", w.large(tried[-1]), 10)
            except TimeoutError:
                return True  # It waits for a majority, and may come on record once there is room.
            return status != 200 and (status, said)
        eventually(refused, "nothing is acknowledged any more")
        for name in full:
            eventually(lambda: any("disk here is full" in one for one in problems(w, name)), f"{name} says so")
        for name in w.alive():
            status, said = w.ask_admin(name, "GET", "cluster")
            expect(status == 200 and said["seq"] > 0, "each answers", name, status)
        for name in full:
            (w.members[name].data / "ballast").unlink()
        for name in w.alive():
            w.put(name, f"after-{name}")
        expect(all(one.poll() is None for one in running), "nothing was restarted")
        w.settled()
        w.check(["before", *(f"after-{name}" for name in w.alive())])
