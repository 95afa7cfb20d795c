"""What people and clients get wrong: files, keys, requests, directories. Each error says what to do, nothing changes."""

import json
import os
import pwd
import shutil
import socket
import stat
import subprocess
import uuid

from world import BIN, SOURCE, Failed, Skipped, World, eventually, expect

PRODUCT = """model: reasoning-model-v3
evaluation-policy: eval-suite-2026-08
implementations:
  - pool: nvidia-hopper
    artifact: fp8-tensor-parallel-8
    status: production
  - pool: amd-mi300
    artifact: fp8-tensor-parallel-8-rocm
    status: canary
  - pool: trainium
    artifact: neuron-compiled-seq4096
    status: batch-only
"""


def scenario_declarations():
    """Wrong files are refused whole and named; right ones are applied once; what is in use is not deleted."""
    with World() as w:
        w.start()
        wrong = [
            ("pool: p\nfamily: cpu\ncolour: red\n", ["bad.yaml:3", "colour", "allowed"]),
            ("pool: p\nfamily: cpu\n---\nmodel: m\ncontract:\n  limits: {body: 64}\n", ["bad.yaml:6", "body", "MiB"]),
            ("policy: p\nsuite: s\nscore-at-least: 0.4\n", ["bad.yaml:3", "score-at-least", "%"]),
            ("pool: p\nfamily: cpu\n---\npool: p\nfamily: cpu\n", ["bad.yaml:4", "p"]),
            ("pool: p\nfamily: gpu\n", ["bad.yaml:2", "gpu", "cpu, nvidia, amd, neuron, tpu, plugin"]),
            ("pool: [\n", ["bad.yaml"]),
            ("pod: p\n", ["bad.yaml:1", "pod", "pool"]),
        ]
        before = w.assay("status", "-o", "json").json()["seq"]
        for text, parts in wrong:
            said = w.assay("apply", "-f", w.write("bad.yaml", text)).ends(1, *parts)
            expect("nothing was changed" in said.err or "wrong" in said.err, "it says that nothing changed", said)
        all_at_once = w.write("bad.yaml", "pool: p\nfamily: gpu\ncolour: red\n")
        w.assay("apply", "-f", all_at_once).ends(1, "bad.yaml:2", "bad.yaml:3")
        expect(w.assay("status", "-o", "json").json()["seq"] == before, "nothing was recorded")
        expect(w.get("pools") == [], "nothing was declared")

        short = w.write("product.yaml", PRODUCT)
        said = w.assay("apply", "-f", short, "--dry-run").is_ok()
        expect("dry run" in said.out and w.get("models") == [], "a dry run changes nothing", said)
        said = w.assay("apply", "-f", short).is_ok()
        for missing in ("nvidia-hopper", "fp8-tensor-parallel-8-rocm", "eval-suite-2026-08"):
            expect(missing in said.out, f"{missing} is listed as missing", said)
        expect(len(w.get("implementations")) == 3, "three implementations", w.get("implementations"))
        long = PRODUCT.replace("model:", "logical model:").replace("evaluation-policy", "evaluation policy")
        long = long.replace("\nimplementations", "\n\nqualified implementations")
        said = w.assay("apply", "-f", w.write("long.yaml", long)).is_ok()
        expect("0 to change" in said.out, "the long spelling declares the same", said)
        changed = w.write("changed.yaml", PRODUCT.replace("status: canary", "status: production"))
        said = w.assay("apply", "-f", changed, "--dry-run").is_ok()
        expect("canary -> production" in said.out and "1 to change" in said.out, "the difference is shown", said)

        seq = w.assay("status", "-o", "json").json()["seq"]
        w.assay("apply", "-f", w.catalog()).is_ok()
        w.assay("apply", "-f", w.catalog()).ends(0, "0 to change")
        expect(w.assay("status", "-o", "json").json()["seq"] > seq, "the first one was recorded")
        w.assay("delete", "pool", "local").ends(4, "tiny/local/q4")
        w.assay("delete", "model", "tiny").ends(4)
        w.assay("delete", "project", "default").ends(4)
        w.assay("delete", "pool", "nowhere").ends(3, "nowhere")
        w.assay("delete", "implementation", "reasoning-model-v3/trainium/neuron-compiled-seq4096").is_ok()
        expect(len(w.get("implementations")) == 3, "deleted", w.get("implementations"))


def scenario_model_without_implementations():
    with World() as w:
        w.start()
        said = w.assay("apply", "-f", w.catalog(implementations="")).is_ok()
        expect(w.get("implementations") == [], "there are none", said)
        answer = eventually(lambda: w.chat("hello").fails(503, "no_qualified_implementation"), "it is refused")
        expect("tiny" in answer.error()["message"], "the model is named", answer)
        said = w.assay("explain", "--model", "tiny")
        expect(said.code in (0, 3, 4) and (said.out + said.err).strip(), "explain says something", said)


def scenario_flipped_byte():
    """An artifact with one flipped byte is refused with its file named, and never launched."""
    with World() as w:
        w.start()
        catalog = w.catalog()
        raw = bytearray(w.model_file.read_bytes())
        raw[1000] ^= 1
        w.model_file.write_bytes(raw)
        w.assay("apply", "-f", catalog).is_ok()
        said = eventually(lambda: (lambda s: s if "tiny.gguf: the file is sha256" in s.out else None)(
            w.assay("describe", "implementation", "tiny/local/q4")), "the file is named")
        said = w.assay("qualify", "tiny/local/q4")
        expect(said.code in (4, 5) and "tiny.gguf" in said.err, "it cannot be qualified, and the file is named", said)
        expect(not (w.control / "requests.jsonl").exists(), "it was never launched")
        expect(w.runtime_pid() is None, "nothing runs")


def scenario_requests():
    """Every wrong request has its code, the key never reaches the replica, limits hold to the byte."""
    with World() as w:
        w.serve()
        key = w.key()
        fine = {"model": "tiny", "messages": [{"role": "user", "content": "capital of France"}]}
        raw = json.dumps(fine)
        cases = [
            (raw.replace('"tiny"', '"nobody"'), 404, "model_not_found"),
            (raw.replace('"model": "tiny", ', ""), 400, "invalid_request"),
            (raw.replace('"tiny"', "7"), 400, "invalid_request"),
            (raw.replace('"tiny"', '["tiny"]'), 400, "invalid_request"),
            (raw.replace('"model": "tiny"', '"model": "tiny", "model": "tiny"'), 400, "invalid_request"),
            (raw.replace('"model"', '"mod\\u0065l"').replace("{", '{"model": "tiny", ', 1), 400, "invalid_request"),
            ("[1, 2]", 400, "invalid_request"),
            ("7", 400, "invalid_request"),
            ('{"model": "tiny"', 400, "invalid_request"),
            ("", 400, "invalid_request"),
        ]
        for body, status, code in cases:
            answer = w.post(body.encode())
            expect(answer.status == status and answer.error()["code"] == code, f"{status} {code} for {body[:90]}", answer)
        before = len(w.seen())
        nested = dict(fine, odd={"model": "nobody"})
        expect(w.post(nested).status == 200, "a nested model is no model")
        escaped = raw.replace('"model"', '"mod\\u0065l"').replace('"tiny"', '"t\\u0069ny"')
        answer = w.post(escaped.encode())
        expect(answer.status == 200, "an escaped key and value are the same key and value", answer)
        expect(len(w.seen()) == before + 2, "only the good ones reached the runtime")

        w.post(fine, key="assay-no-such-key").fails(401, "invalid_api_key")
        limit = 64 * 1024
        padding = limit - len(json.dumps(dict(fine, user="")))
        exact = json.dumps(dict(fine, user="x" * padding)).encode()
        expect(len(exact) == limit, "the test builds it right", len(exact))
        answer = w.post(exact)
        expect(answer.status == 200, "a body of exactly the limit is taken", answer)
        w.post(exact[:-2] + b'x"}').fails(413, "request_too_large")

        for one in w.seen():
            words = json.dumps(one["headers"])
            expect(key not in words and "cookie" not in one["headers"], "the client's key stays here", words)
        w.post(fine, headers={"Cookie": "a=b", "x-api-key": key, "x-assay-pin": "x"})
        for one in w.seen():
            expect(key not in json.dumps(one), "the client's key stays here", one)
        w.chat("hello", max_tokens=65).fails(400, "output_limit_exceeded")
        answer = w.chat("a " * 3000)
        expect(answer.status == 400 and answer.error()["type"] == "exceed_context_size_error",
               "what only the engine can count, the engine refuses, in its own words", answer)


def scenario_malformed_http():
    """Request smuggling forms, bad chunks and endless heads: a 4xx and a closed connection, and all goes on."""
    with World() as w:
        w.serve()
        body = b'{"model":"tiny","messages":[]}'
        line = b"POST /v1/chat/completions HTTP/1.1\r\n"
        head = b"Host: x\r\nAuthorization: Bearer " + w.key().encode() + b"\r\nContent-Type: application/json\r\n"
        size = b"Content-Length: %d\r\n" % len(body)
        chunked = b"Transfer-Encoding: chunked\r\n"
        forms = {
            "both lengths": line + head + size + chunked + b"\r\n0\r\n\r\n",
            "two lengths": line + head + size + b"Content-Length: 3\r\n\r\n" + body,
            "a signed length": line + head + b"Content-Length: +30\r\n\r\n" + body,
            "xchunked": line + head + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "chunked, identity": line + head + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
            "chunked on 1.0": line.replace(b"1.1", b"1.0") + head + chunked + b"\r\n0\r\n\r\n",
            "no host": line + head.replace(b"Host: x\r\n", b"") + size + b"\r\n" + body,
            "two hosts": line + b"Host: y\r\n" + head + size + b"\r\n" + body,
            "a folded line": line + head + b"X-A: 1\r\n 2\r\n" + size + b"\r\n" + body,
            "space before colon": line + head + b"Content-Length : 30\r\n\r\n" + body,
            "a bare CR": line + head + b"X-A: 1\rX-B: 2\r\n" + size + b"\r\n" + body,
            "a bad chunk": line + head + chunked + b"\r\nZZ\r\n" + body + b"\r\n0\r\n\r\n",
            "a chunk too short": line + head + chunked + b"\r\n3\r\nabcdef\r\n0\r\n\r\n",
        }
        for name, sent in forms.items():
            answer = w.raw(sent)
            expect(answer.status == 400, f"400 for {name}", answer)
            expect(answer.headers.get("connection", "").lower() == "close", f"closed after {name}", answer)
        answer = w.raw(line + head + b"X-A: " + b"a" * 70_000 + b"\r\n" + size + b"\r\n" + body)
        expect(answer.status == 431, "431 for a head that is too long", answer)
        # A head without an end: cut off long before its gigabyte.
        with socket.create_connection(w.endpoint(), timeout=60) as link:
            sent = 0
            try:
                link.sendall(line + head)
                while sent < 1 << 30:
                    sent += link.send(b"X-A: " + b"a" * 8000 + b"\r\n")
            except OSError:
                pass
        expect(sent < 64 << 20, "an endless head is cut", sent)
        expect(w.chat("capital of France").status == 200, "and all goes on")
        expect(w.assayd.poll() is None, "assayd lives")


def scenario_exit_codes():
    """0 ok, 1 failed, 2 usage, 3 not found, 4 refused, 5 unavailable."""
    with World() as w:
        w.assay("status").ends(5, "is assayd running")
        w.assay("env").ends(5)
        w.start()
        w.assay("status").ends(0)
        w.assay("status", "--nonsense").ends(2)
        w.assay("sing").ends(2, "sing")
        w.assay("approve", "x").ends(2, "--reason")
        w.assay("cluster", "trust-clock", "--reason", "checked").ends(0, "trusted")
        w.assay().ends(2)
        w.assay("help").ends(0, "Exit codes", "apply")
        w.assay("help", "ledger", "log").ends(0, "--subject")
        w.assay("help", "sing").ends(2, "sing", "apply")
        w.assay("ledger", "get", "1").ends(2, "'get'", "`assay ledger`", "show")
        for words in (("ledger", "verify", ""), ("ledger", "show", ""), ("get", ""), ("describe", "model", ""),
                      ("qualify", ""), ("chat", "--model", "", "x"), ("host", "join", ""), ("cluster", "init", "--name", "")):
            w.assay(*words).ends(2, "is empty")
        w.assay("chat", "--model", "tiny", "--max-tokens", "0", "x").ends(2, "max-tokens", "'0'", "from 1 on")
        w.assay("ledger", "log", "--limit", "many").ends(2, "'many'", "from 1 to 1000")
        w.assay("who-served", "tiny", "--at", "yesterday").ends(2, "yesterday", "RFC 3339")
        server = f"unix:{w.data}/run/admin.sock"
        w.assay("--server", server, "host", "token", "--name", "n1").ends(0, "--host n1 < token")
        w.assay("get", "unicorns").ends(2, "unicorns", "pools")
        w.assay("describe", "model", "nobody").ends(3, "nobody")
        w.assay("apply", "-f", w.root / "no-such-file").ends(3, "no-such-file")
        w.assay("job", "show", "j-none").ends(3, "j-none")
        w.assay("submit", w.write("j.jsonl", '{"id": "a", "prompt": "x"}\n'), "--model", "nobody").ends(3, "nobody")
        w.assay("ledger", "show", "999999").ends(3)
        w.assay("ledger", "log", "--subject", "nobody").ends(3, "nobody")
        w.assay("apply", "-f", w.catalog()).is_ok()
        w.assay("delete", "pool", "local").ends(4)
        w.assay("--help").ends(0, "Exit codes")


def scenario_admin_api():
    """What the admin API does not know is refused with what it does know, and changes nothing."""
    with World() as w:
        w.start()
        eventually(w.agent_pid, "the agent runs, so that it can be ended")

        def recorded():  # By people: what the agent and assayd find meanwhile is no business of this.
            records = w.admin("GET", "ledger?limit=1000")[1]["records"]
            return [r for r in records if r["author"] == pwd.getpwuid(os.getuid()).pw_name]
        before = recorded()
        for method, path, body, status, parts in (
                ("POST", "revoke", {"kind": "key", "nam": "x"}, 400, ("nam", "name")),
                ("POST", "qualify", [], 400, ("JSON object",)),
                ("POST", "qualify", {"implementation": 7}, 400, ("implementation", "text")),
                ("POST", "waive", {"implementation": "x", "reason": "y", "gates": "4"}, 400, ("gates",)),
                ("GET", "ledger?limit=many", None, 400, ("many", "1000")),
                ("GET", "ledger?limt=1", None, 400, ("limt", "limit")),
                ("GET", "pools?x=1", None, 400, ("x", "nothing")),
                ("PUT", "apply", {}, 405, ("PUT", "POST")),
                ("GET", "a/b/c/d?x", None, 400, ()),
                ("GET", "models/%FF", None, 400, ("UTF-8", "the path")),
                ("GET", "ledger?subject=a%C3", None, 400, ("UTF-8", "subject")),
                ("GET", "ledger?%FF=a", None, 400, ("UTF-8", "query")),
                ("POST", "hosts/token", {"pool": "nowhere"}, 404, ("nowhere", "pool", "declare")),
                ("DELETE", "hosts/local", None, 400, ("assay revoke host 'local'",)),
                ("GET", "nothing", None, 404, ())):
            got, document = w.admin(method, path, body)
            expect(got == status, f"{method} {path} is {status}", got, document)
            for part in parts:
                expect(part in json.dumps(document), f"`{part}` is named", document)
        long = "x" * 1_000_000
        for got, document in (w.admin("POST", "qualify", {"implementation": long}), w.admin("GET", f"models/{long[:7_000]}"),
                              w.admin("POST", "waive", {"implementation": "x", "reason": "y", "gates": [4], "record_id": long})):
            expect(got in (400, 404), "it is refused", got)
            told = json.dumps(document)
            expect(len(told) < 4_000 and "bytes left out" in told, "what was sent is not told back whole", told[:4_000])
        expect(recorded() == before, "nothing was recorded")
        idle = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(300)]
        try:
            for one in idle:
                one.connect(str(w.data / "run/admin.sock"))
            for _ in range(5):
                w.assay("status").is_ok()
        finally:
            for one in idle:
                one.close()
        w.assay("apply", "-f", w.catalog()).is_ok()
        expect(w.admin("POST", "hosts/token", {"pool": "local"})[0] == 200, "a pool that is declared is taken")
        got, document = w.admin("POST", "hosts/token", {"pool": "nowhere"})
        expect(got == 404 and "the pools are: local" in json.dumps(document), "the pools are named", document)
        again = {"implementation": w.implementation(), "gates": [4], "reason": "twice", "record_id": str(uuid.uuid4())}
        first, second = (w.admin("POST", "waive", again)[1] for _ in range(2))
        expect(second == {"receipt": {**first["receipt"], "repeated": True}}, "a retry gets the first receipt, whatever the time", first, second)
        got, document = w.admin("POST", "approve", {"artifact": "x", "reason": "y", "record_id": again["record_id"]})
        expect(got != 200, "the id of one request answers no other", document)
        expect(sum(r["kind"] == "waiver" for r in recorded()) == 1, "one waiver is on record", recorded())


def scenario_directories_and_settings():
    """assayd refuses to start on what would hurt later, and says what to do."""
    with World() as w:
        w.start()
        w.run("assayd", "--standalone", w.data).ends(1, str(w.data), f"process {w.assayd.pid} is using")
        expect(w.assay("status").code == 0, "the first goes on")
        eventually(w.agent_pid, "the agent runs")
        w.run("assay-agent", "run", "--data", w.data, "--host", "local", "--coordinator", "127.0.0.1:1").ends(4, "lock")
        w.end_assayd()
        secret = next(p for p in sorted((w.data / "keys").iterdir()) if p.suffix == ".secret")
        expect(stat.S_IMODE(secret.stat().st_mode) == 0o600, "keys are private from the start", secret)
        secret.chmod(0o644)
        w.run("assayd", "--standalone", w.data).ends(1, secret.name, "chmod")
        secret.chmod(0o600)

        def config(text):
            return w.run("assayd", "--config", w.write("assayd.yaml", f"data: {w.root}/other\n" + text), patience=20)
        config("ingress: {listen: '0.0.0.0:0'}\n").ends(1, "plaintext")
        config("ingres: {}\n").ends(1, "assayd.yaml:2", "ingres", "ingress")
        config("ingress: {listen: nonsense}\n").ends(1, "assayd.yaml:2", "nonsense")
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            config = w.write("assayd.yaml", f"data: {w.root}/other\ningress: {{listen: '127.0.0.1:{port}'}}\n"
                             "monitor: {listen: '127.0.0.1:0'}\nagents: {listen: '127.0.0.1:0'}\n")
            begun = w.spawn(BIN / "assayd", "--config", config, log="other.log")
            env = w.environment(ASSAY_SERVER=f"unix:{w.root}/other/run/admin.sock")
            eventually(lambda: "belongs to no cluster" in w.assay("status", env=env).err, "it waits for a cluster")
            w.assay("cluster", "init", env=env, patience=40).ends(5)
            expect(begun.wait(30) == 1, "it ends with 1")
            said = w.log("other.log")
            expect(str(port) in said and ("taken" in said or "in use" in said), "the taken port is named", said)


def scenario_signing_key_lost():
    """A ledger whose key is gone is not signed on with another one."""
    with World() as w:
        w.start()
        eventually(w.agent_pid, "the agent runs, so that it can be ended")
        w.end_assayd()
        key = w.data / "keys/signing.secret"
        kept = key.read_bytes()
        key.unlink()
        w.run("assayd", "--standalone", w.data).ends(1, "signing.secret", "backup")
        expect(not key.exists(), "no other key is made")
        key.write_bytes(kept)
        key.chmod(0o600)
        w.start()
        w.assay("ledger", "verify").is_ok()


def scenario_apply_is_whole():
    """One declaration that cannot be recorded keeps all the others out, in the rehearsal as in the real thing."""
    with World() as w:
        w.start()
        items = "".join(f"\n  - {{id: i{n}, ask: 'question number {n} of many', expect: {{contains: '{n}'}}}}" for n in range(2500))
        suite = f"suite: big\nsampling: {{temperature: 0, max-tokens: 8}}\nitems:{items}\n"
        file = w.write("big.yaml", f"project: half-a\n---\n{suite}---\nproject: half-b\n")
        for more in (["--dry-run"], []):
            w.assay("apply", "-f", file, *more).ends(1, "81920")
        expect(w.get("projects") == [], "nothing was declared", w.get("projects"))
        eventually(w.agent_pid, "the agent runs, so that it can be ended")


def scenario_fuse_directory():
    """A data directory on a FUSE file system is refused, by what it is."""
    try:
        import fusepy
    except ImportError:
        raise Skipped("python3-fusepy is not installed; apt-get install python3-fusepy fuse3") from None
    if not os.access("/dev/fuse", os.W_OK) or not shutil.which("fusermount3"):
        raise Skipped("no /dev/fuse or no fusermount3 here; apt-get install fuse3")
    del fusepy
    with World() as w:
        mount = w.root / "fuse"
        mount.mkdir()
        server = w.spawn("/usr/bin/python3", SOURCE / "tests/support/fuse_folder.py", w.root / "model", mount, log="fuse.log")

        def is_mounted():
            if server.poll() is not None:
                raise Skipped(f"FUSE does not work here: {w.log('fuse.log')[-200:]}")
            return os.path.ismount(mount)
        eventually(is_mounted, "the FUSE file system is there")
        try:
            said = w.run("assayd", "--standalone", mount / "data")
            said.ends(1, "fuse")
            expect("local" in said.err or "disk" in said.err, "it says what to do", said)
        finally:
            subprocess.run(["fusermount3", "-u", mount], check=False)
