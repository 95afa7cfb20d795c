"""The doors of the programs: what a monitor is told in each state, and what is said of a port that somebody else has."""

import contextlib
import http.client
import json
import signal
import socket
import threading
import time

from cluster import Cluster
from world import PATIENCE, World, eventually, expect

BOTH = ["coordinator", "ingress"]


def look(where, path, method="GET"):
    connection = http.client.HTTPConnection(*where, timeout=PATIENCE)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def is_healthy(where):
    return look(where, "/healthz") == (200, "ok\n")


def ready(where, status, *parts):
    """It comes to say so, and lives all the while."""
    def says():
        expect(is_healthy(where), "it lives")
        got, text = look(where, "/readyz")
        return got == status and all(part in text for part in parts) and (got, text)
    return eventually(says, f"/readyz of {where[0]} is {status} with {parts}")


def scenario_monitor_of_a_standalone():
    """Ready while it serves; from the order to end on 503, and alive, for as long as it answers requests still."""
    with World() as w:
        w.serve()
        where = w.endpoint("monitor")
        expect(ready(where, 200)[1] == "ready\n", "nothing is wrong", look(where, "/readyz"))
        status, text = look(where, "/metrics")
        expect(status == 200 and "\nassay_ledger_seq " in text and "assay_waits_for" not in text, "metrics", status, text[:500])
        expect(look(where, "/readyz", "HEAD") == (200, ""), "HEAD is a GET without its body")
        expect(look(where, "/healthz", "POST")[0] == 405, "POST is refused")
        status, text = look(where, "/nothing")
        expect(status == 404 and "/healthz /readyz /metrics" in text, "what there is is named", status, text)

        def hold():
            with contextlib.suppress(OSError, http.client.HTTPException):
                w.chat("[[prefill 60]] held")
        threading.Thread(target=hold, daemon=True).start()
        eventually(lambda: w.seen(part="held"), "a request is in flight, so that the end takes its time")
        w.assayd.send_signal(signal.SIGTERM)
        seen = []
        with contextlib.suppress(OSError, http.client.HTTPException):
            while w.assayd.poll() is None:
                seen.append((look(where, "/readyz"), look(where, "/healthz"), look(where, "/metrics")[0]))
        expect(w.assayd.wait(PATIENCE) == 0, "it ends as told", w.log())
        stopping = [one for one in seen if one[0][0] != 200]
        expect(stopping and all(one == ((503, "stopping\n"), (200, "ok\n"), 200) for one in stopping), "it stops, and says so", seen)
        expect(seen[-len(stopping):] == stopping, "and is never ready again", seen)


def scenario_monitor_of_members():
    """No place yet, no leader yet, a leader lost: each is told, and only who can serve is ready."""
    with Cluster(a=BOTH, b=BOTH, c=["coordinator"], d=["ingress"]) as w:
        at = {name: (member.address, 7101) for name, member in w.members.items()}
        for name in w.members:
            w.begin(name)
            ready(at[name], 503, "belongs to no cluster yet", "assay cluster init")
            expect("assay_waits_for_a_cluster 1" in w.metrics(name), "metrics say that it waits", w.metrics(name))
        w.at("a", "cluster", "init", "--name", "lab").is_ok()
        w.join("b")
        w.join("c")
        w.join("d")
        w.settled()
        for name in w.members:
            expect(ready(at[name], 200)[1] == "ready\n", "a member is ready", name)
            expect("assay_waits_for_a_cluster" not in w.metrics(name), "it waits no more")
        w.kill("a")
        w.kill("b")
        ready(at["c"], 503, "the ledger has no leader", "assay cluster status")
        w.begin("b")
        for name in ("b", "c"):
            expect(ready(at[name], 200)[1] == "ready\n", "two of three are enough", name)
        w.kill("c")
        for name in ("b", "d"):
            ready(at[name], 200, "ready, though the ledger has no leader")  # An ingress goes on with what it knows.
        for name in ("b", "d"):
            w.kill(name)
            w.begin(name)
            ready(at[name], 503, "the ledger has no leader")  # It has heard of none since it began.
        w.begin("a")
        w.begin("c")
        w.settled()
        ready(at["d"], 200)
        w.patiently("b", "cluster", "remove", "d", "--reason", "not needed here")
        ready(at["d"], 503, "it was removed from the cluster")


@contextlib.contextmanager
def taken(address, port, shared=False):
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holder.bind((address, port))
        holder.listen()
        yield holder.getsockname()[1]


def scenario_ports_taken():
    """Whatever door's port somebody else has: the program ends with 1, and names address, key and what to do."""
    def refused(run, address, port, key):
        run().ends(1, "Address already in use", f"{address}:{port} ({key})", "stop what listens there (ss -ltnp)")

    with Cluster(a=BOTH) as w:
        member = w.members["a"]
        doors = {"ingress.listen": 7100, "monitor.listen": 7101, "agents.listen": 7103, "peers.listen": 7104}

        def run():
            return w.run("assayd", "--config", member.config)
        with taken(member.address, 7101):
            refused(run, member.address, 7101, "monitor.listen")  # Before it belongs to a cluster.
        w.begin("a")
        w.at("a", "cluster", "init").is_ok()
        eventually(lambda: w.cluster("a")["leader"] == "a", "it leads")
        w.start_agent("h1")
        w.kill("a", signal.SIGTERM)
        for key, port in doors.items():
            with taken(member.address, port):
                refused(run, member.address, port, key)
        member.config.write_text(member.config.read_text().replace(':7100"}', ':7100", threads: 2}'))
        with taken(member.address, 7100, shared=True):  # Two programs would get every other request each.
            refused(run, member.address, 7100, "ingress.listen")
        w.begin("a")
        w.run("assay-agent", "stop", "--data", w.root / "h1").is_ok()
        with taken("127.0.0.1", 0) as port:
            refused(lambda: w.run("assay-agent", "run", "--data", w.root / "h1", "--monitor", f"127.0.0.1:{port}"),
                    "127.0.0.1", port, "monitor")


def scenario_progress_without_a_terminal():
    """What takes long enough to draw on a terminal how far it is writes no control character where there is none."""
    with World() as w:
        w.start()
        w.assay("apply", "-f", w.catalog()).is_ok()
        w.behave(pace_s=0.3)
        lines = w.write("slow.jsonl", "".join(json.dumps({"id": f"i{n}", "prompt": f"[[words 4]] number {n}"}) + "\n" for n in range(8)))
        name = w.implementation()
        for words in (["qualify", name, "--wait"], ["promote", name, "--wait"], ["submit", lines, "--model", "tiny", "--wait"],
                      ["ledger", "export", w.root / "copy.ledger"], ["ledger", "verify", w.root / "copy.ledger"]):
            begun = time.monotonic()
            said = w.assay(*words, patience=240).is_ok()
            took = time.monotonic() - begun
            expect(words[0] not in ("qualify", "submit") or took > 2, "a terminal would have shown how far it is", took, said)
            odd = {c for c in said.out + said.err if ord(c) < 32 and c != "\n"}
            expect(not odd, f"assay {words[0]} writes no control characters", odd, said)
