#!/usr/bin/python3
"""A stand-in for upstream llama.cpp's `llama-server`, for tests that need a runtime and no model.

It promises upstream's flags, statuses and error shapes as far as deploy/runtimes/llama-server.yaml looks at them, exact
token counts (a word is a token, and each message costs TEMPLATE more), and the same bytes for the same request, always.
It never looks at the model's bytes, and it never writes anywhere but to its control folder:

    behave.json     how it misbehaves, read at the start and at each request (all keys may be absent):
                    die_loading (exit code), load_s, same_answer, ignore_term, pace_s (of one token), strict_name
                    (404 for a model of another name than --alias), build (the version that /props gives),
                    by_port (a mapping: what the replica on that port does to every request: `fail` with 500, `full` with
                    503 and Retry-After 2, `silent` for ever, or `stall` after the first word of a stream)
    requests.jsonl  a line for each request: when it came (`got`) and how it ended (`whole`, `left`, `refused`)

A prompt may misbehave alone: `[[prefill 30]]` waits before the first byte, `[[die 3]]` kills the process after so many
events (or at once, unary), `[[pace 0.1]]` slows each token, `[[status 500]]` answers so, `[[words 50]]` answers so many.
"""

import argparse
import hashlib
import json
import os
import re
import select
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True
from fake_llama_apis import APIS, Refusal  # noqa: E402

ANSWERS = {
    "capital of France": "Paris",
    "capital of Japan": "Tokyo",
    "capital of Italy": "Rome",
    "12 + 13": "25",
    "days are in a week": "7",
    "legs does a spider": "8",
    "opposite of hot": "cold",
    "opposite of up": "down",
    "plural of mouse": "mice",
    "word: banana": "banana",
}


def parse(argv):
    parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
    parser.add_argument("--control", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", default="model")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--ctx-size", type=int, default=4096)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--predict", type=int, default=-1)
    for flag in ("--metrics", "--slots", "--no-webui", "--embedding"):
        parser.add_argument(flag, action="store_true")
    return parser.parse_args(argv)


class Plan:
    """What is answered to one prompt."""

    def __init__(self, text, prompt, words, finish):
        self.text = text
        self.prompt = prompt
        self.words = words
        self.finish = finish


class Engine:
    def __init__(self, options):
        self.options = options
        self.key = os.environ.pop("LLAMA_API_KEY", "")
        self.context = options.ctx_size // options.parallel
        self.slots = threading.Semaphore(options.parallel)
        self.lock = threading.Lock()
        self.is_loaded = False
        self.running = self.prompt_tokens = self.answer_tokens = 0
        self.log = open(os.path.join(options.control, "requests.jsonl"), "a", buffering=1)

    def note(self, **what):
        with self.lock:
            self.log.write(json.dumps(dict(what, pid=os.getpid(), at=time.time())) + "\n")

    def behave(self, key, default=None):
        try:
            with open(os.path.join(self.options.control, "behave.json")) as file:
                return json.load(file).get(key, default)
        except (OSError, ValueError):
            return default

    def illness(self):
        return self.behave("by_port", {}).get(str(self.options.port))

    def plan(self, api, body):
        """What is answered to each prompt, and the prompts' own misbehaviour."""
        if self.behave("strict_name") and body.get("model") != self.options.alias:
            raise Refusal(404, "not_found_error", f"the model `{body.get('model')}` does not exist")
        prompts = api.prompts(body)
        odd = {name: float(value) for text, _ in prompts for name, value in re.findall(r"\[\[(\w+) ([0-9.]+)\]\]", text)}
        if "status" in odd:
            raise Refusal(int(odd["status"]), "server_error", "as the prompt asked for")
        return [self.plan_one(api, body, text, tokens, odd) for text, tokens in prompts], odd

    def plan_one(self, api, body, text, prompt, odd):
        if prompt >= self.context:
            raise Refusal(400, "exceed_context_size_error", f"the request ({prompt} tokens) exceeds the context size",
                          n_prompt_tokens=prompt, n_ctx=self.context)
        if not api.generates:
            return Plan(text, prompt, [], "stop")
        words = self.answer(text, odd)
        limits = [n for n in (body.get("max_tokens"), body.get("max_output_tokens"), self.options.predict, self.context - prompt)
                  if isinstance(n, int) and n > 0]
        most = min(limits)
        finish = "stop" if len(words) <= most else "length"
        return Plan(text, prompt, words[:most], finish)

    def answer(self, text, odd):
        if self.behave("same_answer"):
            return ["Certainly!"]
        if "words" in odd:
            return [f"word{i}" for i in range(int(odd["words"]))]
        if "very long story" in text:
            return ["sea"] * 2000
        for ask, known in ANSWERS.items():
            if ask in text:
                return known.split()
        return ["You", "said", hashlib.sha256(text.encode()).hexdigest()[:8]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    engine = None

    def log_message(self, *_):
        pass

    def send_json(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(raw)))
        if status == 503:
            self.send_header("Retry-After", "2")
        self.end_headers()
        self.wfile.write(raw)

    def refuse(self, why):
        self.send_json(why.status, why.body)

    def is_open(self):
        """The client is there still."""
        try:
            ready, _, _ = select.select([self.connection], [], [], 0)
            return not ready or self.connection.recv(1, socket.MSG_PEEK) != b""
        except OSError:
            return False

    def wait(self, seconds):
        """False when the client left meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not self.is_open():
                return False
            select.select([self.connection], [], [], min(0.02, max(0, until - time.monotonic())))
        return self.is_open()

    def is_refused(self):
        engine = self.engine
        if not engine.is_loaded:
            self.refuse(Refusal(503, "unavailable_error", "Loading model"))
        elif engine.key and self.headers.get("Authorization") != "Bearer " + engine.key:
            self.refuse(Refusal(401, "authentication_error", "Invalid API Key"))
        else:
            return False
        return True

    def do_GET(self):
        engine = self.engine
        if self.path == "/health":
            if engine.is_loaded:
                return self.send_json(200, {"status": "ok"})
            return self.refuse(Refusal(503, "unavailable_error", "Loading model"))
        if self.is_refused():
            return None
        if self.path == "/v1/models":
            model = {"id": engine.options.alias, "object": "model", "created": 1, "owned_by": "llamacpp",
                     "meta": {"n_ctx": engine.context}}
            return self.send_json(200, {"object": "list", "data": [model]})
        if self.path == "/props":
            return self.send_json(200, {"build_info": engine.behave("build", "fake-1"), "total_slots": engine.options.parallel})
        if self.path == "/metrics":
            return self.send_metrics()
        return self.refuse(Refusal(404, "not_found_error", "File Not Found"))

    def send_metrics(self):
        engine = self.engine
        values = {"requests_processing": engine.running, "requests_deferred": 0,
                  "prompt_tokens_total": engine.prompt_tokens, "tokens_predicted_total": engine.answer_tokens,
                  "tokens_predicted_seconds_total": engine.answer_tokens * 0.01, "prompt_seconds_total": 0.1}
        raw = "".join(f"llamacpp:{name} {value}\n" for name, value in values.items()).encode()
        self.send_response_only(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_POST(self):
        engine = self.engine
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.is_refused():
            return
        seen = dict(path=self.path, headers={k.lower(): v for k, v in self.headers.items()}, body=raw.decode("latin-1"))
        engine.note(event="got", **seen)
        end = "left"
        try:
            api = APIS.get(self.path.partition("?")[0])
            if not api:
                raise Refusal(404, "not_found_error", "File Not Found")
            try:
                body = json.loads(raw)
            except ValueError:
                raise Refusal(400, "invalid_request_error", "the body is no JSON") from None
            plans, odd = engine.plan(api, body)
            with engine.slots:
                engine.running += 1
                try:
                    end = self.generate(api, body, raw, plans, odd)
                finally:
                    engine.running -= 1
        except Refusal as why:
            end = "refused"
            self.refuse(why)
        except OSError:
            self.close_connection = True
        finally:
            engine.note(event=end, body=seen["body"])

    def generate(self, api, body, raw, plans, odd):
        engine = self.engine
        ill = engine.illness()
        if ill in ("fail", "full"):
            raise Refusal(500 if ill == "fail" else 503, "server_error", "as the test asked for")
        if ill == "silent":
            self.wait(3600)
            self.close_connection = True
            return "left"
        pace = odd.get("pace", engine.behave("pace_s", 0))
        if not self.wait(odd.get("prefill", 0)):
            self.close_connection = True
            return "left"
        words = sum(len(plan.words) for plan in plans)
        engine.prompt_tokens += sum(plan.prompt for plan in plans)
        engine.answer_tokens += words
        base = api.base(raw, engine.options.alias)
        if body.get("stream") and api.generates:
            return self.stream(api.events(base, body, plans), odd.get("die", words), pace)
        if "die" in odd:
            os.kill(os.getpid(), signal.SIGKILL)
        if not self.wait(pace * words):
            self.close_connection = True
            return "left"
        self.send_json(200, api.whole(base, body, plans))
        return "whole"

    def stream(self, events, lives_for, pace):
        self.send_response_only(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        said = 0
        for is_word, text in events:
            if is_word and said >= lives_for:
                os.kill(os.getpid(), signal.SIGKILL)
            if is_word and ((pace and not self.wait(pace)) or (not pace and not self.is_open())):
                self.close_connection = True
                return "left"
            if is_word and said == 1 and self.engine.illness() == "stall":
                self.wait(3600)
                self.close_connection = True
                return "left"
            said += is_word
            raw = text.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.wfile.write(b"0\r\n\r\n")
        return "whole"


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main(argv):
    engine = Engine(parse(argv))
    try:
        server = Server((engine.options.host, engine.options.port), Handler)
    except OSError as why:
        print(f"llama-server: port {engine.options.port} on {engine.options.host} is taken: {why}", file=sys.stderr)
        return 1
    if engine.behave("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    Handler.engine = engine
    threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
    threading.Event().wait(engine.behave("load_s", 0))
    if engine.behave("die_loading") is not None:
        print("llama-server: error: failed to load model: exiting due to model loading error", file=sys.stderr)
        return engine.behave("die_loading")
    engine.is_loaded = True
    print(f"llama-server: listening on http://{engine.options.host}:{engine.options.port}", flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
