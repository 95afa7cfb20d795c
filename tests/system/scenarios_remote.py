"""Hosts that are other machines: replicas beyond the ingress's own loopback, each member in a network of its own."""

import json
import select
import socket

from cluster_faults import Networked
from world import eventually, expect

BOTH = ["coordinator", "ingress"]


class Remote(Networked):
    """Members `a` and `b` on two hosts; the only agent is on the host of `a`."""

    def __init__(self):
        super().__init__(a=BOTH, b=BOTH)

    def ask(self, name, text="capital of France", **more):
        with self.network.inside(name):
            return super().ask(name, text, **more)

    def start_agent(self, name="h1"):
        with self.network.inside("a"):
            return super().start_agent(name)

    def ingresses(self):
        return ["a"]  # Of `b` each scenario says itself what becomes.

    def declare(self, plaintext):
        path = self.root / "catalog/catalog.yaml"
        text = path.read_text().replace("plaintext: accepted\n", "")
        more = "plaintext: accepted\n" if plaintext else ""
        path.write_text(text.replace("compatibility: true\n", f"compatibility: true\n{more}"))
        self.patiently("a", "apply", "-f", self.root / "catalog")

    def replica_port(self):
        """Where the newest replica listens, as its agent wrote it down."""
        files = sorted((self.root / "h1/agent/replicas").glob("*/endpoint.json"), key=lambda file: file.stat().st_mtime)
        document = json.loads(files[-1].read_text())
        return document["address"], document["port"]

    def why(self, name):
        return " ".join(self.cluster(name)["problems"])


class Trap:
    """Listens where a wrong ingress would dial its own host instead of the replica's."""

    def __init__(self, w, name, port):
        with w.network.inside(name):
            self.listener = socket.socket()
            self.listener.bind(("127.0.0.1", port))
            self.listener.listen()

    def was_touched(self):
        return bool(select.select([self.listener], [], [], 0)[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def scenario_remote_refused():
    """Without `plaintext: accepted` only the replica's own host serves it; another ingress says why and dials nobody."""
    with Remote().form() as w:
        w.serve()
        address, port = w.replica_port()
        expect(address == "127.0.0.1", "it listens on loopback", address)
        with Trap(w, "b", port) as trap:
            eventually(lambda: "plaintext: accepted" in w.why("b"), "b names the reason in its status")
            expect("plaintext" not in w.why("a"), "and a, which is on the host, has none", w.why("a"))
            for _ in range(5):
                said = w.ask("b")
                said.fails(503, "no_capacity", "on other hosts")
                expect(w.ask("a").status == 200, "the host's own ingress serves")
            told = w.at("b", "explain", "--model", "tiny")
            expect("plaintext: accepted" in told.out, "explain names it at b", told)
            expect(not trap.was_touched(), "nothing was ever sent to b's own loopback")


def scenario_remote_served():
    """With it the replica listens where others reach it, and both ingresses serve; taken back, only the host's own does."""
    with Remote().form() as w:
        w.serve()
        w.declare(plaintext=True)
        eventually(lambda: w.ask("b").status == 200, "b serves from a's host")
        address, port = w.replica_port()
        expect(address == "10.77.0.1", "it listens on the agent's address", address)
        with Trap(w, "b", port) as trap:
            for _ in range(5):
                expect(w.ask("b").json()["choices"][0]["message"]["content"] == "Paris", "b answers")
                expect(w.ask("a").status == 200, "and so does a")
            expect("hosts" not in w.why("b"), "nothing is out of reach", w.why("b"))
            w.declare(plaintext=False)
            eventually(lambda: w.ask("b").status == 503, "b stops as soon as it knows")
            eventually(lambda: w.ask("a").status == 200 and w.replica_port()[0] == "127.0.0.1", "a serves from loopback")
            w.ask("b").fails(503, "no_capacity", "on other hosts")
            expect(not trap.was_touched(), "nothing was ever sent to b's own loopback")
