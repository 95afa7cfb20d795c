"""Several real assayd that form one cluster, each on a loopback address of its own, so that ports can be the usual ones.

A `Cluster` is a `World` without a standalone: members are started, joined, killed and started again by name, and an
agent may serve them all. It promises what `World` does: nothing lives on after `close`.
"""

import http.client
import json
import random
import re
import signal
import socket
from pathlib import Path

from world import BIN, World, eventually, expect

ADMIN_RETRY = 30.0  # Seconds for what waits for an election; one takes a second or two when the machine is idle.


def free_net():
    """The first two bytes behind 127 of addresses on which nobody listens now."""
    while True:
        net = f"127.{random.randrange(10, 250)}.{random.randrange(1, 250)}"
        with socket.socket() as probe:
            try:
                probe.bind((f"{net}.1", 7104))
                return net
            except OSError:
                continue


class Member:
    def __init__(self, name, address, folder, roles):
        self.name = name
        self.address = address
        self.data = folder / name
        self.config = folder / f"{name}.yaml"
        self.roles = roles
        self.process = None
        self.program = BIN / "assayd"
        self.config.write_text(f"""data: {self.data}
name: {name}
roles: [{", ".join(roles)}]
ingress: {{listen: "{address}:7100"}}
monitor: {{listen: "{address}:7101"}}
agents: {{listen: "{address}:7103"}}
peers: {{listen: "{address}:7104"}}
""")


class Cluster(World):
    def __init__(self, **roles):
        """`roles`: by member, the first one founds: `Cluster(a=["coordinator"], ...)`."""
        super().__init__()
        self.net = free_net()
        self.members = {}
        self.agent_folders = []
        for name, these in roles.items():
            self.add(name, these)
        self.founder = next(iter(self.members.values()))
        self.data = self.founder.data

    def add(self, name, roles=("coordinator", "ingress")):
        self.members[name] = Member(name, f"{self.net}.{len(self.members) + 1}", self.root, roles)
        return self.members[name]

    # -- programs ------------------------------------------------------------------------------

    def at(self, name, *words, **how):
        """`assay WORDS` at that member's admin socket."""
        return self.assay(*words, env=self.environment(ASSAY_SERVER=self.server(name)), **how)

    def server(self, name):
        return f"unix:{self.members[name].data}/run/admin.sock"

    def begin(self, name):
        """Its assayd, up to an open admin socket."""
        member = self.members[name]
        member.process = self.spawn(member.program, "--config", member.config, log=f"{name}.log")

        def is_up():
            expect(member.process.poll() is None, f"{name} ended", self.log(f"{name}.log"))
            said = self.at(name, "cluster", "status")
            return said.code == 0 or "belongs to no cluster" in said.err
        eventually(is_up, f"{name} answers")

    def token(self, at, *more):
        return self.patiently(at, "cluster", "token", *more).out.split()[0]

    def join(self, name, at=None, *more):
        if "coordinator" not in self.members[name].roles:
            more = (*more, "--ingress")
        token = self.token(at or self.founder.name, *more)
        self.at(name, "cluster", "join", "-", text=token + "\n").is_ok()
        return token

    def form(self):
        """All of them, in the order in which they were named, up to the last vote."""
        for name in self.members:
            self.begin(name)
        self.at(self.founder.name, "cluster", "init", "--name", "lab").is_ok()
        for name in list(self.members)[1:]:
            self.join(name)
        self.settled()
        return self

    def settled(self):
        """Every member is up, every coordinator has its vote, and all see the same members."""
        votes = sum("coordinator" in m.roles for m in self.members.values() if m.process)

        def is_so():
            seen, *others = (self.cluster(name) for name in self.alive())
            named = [[(m["name"], m["node"]) for m in one["members"]] for one in (seen, *others)]
            return seen["leader"] and seen["voters"] == seen["reached"] == votes and \
                all(m["role"] != "catching up" for m in seen["members"]) and all(one == named[0] for one in named)
        eventually(is_so, "every coordinator votes")

    def kill(self, name, how=signal.SIGKILL):
        process = self.members[name].process
        process.send_signal(how)
        process.wait(30)
        self.members[name].process = None

    # -- looking -------------------------------------------------------------------------------

    def alive(self):
        return [name for name, m in self.members.items() if m.process]

    def cluster(self, at=None):
        return self.at(at or self.alive()[0], "cluster", "status", "-o", "json").json()

    def leader(self):
        """Its name, as it says itself."""
        def look():
            for name in self.alive():
                seen = self.cluster(name)
                if seen["leader"] == name:
                    return name
            return None
        return eventually(look, "somebody leads", ADMIN_RETRY)

    def patiently(self, at, *words, **how):
        """A command that may come while nobody leads."""
        def tried():
            said = self.at(at, *words, **how)
            expect(said.code != 5, f"nobody answers at {at}", said)
            return said
        return eventually(tried, f"assay {' '.join(map(str, words))} is answered", ADMIN_RETRY).is_ok()

    # -- records whose loss or doubling shows ----------------------------------------------------

    def put(self, at, name):
        """One acknowledged record: a project of that name. Said again until it is acknowledged."""
        self.patiently(at, "apply", "-f", "-", text=f"project: {name}\n")

    def found(self, at):
        """How often each project was declared, as that member's ledger has it."""
        def look():  # From the leader, not from a copy that may be behind.
            said = self.at(at, "ledger", "log", "--limit", "1000", "-o", "json")
            return said.code == 0 and "no leader" not in said.err and said.out
        found = {}
        for one in json.loads(eventually(look, f"{at} reads the ledger", ADMIN_RETRY)):
            if one["kind"] == "declared" and one["summary"].endswith("project declared"):
                name = one["summary"].split()[0]
                found[name] = found.get(name, 0) + 1
        return found

    # -- serving ---------------------------------------------------------------------------------

    def start_agent(self, name="h1"):
        """An agent that joined by a token, up to its first word to the leader."""
        folder = self.root / name
        token = self.patiently(self.alive()[0], "host", "token", "--name", name).out.split()[0]
        self.assay("host", "join", "-", "--data", folder, "--host", name, text=token + "\n").is_ok()
        agent = self.spawn(BIN / "assay-agent", "run", "--data", folder, "--path", self.path, log=f"{name}.log")
        self.agent_folders.append(folder)
        self.wait_connected(name)
        return agent

    def wait_connected(self, name="h1"):
        def is_there():
            hosts = json.loads(self.patiently(self.alive()[0], "get", "hosts", "-o", "json").out)
            return next(h for h in hosts if h["name"] == name)["state"] == "connected"
        eventually(is_there, f"{name} is connected: {self.log(f'{name}.log')}")

    def serve(self, **how):
        """An agent, a model that is applied, qualified and promoted, and a chat at every ingress."""
        at = self.alive()[0]
        self.start_agent()
        said = self.patiently(at, "apply", "-f", self.catalog(**how)).out
        self.secret = re.search(r"assay-[A-Za-z0-9_-]{43}", said)[0]
        name = json.loads(self.patiently(at, "get", "implementations", "-o", "json").out)[0]["name"]
        self.at(at, "qualify", name, "--wait", "--timeout", "100", patience=120).is_ok()
        self.at(at, "promote", name, "--wait", "--timeout", "60", patience=90).is_ok()
        for one in self.ingresses():
            eventually(lambda: self.ask(one).status == 200, f"the ingress of {one} answers")
        return self

    def ingresses(self):
        return [name for name in self.alive() if "ingress" in self.members[name].roles]

    def ask(self, name, text="capital of France", **more):
        """One chat at that member's ingress."""
        body = {"model": "tiny", "messages": [{"role": "user", "content": text}], **more}
        return self.post(body, where=(self.members[name].address, 7100), key=self.secret)

    def metrics(self, name):
        connection = http.client.HTTPConnection(self.members[name].address, 7101, timeout=30)
        try:
            connection.request("GET", "/metrics")
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def close(self, is_failed=False):
        self.end_started(lambda process: Path(process.args[0]).name == "assayd")
        for folder in self.agent_folders:
            self.run("assay-agent", "stop", "--data", folder, "--stop-replicas")
        super().close(is_failed)
