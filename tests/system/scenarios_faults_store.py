"""The rows of the fault matrix that concern a member's files: readers that were killed, and disks without room."""

import contextlib
import json
import random
import shutil
import subprocess
import time

from cluster_faults import BOTH, Harmed, is_slow, three
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


def scenario_f16_forgotten_reader():
    """A read that some program never ends is named with its process, costs nobody an answer, and its pages come back."""
    with three().form() as w:
        lead = w.leader()
        with w.writing(*w.alive()) as load, reading(w, lead, 1) as (process, _):
            load.more(1500 if is_slow() else 30, 600)
            said = eventually(lambda: next((p for p in problems(w, lead) if f"process {process.pid} " in p), None),
                              "it is named", 40)
            expect("end it" in said, "and what to do", said)
            expect("assay_ledger_readers_forgotten 1" in w.metrics(lead), "metrics say so")
            load.more(10)
            expect(not [p for p in problems(w, w.followers()[0]) if "process" in p], "the others have none")
        eventually(lambda: not [p for p in problems(w, lead) if "process" in p], "it is gone")
        w.settled()
        w.check(load.names())


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


def scenario_f18_address_space():
    """A ledger whose address space is nearly used up takes nothing more and reads on; with more of it all goes on."""
    with Harmed(a=BOTH, b=BOTH, c=BOTH) as w:
        for member in w.members.values():
            member.config.write_text(member.config.read_text() + "ledger: {map_mib: 32}\n")
        w.form()
        lead = w.leader()
        w.put(lead, "before")

        def refused(number):
            files = [w.large(f"p{number}-{i}")["files"][0] for i in range(10)]
            files = [{"name": f"p{i}.yaml", "text": one["text"]} for i, one in enumerate(files)]
            return w.ask_admin(lead, "POST", "apply", {"files": files})
        for number in range(200):
            status, said = refused(number)
            if "lead" in str(said):  # A busy machine had an election.
                lead = w.leader()
            elif status != 200:
                break
        expect(status in (503, 507) and "address space" in str(said), "it is refused in time", status, said)
        expect("map_mib" in str(said), "and says what to do", said)
        expect(any("address space" in p for p in problems(w, lead)), "status says so", problems(w, lead))
        for name in w.alive():
            expect(w.ask_admin(name, "GET", "projects")[0] == 200, "reads go on", name)
            expect("MAP_FULL" not in w.log(f"{name}.log"), "nothing failed at apply", w.log(f"{name}.log"))
            expect("assay_ledger_disk_full 0" in w.metrics(name), "no commit failed", name)
        seqs = {w.cluster(name)["seq"] for name in w.alive()}
        expect(len(seqs) == 1, "all are level", seqs)
        for name in w.alive():
            w.kill(name)
            member = w.members[name]
            member.config.write_text(member.config.read_text().replace("map_mib: 32", "map_mib: 256"))
            w.begin(name)
            w.settled()
        w.put(w.leader(), "after")
        w.check(["before", "after"])


def scenario_f11_full_disks_of_majority():
    """Two of three disks full: the leader refuses by name and at once, what undoes is still taken, and room ends it by itself."""
    keys = [f"k{number}" for number in range(1000 if is_slow() else 100)]
    with three() as w:
        for member in w.members.values():
            w.mount_tmpfs(member.data, "40m")
        w.form().serve()
        w.put("a", "before")
        move = json.loads(w.patiently("a", "get", "moves", "-o", "json").out)[0]["name"]
        for first in range(0, len(keys), 100):
            w.patiently("a", "apply", "-f", "-", text="---\n".join(
                f"key: {key}\nproject: default\nclass: interactive\n" for key in keys[first:first + 100]))
        running = [w.members[name].process for name in w.alive()]
        lead, full = w.leader(), sorted(w.followers())
        tried = []

        def refused():
            for name in full:
                fill(w.members[name].data)
            tried.append(f"full-{len(tried)}")
            begun = time.monotonic()
            status, said = w.ask_admin(lead, "POST", "apply", w.large(tried[-1]), 10)
            return status != 200 and (status, said, time.monotonic() - begun)
        status, said, took = eventually(refused, "ordinary records are refused")
        expect(status == 507 and "full but for their reserve: " + ", ".join(full) in str(said), "by name", status, said)
        expect("only what undoes" in str(said) and "free space" in str(said), "and says what to do", said)
        expect(took < 2, "at once", took)
        for name in full:
            eventually(lambda: any("disk here is full" in one for one in problems(w, name)), f"{name} says so")
        for name in w.alive():
            eventually(lambda: any("takes only what undoes" in one for one in problems(w, name)), f"{name} names the alarm")
            expect("assay_ledger_disk_full 1" in w.metrics(name), "and so do its metrics", name)

        # What the room is kept for.
        for key in keys:
            status, said = w.ask_admin(lead, "POST", "revoke", {"kind": "key", "name": key, "reason": "stolen"}, 10)
            expect(status == 200, "a key is revoked", key, status, said)
        w.at(lead, "reverse", move, "--reason", "too slow", "--wait", "--timeout", "30", patience=40).is_ok()
        w.add("d", ["ingress"])
        w.begin("d")
        w.join("d", lead)
        w.at(lead, "cluster", "remove", "d", "--reason", "not needed").is_ok()
        w.kill("d")
        status, said = w.ask_admin(lead, "POST", "apply", w.project("no"), 10)
        expect(status == 507, "and for nothing else", status, said)
        for name in w.alive():
            status, said = w.ask_admin(name, "GET", "cluster")
            expect(status == 200 and said["seq"] > 0, "each answers", name, status)

        for name in full:
            (w.members[name].data / "ballast").unlink()
        eventually(lambda: w.ask_admin(lead, "POST", "apply", w.project("resumed"), 10)[0] == 200, "all is taken again", 10)
        for name in w.alive():
            w.put(name, f"after-{name}")
        expect(all(one.poll() is None for one in running), "nothing was restarted")
        w.settled()
        w.check(["before", "resumed", *(f"after-{name}" for name in w.alive())])


def scenario_f14_flipped_pages():
    """One bit of the store is another one, in its first pages, a page's header or anywhere: it goes on, or ends and names the file."""
    with Harmed(a=["coordinator"]) as w:
        w.form()
        for number in range(20):
            w.put("a", f"p{number}")
        state = w.members["a"].data / "ledger/data.mdb"
        eventually(lambda: b"p19" in state.read_bytes(), "the state's commit, which is a lazy one, is there")
        w.kill("a")
        kept = w.root / "kept"
        shutil.copytree(w.members["a"].data, kept, ignore=shutil.ignore_patterns("*.sock"))
        whole = state.read_bytes()
        seed = random.SystemRandom().randrange(10**6) if is_slow() else 14
        chance = random.Random(seed)
        for _ in range(200 if is_slow() else 15):
            page = chance.choice((0, 1, *range(len(whole) // 4096)))
            at = page * 4096 + chance.randrange(*((0, 160) if page < 2 else chance.choice(((0, 48), (0, 4096)))))
            bit = 1 << chance.randrange(8)
            shutil.rmtree(w.members["a"].data)
            shutil.copytree(kept, w.members["a"].data)
            with state.open("r+b") as file:
                file.seek(at)
                file.write(bytes([whole[at] ^ bit]))
            told = f"seed {seed}, page {page}, byte {at % 4096}, bit {bit}"
            member = w.members["a"]
            member.process = w.spawn(member.program, "--config", member.config, log="a.log")

            def has_begun():
                return member.process.poll() is not None or w.at("a", "get", "projects").code == 0
            eventually(has_begun, f"it answers or ends ({told})")
            if member.process.poll() is None:
                w.at("a", "ledger", "verify")
            if member.process.poll() is None:
                w.kill("a")
            else:
                code = member.process.returncode
                expect(code in (1, 74), "it ends by itself, and not by a signal", told, code, w.log("a.log"))
                w.ends("a", code, str(state.parent))
