"""What a host may be used for: drained, quarantined and resumed, while requests come and a leader goes."""

import json
import threading
import time

from cluster_faults import three
from scenarios_hosts import join_second
from world import World, eventually, expect

SLOW = "[[pace 0.15]] [[words 50]]"  # A stream of seven seconds.


class Stream:
    """One streamed chat in a thread of its own, under way when this returns."""

    def __init__(self, w, post):
        self.answers = []
        before = len(w.seen(part="pace 0.15"))
        self.thread = threading.Thread(target=lambda: self.answers.append(post(SLOW, stream=True)))
        self.thread.start()
        eventually(lambda: len(w.seen(part="pace 0.15")) > before, "the stream is at a replica")

    def is_over(self):
        return not self.thread.is_alive()

    def check_whole(self):
        self.thread.join(60)
        expect(self.is_over(), "the stream ends")
        answer = self.answers[0]
        events = [part[6:] for part in answer.body.decode().split("\n\n") if part.startswith("data: ")]
        expect(answer.status == 200 and answer.is_whole and events[-1] == "[DONE]", "the stream is whole", answer.status, *events[-2:])
        words = sum(bool(json.loads(one)["choices"][0]["delta"].get("content")) for one in events[:-1] if json.loads(one)["choices"])
        expect(words >= 50, "it has all its words", words)


def host_of(name):
    return name.rsplit("@", 1)[1]


def serving_on(replicas):
    """The hosts whose replicas take traffic."""
    return {host_of(one["name"]) for one in replicas if one["traffic"]}


def on_both(replicas, apply):
    """One replica serves on each of the two hosts; nothing is placed on a host in its first second, so it may need a second try."""
    def spread():
        for count in (1, 2):
            apply(count)
            eventually(lambda: len(found := replicas()) == count and all(one["traffic"] for one in found), f"{count} replicas serve")
        return len(serving_on(replicas())) == 2
    eventually(spread, "a replica on each host")


def busy(replicas):
    """The host where something is in flight."""
    found = [host_of(one["name"]) for one in replicas if one["in_flight"][0] != "0"]
    return found[0] if found else None


def scenario_host_drained():
    """A drained host: its stream ends whole, then its replica; traffic is on the other one; resumed, it takes work again."""
    with World() as w:
        w.serve()
        _, folder, agent = join_second(w)
        text = (w.root / "catalog/catalog.yaml").read_text()

        def apply(count):
            w.write("catalog/catalog.yaml", text.replace("slots: 2", f"replicas: {count}\n    slots: 2"))
            w.assay("apply", "-f", w.root / "catalog").is_ok()

        def replicas():
            return w.get("replicas")
        on_both(replicas, apply)
        stream = Stream(w, w.chat)
        drained = eventually(lambda: busy(replicas()), "the stream is at one of them")
        other = ({"local", "second"} - {drained}).pop()
        left = next(one["name"] for one in replicas() if host_of(one["name"]) == drained)
        w.assay("host", "drain", drained).ends(2, "--reason")
        w.assay("host", "drain", "nobody", "--reason", "x").ends(3, "no host \"nobody\"")
        w.assay("host", "drain", drained, "--reason", "a new fan").ends(0, f"{drained} is draining")
        eventually(lambda: serving_on(replicas()) == {other}, "nothing more is sent there", 3)
        expect(not stream.is_over(), "the stream is still under way")
        for _ in range(10):
            expect(w.chat("capital of France").status == 200, "the other host serves")
        expect(not stream.is_over() and left in w.replicas("name"), "what drains waits for its stream", replicas())
        stream.check_whole()
        eventually(lambda: left not in w.replicas("name"), "then its replica ends")
        eventually(lambda: {host_of(one) for one in w.replicas("name")} == {other}, "all that runs is on the other")

        shown = w.assay("host", "show", drained, "-o", "json").json()["item"]
        expect(shown["duty"] == "draining" and shown["duty_reason"] == "a new fan" and shown["duty_by"], "it is shown", shown)
        why = f"host {drained} is draining since "
        told = w.assay("explain", "--model", "tiny").is_ok().out
        expect(why in told and "a new fan" in told, "an explanation says why", told)
        told = w.assay("who-served", "tiny").is_ok().out
        expect("kept from work then" in told and f"host {drained}: draining since" in told, "so does the audit", told)
        w.assay("host", "drain", drained, "--reason", "again").ends(4, "is draining already")

        w.assay("host", "resume", drained, "--reason", "the fan is in").ends(0, "is in service")
        w.assay("host", "drain", other, "--reason", "its turn").is_ok()
        eventually(lambda: serving_on(replicas()) == {drained}, "its turn to serve", 30)
        expect(w.chat("capital of France").status == 200, "it serves")
        w.assay("host", "resume", other, "--reason", "done").is_ok()
        w.assay("ledger", "verify").is_ok()
        w.run("assay-agent", "stop", "--data", folder, "--stop-replicas").is_ok()
        agent.wait(30)


def scenario_host_quarantined():
    """A quarantined host is out of routing at once and keeps what it runs; alone, it leaves nobody who serves."""
    with World() as w:
        w.serve()
        before = w.runtime_pid()
        stream = Stream(w, w.chat)
        w.assay("host", "quarantine", "local", "--reason", "wrong answers").ends(0, "local is quarantined")
        begun = time.monotonic()
        eventually(lambda: w.chat("capital of France").status == 503, "nothing is sent there", 5)
        taken = time.monotonic() - begun
        expect(taken <= 1, "at once", f"{taken:.2f} s")
        told = w.assay("explain", "--model", "tiny").out
        expect("host local is quarantined since " in told and "wrong answers" in told, "the explanation says why", told)
        stream.check_whole()
        replica, = w.get("replicas")
        expect(replica["phase"] == "ready" and not replica["traffic"] and "wrong answers" in replica["reason"], "it stays", replica)
        w.assay("host", "resume", "local", "--reason", "it was the driver").is_ok()
        eventually(lambda: w.chat("capital of France").status == 200, "it serves again", 5)
        expect(w.runtime_pid() == before, "with the process that it had")


def scenario_host_drained_without_leader():
    """The leader dies while a host drains: its successor knows it, waits for the stream, and then ends the replica."""
    with three().form() as w:
        w.serve()
        w.start_agent("h2")
        text = (w.root / "catalog/catalog.yaml").read_text()

        def apply(count):
            w.write("catalog/catalog.yaml", text.replace("slots: 2", f"replicas: {count}\n    slots: 2"))
            w.patiently(w.alive()[0], "apply", "-f", w.root / "catalog")

        def replicas():
            return json.loads(w.patiently(w.alive()[0], "get", "replicas", "-o", "json").out)
        on_both(replicas, apply)
        gone = w.leader()
        ingress = next(name for name in w.ingresses() if name != gone)
        stream = Stream(w, lambda text, **more: w.ask(ingress, text, **more))
        drained = eventually(lambda: busy(replicas()), "the stream is at one of them")
        w.patiently(gone, "host", "drain", drained, "--reason", "a new fan")
        w.kill(gone)
        stream.check_whole()
        eventually(lambda: drained not in {host_of(one["name"]) for one in replicas()}, "then nothing runs there", 40)
        eventually(lambda: w.ask(ingress).status == 200, "the other host serves")
        shown = json.loads(w.patiently(w.leader(), "get", "hosts", "-o", "json").out)
        expect({one["name"]: one["duty"] for one in shown}[drained] == "draining", "its successor says so", shown)
        w.patiently(w.leader(), "host", "resume", drained, "--reason", "the fan is in")
        w.begin(gone)
        w.settled()
        w.check()
