"""How the ingress stands to replicas that fail, are full, hang, stand still, or are not heard of; and that it comes back."""

import contextlib
import json
import os
import signal
import socket
import threading

from scenarios_endings import metrics
from world import World, eventually, expect

STREAM = "[[words 12]] [[pace 0.01]]"


def two_replicas():
    """Served by two replicas of one implementation, whose pace is known."""
    w = World()
    w.serve(implementations="""
implementations:
  - pool: local
    artifact: q4
    status: production
    replicas: 2
    slots: 4
    limits: {context-tokens: 128, output-tokens: 64}
    args: {ctx-size: 512}""")
    w.wait_ready(2)
    eventually(lambda: settled(w), "both replicas have shown what they do")
    return w


def standings(w):
    return {one["address"].rsplit(":", 1)[1]: one["standing"] for one in w.get("replicas")}


def settled(w):
    for _ in range(4):
        expect(w.chat(STREAM, stream=True).status == 200, "a stream is served")
    return len(standings(w)) == 2 and all(one == "fine" for one in standings(w).values())


def counted(w, standing):
    return metrics(w)[f'assay_replica_standing{{standing="{standing}"}}']


@contextlib.contextmanager
def asking(w, at_once, **more):
    """Chats without end, some at a time; those that hang are cut at the end. Yields what was answered."""
    answers, links, is_over = [], set(), threading.Event()
    body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": STREAM}], **more}).encode()
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {w.key()}\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n").encode()
    where = w.endpoint()

    def ask():
        while not is_over.is_set():
            with contextlib.suppress(OSError), socket.create_connection(where, timeout=60) as link:
                links.add(link)
                link.sendall(head + body)
                got = b""
                while part := link.recv(65536):
                    got += part
                if got and not is_over.is_set():
                    answers.append(int(got.split(b" ", 2)[1]))
            is_over.wait(0.01)
    threads = [threading.Thread(target=ask, daemon=True) for _ in range(at_once)]
    for one in threads:
        one.start()
    try:
        yield answers
    finally:
        is_over.set()
        for link in list(links):
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        for one in threads:
            one.join(10)


def is_told(w, port, standing):
    """Where people look: the list of replicas, the metrics, and the explanation of a decision that was made."""
    eventually(lambda: standings(w)[port].startswith(standing), f"{port} is {standing}: {w.get('replicas')}", 20)
    expect(counted(w, standing) == 1, "the metrics count it", metrics(w))
    answer = w.chat("capital of France")
    expect(answer.status == 200, "the other one serves", answer)
    said = w.assay("explain", "--decision", answer.headers["x-assay-decision"]).is_ok()
    lines = [one for one in said.out.splitlines() if "/4 in flight" in one and f"  {standing}  " in one]
    expect(len(lines) == 1, "the explanation says how each replica stands", said)
    return said


def is_back(w):
    w.behave()
    with asking(w, 6, stream=True):
        eventually(lambda: all(one == "fine" for one in standings(w).values()), f"both are back: {w.get('replicas')}", 40)


def scenario_standing_failing():
    """A replica that fails is left alone after five failures, is asked once at a time later, and comes back."""
    with two_replicas() as w:
        port = sorted(standings(w))[0]
        w.behave(by_port={port: "fail"})
        with asking(w, 6) as answers:
            said = is_told(w, port, "failing")
            expect("avoided" in said.out or "its last requests failed" in said.out, "and why", said)
            eventually(lambda: len(answers) > 60, "requests are answered")
        expect(answers.count(500) <= 5 + 6 + 1, "few callers saw it: five failures, who was there with them, and a probe", answers)
        is_back(w)
        w.behave(by_port={one: "fail" for one in standings(w)})
        with asking(w, 6):
            eventually(lambda: counted(w, "failing") + counted(w, "probing") == 2, "both fail")
            eventually(lambda: sum("used all the same" in one for one in standings(w).values()) == 1, "one of two is used all the same", 20)
        is_back(w)


def scenario_standing_full():
    """A replica that says that it is full is left alone for as long as it asks, without having failed."""
    with two_replicas() as w:
        port = sorted(standings(w))[0]
        w.behave(by_port={port: "full"})
        with asking(w, 6):
            is_told(w, port, "full")
            expect(counted(w, "failing") == 0, "it has not failed", metrics(w))
        is_back(w)


def scenario_standing_silent():
    """Replicas that hang, whole or in the middle of their streams, get no more requests; their health checks are fine."""
    with two_replicas() as w:
        port = sorted(standings(w))[0]
        for illness, standing in (("silent", "wedged"), ("stall", "stalled")):
            w.behave(by_port={port: illness})
            with asking(w, 6, stream=True):
                is_told(w, port, standing)
                phases = {one["phase"] for one in w.get("replicas")}
                expect(phases == {"ready"}, "its agent finds nothing wrong", phases)
            is_back(w)


def scenario_standing_stale():
    """A replica whose agent says nothing is stale, and serves on."""
    with two_replicas() as w:
        agent = w.agent_pid()
        os.kill(agent, signal.SIGSTOP)
        try:
            eventually(lambda: counted(w, "stale") == 2, "both are stale", 14)
            expect(w.chat("capital of France").status == 200, "they serve on")
        finally:
            os.kill(agent, signal.SIGCONT)
        eventually(lambda: counted(w, "stale") == 0, "they are heard of again")
