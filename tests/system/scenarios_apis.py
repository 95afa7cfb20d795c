"""Every door beside chat, by hand and by the clients that people really use."""

import base64
import json
import os
import subprocess
import textwrap

from clients import client_python
from world import PATIENCE, World, eventually, expect

CAPITAL = "The capital of France is"


def events_of(answer):
    """Pairs of an event's name and its data, read or as it is."""
    found = []
    for block in answer.body.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in lines:
            data = lines["data"]
            found.append((lines.get("event"), json.loads(data) if data.startswith("{") else data))
    return found


def direct(w, path, body):
    """The replica's own answer to the same bytes."""
    where, secret = w.replica_endpoint()
    return w.post(body, path, where=where, key=secret)


def same_as_direct(w, path, body):
    raw = json.dumps(body).encode()
    ours, theirs = w.post(raw, path), direct(w, path, raw)
    expect(ours.status == theirs.status == 200, f"{path} is answered", ours, theirs)
    expect(ours.body == theirs.body, "the answer is byte for byte the replica's", ours, theirs)
    seen = [one["body"] for one in w.seen(part=raw.decode())]
    expect(seen[-1] == seen[-2] == raw.decode(), "the body arrives byte for byte", seen[-2:])
    return ours


def explained(w, answer, *parts):
    said = w.assay("explain", "--decision", answer.headers["x-assay-decision"]).is_ok()
    for part in parts:
        expect(part in said.out, f"explain names {part}", said)


def run_client(w, code):
    """A program of a real client, with what it needs to find us; what it prints is JSON."""
    host, port = w.endpoint()
    done = subprocess.run([client_python(), "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": str(w.root / "home"), "KEY": w.key(),
                               "AT": f"http://{host}:{port}", "PYTHONDONTWRITEBYTECODE": "1"})
    expect(done.returncode == 0, "the client's program ends well", done.stdout[-1500:], done.stderr[-3000:])
    return json.loads(done.stdout)


def scenario_completions():
    """A completion model is qualified, promoted and asked: texts, token ids, many at once, streams, and ends that are cut."""
    with World() as w:
        w.start()
        w.assay("apply", "-f", w.catalog(task="completion")).is_ok()
        w.qualify()
        w.promote()
        path = "/v1/completions"
        ask = {"model": "tiny", "prompt": CAPITAL, "max_tokens": 8}
        eventually(lambda: w.post(ask, path).status == 200, "the first completion is answered")
        one = same_as_direct(w, path, ask)
        expect(one.json()["choices"][0]["text"] == "Paris", "the capital", one)
        explained(w, one, "completions", "serves_task", w.implementation())
        said = w.assay("explain", "--model", "tiny").is_ok()
        expect("would wait" in said.out or "may serve it" in said.out, "a request that could be is a completion", said)
        for prompt, count in (([CAPITAL, "What is 12 + 13?"], 2), ([1, 2, 3], 1), ([[1, 2], [3]], 2)):
            many = same_as_direct(w, path, {**ask, "prompt": prompt, "n": 2, "echo": True, "logprobs": 0})
            expect(len(many.json()["choices"]) == 2 * count, "prompts times n", many)
        streamed = same_as_direct(w, path, {**ask, "stream": True, "stream_options": {"include_usage": True}})
        expect(events_of(streamed)[-1][1] == "[DONE]" and events_of(streamed)[-2][1]["usage"], "usage, then the end", streamed)

        large = w.post({**ask, "prompt": [[1], list(range(130))]}, path).fails(400, "context_length_exceeded", "138")
        explained(w, large, "within_limits", "prompts")
        w.post({**ask, "prompt": []}, path).fails(400, "invalid_request", "prompt is an empty list")
        w.chat("a").fails(400, "unsupported_feature", "serves another task")
        cut = w.post({**ask, "prompt": "[[words 9]] [[die 3]]", "stream": True}, path)
        expect(events_of(cut)[-1][1]["error"]["code"] == "upstream_disconnected", "a cut stream ends in an error", cut)
        expect(b"[DONE]" not in cut.body, "and not as if it were whole", cut)


def scenario_embeddings():
    """An embedding model, which no suite asks yet, serves under a waiver and gives what the replica gave."""
    with World() as w:
        w.start()
        w.assay("apply", "-f", w.catalog(task="embedding")).is_ok()
        w.wait_ready()
        path, ask = "/v1/embeddings", {"model": "tiny", "input": "hello there"}
        eventually(lambda: w.post(ask, path).fails(503, "no_qualified_implementation"), "nothing is served before")
        w.assay("waive", w.implementation(), "--gate", "2", "--gate", "4", "--gate", "5", "--hours", "1", "--reason", "no suite yet").is_ok()
        eventually(lambda: w.post(ask, path).status == 200, "it serves under the waiver")
        for given, count in (("hello there", 1), (["a", "b c"], 2), ([5, 6, 7], 1), ([[5], [6, 7]], 2)):
            answer = same_as_direct(w, path, {**ask, "input": given, "dimensions": 4, "encoding_format": "base64"})
            found = answer.json()["data"]
            expect(len(found) == count and len(base64.b64decode(found[0]["embedding"])) == 16, "a vector for each", answer)
        explained(w, answer, "embeddings", "waived_gates", "prompts")
        w.post({**ask, "input": [[1] * 130]}, path).fails(400, "context_length_exceeded")
        w.post({**ask, "input": {}, "dimensions": "x"}, path).fails(400, "invalid_request", "dimensions")
        if not os.environ.get("ASSAY_NO_CLIENTS"):
            told = run_client(w, """
                import json, os, openai
                client = openai.OpenAI(base_url=os.environ["AT"] + "/v1", api_key=os.environ["KEY"], max_retries=0)
                many = client.embeddings.create(model="tiny", input=["a", "b c"])  # It asks for base64 and decodes it.
                print(json.dumps({"vectors": [one.embedding for one in many.data], "tokens": many.usage.prompt_tokens}))""")
            floats = direct(w, path, {"model": "tiny", "input": ["a", "b c"]}).json()["data"]
            expect(told["vectors"] == [one["embedding"] for one in floats] and told["tokens"] == 3, "the client has the replica's floats", told)


def scenario_messages():
    """Anthropic's messages: passed through where the profile offers them, refused by gate 1 where it does not."""
    with World() as w:
        w.serve()
        path = "/v1/messages"
        ask = {"model": "tiny", "max_tokens": 8, "messages": [{"role": "user", "content": "What is the capital of France?"}]}
        one = same_as_direct(w, path + "?beta=true", ask)
        expect(one.json()["content"][0]["text"] == "Paris" and one.json()["usage"]["output_tokens"] == 1, "the capital", one)
        explained(w, one, "messages", w.implementation())
        blocks = {**ask, "system": [{"type": "text", "text": "Be brief."}], "messages": [{"role": "user", "content": [
            {"type": "text", "text": "What is the capital of Japan?"}]}]}
        streamed = same_as_direct(w, path, {**blocks, "stream": True})
        expect(events_of(streamed)[-1][0] == "message_stop", "a whole stream ends as Anthropic's do", streamed)
        counted = same_as_direct(w, path + "/count_tokens", {"model": "tiny", "messages": ask["messages"]})
        expect(counted.json() == {"input_tokens": 10}, "tokens are counted by the replica", counted)

        def refused(answer, status, kind, part):
            expect(answer.status == status and answer.json()["type"] == "error" and answer.error()["type"] == kind, f"{status} {kind}", answer)
            expect(part in answer.error()["message"] and answer.json()["request_id"] == answer.headers["x-request-id"], f"names {part}", answer)
        refused(w.post({**ask, "model": "none"}, path), 404, "not_found_error", "none")
        refused(w.post({k: v for k, v in ask.items() if k != "max_tokens"}, path), 400, "invalid_request_error", "max_tokens")
        refused(w.post({**ask, "max_tokens": 999}, path), 400, "invalid_request_error", "999 output tokens")
        refused(w.post(ask, path, key="sk-nobody"), 401, "authentication_error", "unknown or revoked")
        cut = w.post({**ask, "messages": [{"role": "user", "content": "[[words 9]] [[die 3]]"}], "stream": True}, path)
        last = events_of(cut)[-1]
        expect(last[0] == "error" and last[1]["error"]["type"] == "api_error", "a cut stream ends in Anthropic's error event", cut)

        text = (w.root / "catalog/llama-server.yaml").read_text()
        w.write("catalog/llama-server.yaml", text.replace(", messages, count-tokens", ""))
        w.assay("apply", "-f", w.root / "catalog").is_ok()
        eventually(lambda: refused(w.post(ask, path), 400, "invalid_request_error", "its runtime profile does not offer") or True,
                   "what the profile offers no more is refused")


def scenario_responses():
    """OpenAI's responses without state: passed through, refused where an answer would have to be kept."""
    with World() as w:
        w.serve()
        path, ask = "/v1/responses", {"model": "tiny", "input": "What is the capital of France?", "max_output_tokens": 8}
        one = same_as_direct(w, path, ask)
        expect(one.json()["output"][0]["content"][0]["text"] == "Paris", "the capital", one)
        explained(w, one, "responses", w.implementation())
        streamed = same_as_direct(w, path, {**ask, "stream": True, "store": False})
        expect(events_of(streamed)[-1][0] == "response.completed", "a whole stream ends with the response", streamed)
        for key, value in (("previous_response_id", "resp_1"), ("conversation", "conv_1"), ("store", True), ("background", True)):
            w.post({**ask, key: value}, path).fails(400, "unsupported_feature", key, "send the whole conversation")
        cut = w.post({**ask, "input": "[[words 9]] [[die 3]]", "stream": True}, path)
        before, last = events_of(cut)[-2:]
        expect(last[0] == "response.failed" and last[1]["sequence_number"] == before[1]["sequence_number"] + 1, "a cut one is a failed one", cut)
        expect(last[1]["response"]["id"] == events_of(cut)[0][1]["response"]["id"], "and it is the same response", cut)


def scenario_real_clients():
    """The openai and anthropic packages against us: chat, messages, responses, streams, refusals, and a replica that dies."""
    client_python()  # Skips here, before anything is started.
    with World() as w:
        w.serve()
        told = run_client(w, """
            import json, os, openai
            client = openai.OpenAI(base_url=os.environ["AT"] + "/v1", api_key=os.environ["KEY"], max_retries=0)
            ask = [{"role": "user", "content": "What is the capital of France?"}]
            told = {"models": [m.id for m in client.models.list()]}
            told["chat"] = client.chat.completions.create(model="tiny", messages=ask, max_tokens=8).choices[0].message.content
            parts = list(client.chat.completions.create(model="tiny", messages=ask, max_tokens=8, stream=True, stream_options={"include_usage": True}))
            told["streamed"] = "".join(p.choices[0].delta.content or "" for p in parts if p.choices)
            told["usage"] = parts[-1].usage.completion_tokens
            told["response"] = client.responses.create(model="tiny", input=ask, max_output_tokens=8).output_text
            with client.responses.stream(model="tiny", input=ask) as events:
                told["kinds"] = [e.type for e in events]
                told["final"] = events.get_final_response().output_text
            def refused(call, **what):
                try:
                    call(model="tiny", **what)
                except openai.APIError as why:
                    return [type(why).__name__, getattr(why, "code", None)]
            told["state"] = refused(client.responses.create, input="a", previous_response_id="r")
            told["task"] = refused(client.completions.create, prompt="a")
            try:
                list(client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "[[words 9]] [[die 3]]"}], stream=True))
                told["cut"] = "as if it were whole"
            except openai.APIError as why:
                told["cut"] = why.code
            print(json.dumps(told))""")
        expect(told["models"] == ["tiny"] and told["chat"] == told["streamed"] == told["response"] == told["final"] == "Paris", "answers", told)
        expect(told["usage"] == 1 and told["kinds"][0] == "response.created" and told["kinds"][-1] == "response.completed", "streams", told)
        expect(told["state"] == ["BadRequestError", "unsupported_feature"] == told["task"], "refusals", told)
        expect(told["cut"] == "upstream_disconnected", "a cut stream raises", told)

        w.wait_ready()
        eventually(lambda: w.chat("capital of France").status == 200, "the replica is back")
        told = run_client(w, """
            import json, os, anthropic
            client = anthropic.Anthropic(base_url=os.environ["AT"], auth_token=os.environ["KEY"], max_retries=0)
            ask = dict(model="tiny", max_tokens=8, messages=[{"role": "user", "content": "What is the capital of Japan?"}])
            told = {"message": client.messages.create(**ask).content[0].text}
            with client.messages.stream(**ask) as stream:
                told["streamed"] = "".join(stream.text_stream)
                told["usage"] = stream.get_final_message().usage.output_tokens
            told["counted"] = client.messages.count_tokens(model="tiny", messages=ask["messages"]).input_tokens
            told["by_key"] = anthropic.Anthropic(base_url=os.environ["AT"], api_key=os.environ["KEY"]).messages.create(**ask).content[0].text
            def refused(**more):
                try:
                    client.messages.create(**{**ask, **more})
                except anthropic.APIStatusError as why:
                    return [type(why).__name__, why.body["error"]["type"]]
            told["refused"] = [refused(model="none"), refused(max_tokens=999)]
            try:
                with client.messages.stream(**{**ask, "messages": [{"role": "user", "content": "[[words 9]] [[die 3]]"}]}) as stream:
                    stream.get_final_message()
                told["cut"] = "as if it were whole"
            except anthropic.APIStatusError as why:
                told["cut"] = why.body["error"]["type"]
            print(json.dumps(told))""")
        expect(told["message"] == told["streamed"] == told["by_key"] == "Tokyo" and told["usage"] == 1 and told["counted"] == 10, "answers", told)
        expect(told["refused"] == [["NotFoundError", "not_found_error"], ["BadRequestError", "invalid_request_error"]], "refusals", told)
        expect(told["cut"] == "api_error", "a cut stream raises", told)
