"""From a file to an answer, and everything that a person does on the way."""

import json
from datetime import datetime, timezone

from world import World, eventually, expect


def direct(w, body):
    """The replica's own answer to the same bytes."""
    where, secret = w.replica_endpoint()
    return w.post(body, where=where, key=secret)


def audit(w, name, move):
    """An auditor with a copy: who served, as the node says, without the node; and no other copy is believed."""
    nobody = {"env": w.environment(ASSAY_SERVER=f"unix:{w.root}/no.sock")}
    copy = w.root / "audit.ledger"

    def both():
        """The node's answer and the copy's; another record between the two and they are asked again."""
        w.assay("ledger", "export", copy).ends(0, "signed by", "ledger verify")
        at = datetime.now(timezone.utc).isoformat()
        live = w.assay("who-served", "tiny", "--at", at).is_ok()
        file = w.assay("who-served", "tiny", "--at", at, "--file", copy, **nobody).is_ok()
        expect(live.out == file.out, "node and copy give one answer", live, file)
        return file
    said = eventually(both, "node and copy give one answer")
    for part in (name, move, f"assay reverse {move}", "qualification", "policy short", "in force", "record "):
        expect(part in said.out, f"the answer names {part}", said)
    w.assay("who-served", "tiny", "--at", "2001-01-01T00:00:00Z", "--file", copy, **nobody).ends(3, "carried nothing yet")
    w.assay("who-served", "tiny", "--at", "yesterday").ends(2, "RFC 3339")
    w.assay("who-served", "none").ends(3, "routes: tiny")
    w.assay("history", "tiny", "--file", copy, **nobody).ends(0, move)
    expect(w.assay("history", "tiny", "-o", "json").json() == w.assay("history", "tiny", "--file", copy, "-o", "json").json(),
           "node and copy have one history")

    verified = w.assay("ledger", "verify", copy, **nobody).is_ok()
    expect("hold up to" in verified.out, "the copy verifies without a server", verified)
    piped = w.write("piped.ledger", "")
    piped.write_bytes(w.raw_output("assay", "ledger", "export", "-"))
    w.assay("ledger", "diff", copy, piped, **nobody).is_ok()
    whole = copy.read_bytes()
    tampered = w.root / "tampered.ledger"
    middle = len(whole) // 2
    tampered.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:])
    w.assay("ledger", "verify", tampered, **nobody).ends(4, "record ", "believe nothing")
    w.assay("who-served", "tiny", "--file", tampered, **nobody).ends(4, "record ")
    tampered.write_bytes(whole[:-8])
    w.assay("ledger", "verify", tampered, **nobody).ends(4, "ends within a frame")
    w.assay("ledger", "diff", copy, tampered, **nobody).ends(4, "tampered.ledger")
    tampered.write_bytes(b"no ledger\n")
    w.assay("ledger", "verify", tampered, **nobody).ends(1, "no exported ledger")
    return copy


def times_are_shown(w):
    """A time is a number for programs and RFC 3339 for people, whatever it belongs to."""
    for kind in ("qualifications", "moves", "routes", "jobs", "waivers"):
        table = w.assay("get", kind).is_ok().out
        for item in w.get(kind):
            for key, value in item.items():
                if not key.endswith("_ms") or value is None:
                    continue
                expect(isinstance(value, int), f"{key} of {kind} is a number", item)
                told = datetime.fromtimestamp(value // 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
                expect(told in table and str(value) not in table, f"{key} of {kind} is shown as a time", told, table)
    expires = w.get("qualifications")[0]["expires_at_ms"]
    expect(expires is None or expires > 0, "when it expires", expires)


def scenario_full_flow():
    """apply, qualify, promote, chat, explain, audit, reverse, refused."""
    with World() as w:
        w.start()
        w.assay("apply", "-f", w.catalog()).is_ok()
        name = w.implementation()
        expect(name == "tiny/local/q4", "the id is made of model, pool and artifact", name)
        eventually(lambda: w.chat("hello").fails(503, "no_qualified_implementation"), "nothing is served before")
        w.assay("promote", name, "--wait").ends(4, "denied")
        w.qualify()
        expect(w.get("qualifications")[0]["state"] == "qualified", "qualified", w.get("qualifications"))
        times_are_shown(w)
        w.promote()
        times_are_shown(w)

        for stream in (False, True):
            body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": "capital of France"}],
                               "odd member": [1, {"é": None}], "stream": stream}, ensure_ascii=False).encode()
            ours = w.post(body)
            expect(ours.status == 200, "the chat is answered", ours)
            theirs = direct(w, body)
            expect(ours.body == theirs.body, "the answer is byte for byte the replica's", ours, theirs)
            expect(ours.headers["x-assay-implementation"] == name, "the answer says who gave it", ours)
            upstream = [one["body"] for one in w.seen(part="odd member")]
            expect(upstream[-1] == upstream[-2] == body.decode("latin-1"), "the body arrives byte for byte", upstream[-2:])

        said = w.assay("chat", "--model", "tiny", "--max-tokens", "8", "capital of Japan").is_ok()
        expect("Tokyo" in said.out, "assay chat prints the answer", said)
        said = w.assay("explain", "--model", "tiny", "--input-tokens", "20", "--output-tokens", "8").is_ok()
        for gate in ("serves_task", "evaluation_current", "has_capacity"):
            expect(gate in said.out, f"explain names {gate}", said)
        good = {"messages": [{"role": "user", "content": "capital of France"}], "max_tokens": 8}
        lines = w.write("mixed.jsonl", "".join(
            json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions",
                        "body": {**good, "model": "tiny", **more}}) + "\n"
            for name, more in (("fine", {}), ("too-much", {"max_tokens": 100_000}))))
        w.assay("submit", lines, "--model", "tiny", "--wait", patience=90).ends(
            0, "2 of 2 done, 1 of them failed", "too-much: ", "100,000 output tokens asked for, allowed 64")
        decision = ours.headers["x-assay-decision"]
        said = w.assay("explain", "--decision", decision).is_ok()
        expect(name in said.out, "a decision that was made is explained", said)
        w.assay("explain", "--decision", "0" * 8).ends(3)

        move = w.get("moves")[-1]["name"]
        copy = audit(w, name, move)
        w.assay("reverse", move, "--reason", "test", "--wait", patience=90).is_ok()
        refused = eventually(lambda: w.chat("capital of France").fails(503, "no_qualified_implementation"),
                             "after the reverse nothing is served")
        w.assay("chat", "--model", "tiny", "x").ends(5, "was reversed", "assay history tiny", "explain --model 'tiny'")
        w.assay("history", "tiny").ends(0, move)
        lines = w.write("waits.jsonl", '{"id": "a", "prompt": "capital of France"}\n')
        eventually(lambda: "queued: " in w.assay("submit", lines, "--model", "tiny", "--wait", "--timeout", "3").ends(5).out,
                   "it is said why a job waits")
        said = w.assay("explain", "--decision", refused.headers["x-assay-decision"]).is_ok()
        expect("refused" in said.out and name in said.out, "a refusal is explained as well", said)
        later = w.root / "later.ledger"
        w.assay("ledger", "export", later).is_ok()
        w.assay("ledger", "diff", copy, later).ends(0, "audit.ledger is a prefix of", "more:", "move")
        said = w.assay("ledger", "verify").is_ok()
        expect("hold" in said.out, "the ledger verifies", said)
        log = w.assay("ledger", "log", "--limit", "100").is_ok().out
        expect("move" in log and "qualification" in log, "the log shows what happened", log)


def scenario_changed_launch():
    """Other arguments are another thing than what was qualified: no traffic until it is qualified again."""
    with World() as w:
        w.serve()
        text = (w.root / "catalog/catalog.yaml").read_text()
        w.write("catalog/catalog.yaml", text.replace("args: {ctx-size: 256}", "args: {ctx-size: 256, threads: '1'}"))
        w.assay("apply", "-f", w.root / "catalog").is_ok()
        eventually(lambda: w.chat("capital of France").fails(503, "no_qualified_implementation"), "it is refused")
        said = w.assay("explain", "--model", "tiny").is_ok()
        expect("evaluation_current" in said.out, "the gate says so", said)
        w.wait_ready()
        w.qualify()
        eventually(lambda: w.chat("capital of France").status == 200, "qualified again, it serves")


def scenario_the_same_to_everything():
    """A runtime that says the same to everything is rejected, with numbers."""
    with World() as w:
        w.behave(same_answer=True)
        w.start()
        w.assay("apply", "-f", w.catalog()).is_ok()
        said = w.qualify(code=4)
        expect("rejected" in said.out, "rejected", said)
        expect(any(c.isdigit() for c in said.out.split("rejected")[1]), "the reasons have numbers", said)
        w.assay("promote", w.implementation(), "--wait").ends(4, "denied")
        w.chat("hello").fails(503, "no_qualified_implementation")


def scenario_drift():
    """One byte of the runtime's folder changes: it serves evaluation only, until it is qualified again."""
    with World() as w:
        w.serve()
        before = w.runtime_pid()
        w.write_runtime(comment="2")
        eventually(lambda: w.chat("capital of France").status == 503, "the changed stack is refused", 11)
        refused = w.chat("capital of France").fails(503, "no_qualified_implementation")
        words = refused.error()["message"]
        expect("stack" in words or "fingerprint" in words or "drift" in words, "the refusal names the reason", refused)
        expect("retry-after" in refused.headers, "it says when to come again", refused)
        expect(w.runtime_pid() == before, "the replica stays up, to be evaluated")
        w.qualify()
        eventually(lambda: w.chat("capital of France").status == 200, "served again")


def scenario_second_version():
    """Version 2 of a model, on an engine that knows one name only: launch, proof, evaluation and requests name it alike."""
    with World() as w:
        w.behave(strict_name=True)
        w.start()
        text = (w.catalog() / "catalog.yaml").read_text()
        text = text.replace("model: tiny\ncontract:", "model: tiny\nversion: 2\ncontract:")
        w.write("catalog/catalog.yaml", text.replace("artifact: q4\nmodel: tiny\n", "artifact: q4\nmodel: tiny@2\n"))
        w.assay("apply", "-f", w.root / "catalog").is_ok()
        expect(w.implementation() == "tiny@2/local/q4", "it is the second version", w.implementation())
        w.qualify()
        w.promote()
        eventually(lambda: w.chat("capital of France").status == 200, "its name means it")
        for name in ("tiny", "tiny@2"):
            answer = w.post({"model": name, "messages": [{"role": "user", "content": "capital of France"}]})
            expect(answer.status == 200, f"{name} is answered", answer)
        asked = {json.loads(one["body"])["model"] for one in w.seen()}
        expect(asked == {"tiny"}, "the engine heard one name", asked)
