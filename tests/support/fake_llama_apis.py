"""How the stand-in for `llama-server` words its answers: one class for each path, in upstream's shapes.

An API turns a body into prompts (`prompts`), and what was generated for each of them into one document (`whole`) or into
server-sent events (`events`, pairs of whether it is a word and the event's text). It knows nothing of sockets and time.
"""

import base64
import hashlib
import json
import struct

TEMPLATE = 4


class Refusal(Exception):
    def __init__(self, status, kind, message, **more):
        super().__init__(message)
        self.status = status
        self.body = {"error": dict(code=status, message=message, type=kind, **more)}


def data(document):
    return "data: " + json.dumps(document) + "\n\n"


def usage_of(plans):
    prompt, answer = sum(p.prompt for p in plans), sum(len(p.words) for p in plans)
    return {"completion_tokens": answer, "prompt_tokens": prompt, "total_tokens": prompt + answer}


class Chat:
    generates = True

    def prompts(self, body):
        """Text and tokens of each prompt."""
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            raise Refusal(400, "invalid_request_error", "'messages' must be a list that is not empty")
        return [("\n".join(str(m.get("content", "")) for m in messages),
                 sum(len(str(m.get("content", "")).split()) + TEMPLATE for m in messages))]

    def base(self, raw, model):
        return {"created": 1, "id": "chatcmpl-" + hashlib.sha256(raw).hexdigest()[:24], "model": model, "system_fingerprint": "fake-1"}

    def whole(self, base, _body, plans):
        plan = plans[0]
        message = {"role": "assistant", "content": " ".join(plan.words)}
        choices = [{"finish_reason": plan.finish, "index": 0, "message": message}]
        return dict(base, choices=choices, object="chat.completion", usage=usage_of(plans))

    def events(self, base, body, plans):
        def chunk(choices, **more):
            return data(dict(base, choices=choices, object="chat.completion.chunk", **more))

        plan = plans[0]
        yield False, chunk([{"finish_reason": None, "index": 0, "delta": {"role": "assistant", "content": None}}])
        for number, word in enumerate(plan.words):
            yield True, chunk([{"finish_reason": None, "index": 0, "delta": {"content": word if number == 0 else " " + word}}])
        yield False, chunk([{"finish_reason": plan.finish, "index": 0, "delta": {}}])
        if (body.get("stream_options") or {}).get("include_usage"):
            yield False, chunk([], usage=usage_of(plans))
        yield False, "data: [DONE]\n\n"


def texts_of(value, name):
    """Prompts and inputs in each of their forms; a token id is a word."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and value and all(isinstance(one, int) for one in value):
        return [" ".join(map(str, value))]
    if isinstance(value, list) and value:
        return [one if isinstance(one, str) else " ".join(map(str, one)) for one in value]
    raise Refusal(400, "invalid_request_error", f"'{name}' is neither text nor tokens")


class Completions:
    generates = True

    def prompts(self, body):
        return [(text, len(text.split())) for text in texts_of(body.get("prompt"), "prompt") for _ in range(body.get("n") or 1)]

    def base(self, raw, model):
        return {"created": 1, "id": "cmpl-" + hashlib.sha256(raw).hexdigest()[:24], "model": model, "object": "text_completion"}

    def whole(self, base, body, plans):
        def text(plan):
            return (plan.text if body.get("echo") else "") + " ".join(plan.words)
        choices = [{"finish_reason": p.finish, "index": i, "logprobs": None, "text": text(p)} for i, p in enumerate(plans)]
        return dict(base, choices=choices, usage=usage_of(plans))

    def events(self, base, body, plans):
        for index, plan in enumerate(plans):
            for number, word in enumerate(plan.words):
                text = word if number == 0 else " " + word
                yield True, data(dict(base, choices=[{"finish_reason": None, "index": index, "logprobs": None, "text": text}]))
            yield False, data(dict(base, choices=[{"finish_reason": plan.finish, "index": index, "logprobs": None, "text": ""}]))
        if (body.get("stream_options") or {}).get("include_usage"):
            yield False, data(dict(base, choices=[], usage=usage_of(plans)))
        yield False, "data: [DONE]\n\n"


class Embeddings:
    generates = False

    def prompts(self, body):
        return [(text, len(text.split())) for text in texts_of(body.get("input"), "input")]

    def base(self, _raw, model):
        return {"model": model, "object": "list"}

    def whole(self, base, body, plans):
        def vector(text):
            floats = [byte / 256 for byte in hashlib.sha256(text.encode()).digest()[:body.get("dimensions") or 8]]
            if body.get("encoding_format") == "base64":
                return base64.b64encode(struct.pack(f"<{len(floats)}f", *floats)).decode()
            return floats
        found = [{"embedding": vector(p.text), "index": i, "object": "embedding"} for i, p in enumerate(plans)]
        tokens = sum(p.prompt for p in plans)
        return dict(base, data=found, usage={"prompt_tokens": tokens, "total_tokens": tokens})


APIS = {"/v1/chat/completions": Chat(), "/v1/completions": Completions(), "/v1/embeddings": Embeddings()}
