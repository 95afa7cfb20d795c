"""Hosts: a second one that joins by a token, servers that somebody else started, and what is taken away again."""

import json
import time

from world import BIN, FAKE, World, eventually, expect


def join_second(w, name="second"):
    """A second agent with its own data directory and keys; says where it lies."""
    folder = w.root / name
    token = w.assay("host", "token", "--name", name).is_ok().out.split()[0]
    w.assay("host", "join", "-", "--data", folder, "--host", name, text=token + "\n").is_ok()
    agent = w.spawn(BIN / "assay-agent", "run", "--data", folder, "--path", w.path, log=f"{name}.log")
    eventually(lambda: {"name": name, "state": "connected"}.items() <= next(
        h for h in w.get("hosts") if h["name"] == name).items(), f"{name} is connected: {w.log(f'{name}.log')}")
    return token, folder, agent


def scenario_pools_share_a_host():
    """A second pool of the family is declared: what the first one runs there serves on."""
    with World() as w:
        w.serve()
        before = w.replicas("name")
        w.assay("apply", "-f", w.write("edge.yaml", "pool: edge\nfamily: cpu\n")).is_ok()
        eventually(lambda: any(one["name"] == "edge" and one["hosts"] for one in w.get("pools")), "it has the host too")
        for _ in range(10):
            expect(w.chat("capital of France").status == 200, "the first pool serves on")
        expect(w.replicas("name") == before, "with the same replicas", before, w.replicas("name"))
        w.assay("delete", "pool", "edge").is_ok()
        expect(w.chat("capital of France").status == 200, "and when it is gone")


def scenario_second_host_joins():
    """A token joins one host once; its replicas serve; revoked, it is gone within two seconds."""
    with World() as w:
        w.serve()
        token, folder, agent = join_second(w)
        again = w.assay("host", "join", token, "--data", w.root / "third", "--host", "third")
        expect(again.code != 0 and again.err.strip(), "a used token is refused", again)
        broken = token[:-4] + ("aaaa" if token[-4:] != "aaaa" else "bbbb")
        said = w.assay("host", "join", broken, "--data", w.root / "third", "--host", "third")
        expect(said.code != 0 and "token" in said.err, "a token with a wrong letter is refused", said)
        text = (w.root / "catalog/catalog.yaml").read_text()

        def spreads():
            """Nothing is placed on a host in its first second, so one replica more may need a second try."""
            for count in (1, 2):
                w.write("catalog/catalog.yaml", text.replace("slots: 2", f"replicas: {count}\n    slots: 2"))
                w.assay("apply", "-f", w.root / "catalog").is_ok()
                eventually(lambda: len(w.replicas("name")) == count, f"{count} replicas")
            w.wait_ready(2)
            return any("second" in name for name in w.replicas("name"))
        eventually(spreads, "one replica runs there")
        w.assay("revoke", "host", "second", "--reason", "test").is_ok()
        begun = time.monotonic()
        eventually(lambda: next(h for h in w.get("hosts") if h["name"] == "second")["state"] == "revoked", "revoked")
        eventually(lambda: not any("second" in name for name, on in w.replicas("name", "traffic") if on),
                   "nothing is sent there any more", 10)
        taken = time.monotonic() - begun
        expect(taken <= 2, "within two seconds", f"{taken:.1f} s")
        for _ in range(10):
            expect(w.chat("capital of France").status == 200, "the first host serves on")
        w.run("assay-agent", "stop", "--data", folder, "--stop-replicas").is_ok()
        agent.wait(30)


def scenario_key_revoked():
    """A revoked key is refused within two seconds."""
    with World() as w:
        w.serve()
        expect(w.chat("hello").status == 200, "it works before")
        key = w.key()
        w.assay("revoke", "key", "tryout", "--reason", "test").is_ok()
        begun = time.monotonic()
        eventually(lambda: w.post({"model": "tiny", "messages": [{"role": "user", "content": "x"}]}, key=key).fails(
            401, "invalid_api_key"), "refused", 10)
        expect(time.monotonic() - begun <= 2, "within two seconds", time.monotonic() - begun)
        w.assay("env").ends(4, "tryout", "revoked")
        w.assay("revoke", "key", "nobody", "--reason", "test").ends(3)


def start_server(w, control, ports=range(21000, 21400, 7)):
    """A server that is not ours, on the first of these ports that is free: it says itself when one is not."""
    log = w.root / "adopted.log"
    for port in ports:
        before = log.read_text().count(f":{port}\n") if log.exists() else 0
        server = w.spawn("/usr/bin/python3", FAKE, "--control", control, "--model", "x", "--alias", "tiny",
                         "--ctx-size", "128", "--port", port, log="adopted.log")
        if eventually(lambda: server.poll() is not None or log.read_text().count(f":{port}\n") > before,
                      "it says something") and server.poll() is None:
            return server, port
    raise AssertionError("none of these ports is free")


def scenario_adopted_server():
    """A server that somebody else started is registered, qualified and routed to, and never stopped by us."""
    with World() as w:
        w.start()
        w.assay("apply", "-f", w.catalog(implementations="")).is_ok()
        control = w.root / "elsewhere"
        control.mkdir()
        server, found = start_server(w, control)

        def adopt(*words):
            return w.run("assay-agent", "adopt", "--data", w.data, "--url", f"http://127.0.0.1:{found}", *words)
        eventually(lambda: "no model 'nobody'" in adopt("--model", "nobody").err, "the coordinator says why not")
        adopt("--model", "nobody").ends(4, "no model 'nobody'", "assay apply")
        adopt("--model", "tiny", "--profile", "none").ends(4, "'none' is not declared", "deploy/runtimes/http.yaml")
        expect(w.get("implementations") == [], "what was refused declares nothing")
        adopt("--model", "tiny").ends(0, f"tiny/local/adopted-local-{found}", "assay qualify")
        eventually(lambda: w.get("implementations"), "it is an implementation")
        w.wait_ready()
        w.qualify()
        w.promote()
        answer = eventually(lambda: (lambda a: a if a.status == 200 else None)(w.chat("capital of France")), "it serves")
        expect(answer.json()["choices"][0]["message"]["content"] == "Paris", "its answer", answer)
        w.end_assayd()
        w.run("assay-agent", "stop", "--data", w.data, "--stop-replicas").is_ok()
        expect(server.poll() is None, "it is not ours to stop")
        seen = [json.loads(line) for line in (control / "requests.jsonl").read_text().splitlines()]
        expect(not any("assay-" in one.get("headers", {}).get("authorization", "") for one in seen), "it sees no key of ours")
        w.run("assay-agent", "adopt", "--data", w.data, "--url", "http://127.0.0.1:1", "--model", "tiny").ends(5)
        w.run("assay-agent", "adopt", "--data", w.data, "--url", "nonsense://", "--model", "tiny").ends(2)


def scenario_adopted_upgraded():
    """An adopted server comes back as another version: it is drift, and it serves again once it is qualified."""
    with World() as w:
        w.start()
        folder = w.catalog(implementations="")
        profile = (folder / "http.yaml").read_text().replace("runtime-profile: http\n", "runtime-profile: versioned\n")
        (folder / "versioned.yaml").write_text(profile + "\nversion: {get: /props, json: build_info}\n")
        w.assay("apply", "-f", folder).is_ok()
        control = w.root / "elsewhere"
        control.mkdir()
        server, port = start_server(w, control)

        def adopt():
            return w.run("assay-agent", "adopt", "--data", w.data, "--url", f"http://127.0.0.1:{port}", "--model", "tiny",
                         "--profile", "versioned").code == 0
        eventually(adopt, "it is taken")
        w.wait_ready()
        w.qualify()
        w.promote()
        eventually(lambda: w.chat("capital of France").status == 200, "it serves")
        server.kill()
        server.wait(30)
        (control / "behave.json").write_text(json.dumps({"build": "fake-2"}))
        start_server(w, control, [port])

        def is_drift():
            """Away it is out of capacity; back again it is there, and on no stack that was qualified."""
            answer = w.chat("capital of France")
            return answer.status == 503 and answer.error()["code"] == "no_qualified_implementation"
        eventually(is_drift, "the upgrade is drift")
        w.wait_ready()
        w.qualify()
        eventually(lambda: w.chat("capital of France").status == 200, "qualified again, it serves")
