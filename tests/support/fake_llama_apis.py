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



def text_of(content):
    """Of a string, or of a list of blocks."""
    if isinstance(content, list):
        return " ".join(str(block.get("text", "")) for block in content)
    return str(content or "")


class Messages:
    generates = True

    def prompts(self, body):
        said = [text_of(m.get("content")) for m in body.get("messages") or []]
        if not said:
            raise Refusal(400, "invalid_request_error", "'messages' is required")
        all_texts = ([text_of(body["system"])] if body.get("system") else []) + said
        return [("\n".join(all_texts), sum(len(text.split()) + TEMPLATE for text in all_texts))]

    def base(self, raw, model):
        return {"id": "msg_" + hashlib.sha256(raw).hexdigest()[:24], "type": "message", "role": "assistant", "model": model}

    def whole(self, base, _body, plans):
        plan = plans[0]
        reason = "end_turn" if plan.finish == "stop" else "max_tokens"
        return dict(base, content=[{"type": "text", "text": " ".join(plan.words)}], stop_reason=reason, stop_sequence=None,
                    usage={"input_tokens": plan.prompt, "output_tokens": len(plan.words)})

    def events(self, base, body, plans):
        def event(kind, **more):
            return f"event: {kind}\n" + data(dict(more, type=kind))

        whole = self.whole(base, body, plans)
        yield False, event("message_start", message=dict(whole, content=[], stop_reason=None,
                                                         usage={"input_tokens": plans[0].prompt, "output_tokens": 0}))
        yield False, event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield False, event("ping")
        for number, word in enumerate(plans[0].words):
            text = word if number == 0 else " " + word
            yield True, event("content_block_delta", index=0, delta={"type": "text_delta", "text": text})
        yield False, event("content_block_stop", index=0)
        yield False, event("message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None},
                           usage={"output_tokens": len(plans[0].words)})
        yield False, event("message_stop")


class CountTokens(Messages):
    generates = False

    def base(self, _raw, _model):
        return {}

    def whole(self, _base, _body, plans):
        return {"input_tokens": plans[0].prompt}


class Responses:
    generates = True

    def prompts(self, body):
        given = body.get("input")
        said = [given] if isinstance(given, str) else [text_of(item.get("content")) for item in given or []]
        all_texts = ([body["instructions"]] if body.get("instructions") else []) + said
        return [("\n".join(all_texts), sum(len(text.split()) + TEMPLATE for text in all_texts))]

    def base(self, raw, model):
        return {"id": "resp_" + hashlib.sha256(raw).hexdigest()[:24], "object": "response", "created_at": 1, "model": model}

    def whole(self, base, _body, plans, status="completed"):
        plan = plans[0]
        part = {"type": "output_text", "text": " ".join(plan.words), "annotations": []}
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
        tokens = {"input_tokens": plan.prompt, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": len(plan.words),
                  "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": plan.prompt + len(plan.words)}
        return dict(base, status=status, output=[item], error=None, usage=tokens, parallel_tool_calls=False,
                    tool_choice="auto", tools=[])

    def events(self, base, body, plans):
        count = iter(range(10_000))

        def event(kind, **more):
            return f"event: {kind}\n" + data(dict(more, type=kind, sequence_number=next(count)))

        whole = self.whole(base, body, plans)
        begun = dict(whole, status="in_progress", output=[], usage=None)
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        yield False, event("response.created", response=begun)
        yield False, event("response.output_item.added", output_index=0, item=dict(whole["output"][0], status="in_progress", content=[]))
        yield False, event("response.content_part.added", part={"type": "output_text", "text": "", "annotations": []}, **place)
        for number, word in enumerate(plans[0].words):
            yield True, event("response.output_text.delta", delta=word if number == 0 else " " + word, logprobs=[], **place)
        yield False, event("response.output_text.done", text=" ".join(plans[0].words), logprobs=[], **place)
        yield False, event("response.content_part.done", part=whole["output"][0]["content"][0], **place)
        yield False, event("response.output_item.done", output_index=0, item=whole["output"][0])
        yield False, event("response.completed", response=whole)


APIS = {
    "/v1/chat/completions": Chat(),
    "/v1/completions": Completions(),
    "/v1/embeddings": Embeddings(),
    "/v1/messages": Messages(),
    "/v1/messages/count_tokens": CountTokens(),
    "/v1/responses": Responses(),
}
