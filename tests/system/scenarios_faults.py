"""What breaks while it runs: processes killed, clients that leave, disks that fill, runtimes that misbehave."""

import json
import os
import signal
import socket
import threading
import time
from datetime import datetime

from world import BIN, PATIENCE, World, eventually, expect, is_alive


def ask(text, **more):
    return {"model": "tiny", "messages": [{"role": "user", "content": text}], **more}


def events(body):
    return [part[6:] for part in body.decode().split("\n\n") if part.startswith("data: ")]


def scenario_job_survives_kill():
    """kill -9 of assayd in the middle of a job: after a restart each line is there exactly once, in order."""
    lines = 200
    with World() as w:
        w.serve()
        w.behave(pace_s=0.05)
        text = "".join(json.dumps({"custom_id": f"line-{i}", "prompt": f"[[words 2]] number {i}", "max_tokens": 4}) + "\n"
                       for i in range(lines))
        file = w.write("job.jsonl", text)
        job = w.assay("submit", file, "--model", "tiny").is_ok().out.split()[1].rstrip(":")
        eventually(lambda: len(w.seen(part="number")) > lines // 5, "the job is under way")
        expect(w.item("job", job)["state"] not in ("finished", "failed"), "it is not over yet", w.item("job", job))
        w.end_assayd(signal.SIGKILL)
        w.start()
        eventually(lambda: len(w.seen(part="number")) > lines // 2, "the job goes on")
        w.end_assayd(signal.SIGKILL)
        w.behave()
        w.start()
        state = eventually(lambda: (lambda i: i if i["state"] == "finished" else None)(w.item("job", job)),
                           "the job finishes", 120)
        expect(state["done"] == lines and state["failed"] == 0, "every item is done", state)
        found = [json.loads(line) for line in w.assay("job", "results", job).is_ok().out.splitlines()]
        ids = [one["custom_id"] for one in found]
        expect(ids == [f"line-{i}" for i in range(lines)], "each line once and in order", f"{len(ids)} lines", ids[:5])
        expect(all(one["response"]["status_code"] == 200 for one in found), "all were answered")
        expect(w.assay("job", "errors", job).is_ok().out == "", "there are no error lines")
        w.assay("ledger", "verify").is_ok()


def scenario_runtime_killed_in_stream():
    """A runtime that dies in mid-stream gives an error event and never a clean end; a new replica follows."""
    with World() as w:
        w.serve()
        first = w.runtime_pid()
        answer = w.post(ask("[[die 5]] [[words 40]]", stream=True))
        found = events(answer.body)
        expect(answer.status == 200 and len(found) > 3, "it had begun", answer)
        expect("[DONE]" not in found, "no clean end", found[-3:])
        error = json.loads(found[-1]).get("error")
        expect(error and error["code"] == "upstream_disconnected", "the last event is the error", found[-2:])
        expect(not any('"finish_reason": "stop"' in one for one in found), "nothing says that it was whole", found[-3:])
        answer = eventually(lambda: (lambda a: a if a.status == 200 else None)(w.chat("capital of France")),
                            "a new replica serves", 60)
        expect(w.runtime_pid() != first, "another process answers")
        # Unary: nothing was sent, so the caller gets a whole error.
        answer = w.post(ask("[[die 0]]"))
        expect(answer.status in (502, 503), "a unary request gets an error", answer)
        expect(answer.error()["code"] in ("upstream_disconnected", "no_capacity", "upstream_error"), "named", answer)


def scenario_client_leaves_in_prefill():
    """The client leaves before the first byte, or in mid-stream: the runtime is told by a closed connection."""
    with World() as w:
        w.serve(slots=1)
        for body, mark in ((ask("[[prefill 50]] unary"), "unary"), (ask("[[prefill 50]] streamed", stream=True), "streamed"),
                           (ask("[[pace 0.2]] [[words 60]] middle", stream=True), "middle")):
            raw = json.dumps(body).encode()
            link = socket.create_connection(w.endpoint(), timeout=PATIENCE)
            link.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                         b"Authorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s" % (w.key().encode(), len(raw), raw))
            eventually(lambda: w.seen(part=mark), "it reached the runtime")
            if mark == "middle":
                expect(link.recv(100), "the stream began")
            link.close()
            eventually(lambda: w.seen("left", mark), f"the runtime saw that the client left ({mark})", 10)
        answer = eventually(lambda: (lambda a: a if a.status == 200 else None)(w.chat("capital of Italy")),
                            "the only slot is free again", 15)
        expect("Rome" in answer.body.decode(), "and answers", answer)


def scenario_agent_killed():
    """kill -9 of the agent: traffic goes on without a gap, another agent is started and takes the replica over."""
    with World() as w:
        w.serve()
        runtime, agent = w.runtime_pid(), w.agent_pid()
        stop = threading.Event()
        answers = []

        def load():
            while not stop.is_set():
                answers.append(w.chat("capital of France"))
        user = threading.Thread(target=load, daemon=True)
        user.start()
        os.kill(agent, signal.SIGKILL)
        eventually(lambda: not is_alive(agent), "the agent is gone")
        expect(is_alive(runtime), "the replica survives")
        eventually(lambda: w.agent_pid() != agent and is_alive(w.agent_pid()), "another agent runs")

        def says(part):
            return part in (w.data / "agent/agent.log").read_text().rsplit("replica_taken_over", 1)[-1]
        eventually(lambda: says("session_began") and says("phase=ready"), "the replica is taken over")
        # Past the time in which a coordinator waits for what came back to be reported.
        confirmed_by = time.monotonic() + 6
        eventually(lambda: time.monotonic() > confirmed_by, "five seconds pass")
        eventually(lambda: [h["state"] for h in w.get("hosts")] == ["connected"], "its host is connected")
        stop.set()
        user.join(20)
        failed = [one for one in answers if one.status != 200]
        expect(not failed, "no request failed", len(answers), failed[:1])
        expect(w.runtime_pid() == runtime, "the same process was taken over", runtime, w.get("replicas"))
        expect(len(w.get("replicas")) == 1, "nothing was started twice", w.get("replicas"))


def scenario_restarted_and_then_runtime_killed():
    """An assayd that was started anew still starts replicas: it orders in the term that agents hear of."""
    with World() as w:
        w.serve()
        for how in (signal.SIGTERM, signal.SIGKILL):
            w.end_assayd(how)
            w.start()
            eventually(lambda: w.chat("capital of France").status == 200, "chats are answered")
            before = w.runtime_pid()
            os.kill(before, signal.SIGKILL)
            eventually(lambda: w.runtime_pid() not in (None, before), "another runtime is started")
            eventually(lambda: w.chat("capital of France").status == 200, "and answers")


def scenario_assayd_killed_under_load():
    """kill -9 of assayd under chats and applies: what was acknowledged is there, and the ledger verifies."""
    with World() as w:
        w.serve()
        stop = threading.Event()
        answers = []

        def load():
            while not stop.is_set():
                try:
                    answers.append(w.chat("capital of France").status)
                except OSError:
                    stop.wait(0.05)
        threads = [threading.Thread(target=load, daemon=True) for _ in range(2)]
        for one in threads:
            one.start()
        acknowledged = []
        for number in range(6):
            said = w.assay("apply", "-f", "-", text=f"project: p{number}\n")
            expect(said.code == 0, "declared under load", said)
            acknowledged.append(f"p{number}")
        eventually(lambda: len(answers) > 20, "chats are answered")
        runtime = w.runtime_pid()
        w.end_assayd(signal.SIGKILL)
        count = len(answers)
        w.start()
        eventually(lambda: len(answers) > count + 10, "chats are answered again")
        stop.set()
        for one in threads:
            one.join()
        expect(set(answers) <= {200, 503}, "200, or 503 while nobody is known yet", sorted(set(answers)))
        names = {one["name"] for one in w.get("projects")}
        expect(set(acknowledged) <= names, "every acknowledged record is there", acknowledged, names)
        w.assay("ledger", "verify").is_ok()
        expect(w.runtime_pid() == runtime, "the replica lived on")


def scenario_sigterm_leaves_agent_and_replica():
    """SIGTERM ends assayd with 0; agent and replica go on, and the next assayd finds them."""
    with World() as w:
        w.serve()
        runtime, agent = w.runtime_pid(), w.agent_pid()
        slow = []
        thread = threading.Thread(target=lambda: slow.append(w.post(ask("[[pace 0.1]] [[words 15]]", stream=True))))
        thread.start()
        eventually(lambda: w.seen(part="words 15"), "a stream is under way")
        expect(w.end_assayd() == 0, "it ends with 0", w.log())
        thread.join()
        expect(slow and slow[0].is_whole and b"[DONE]" in slow[0].body, "the stream in flight was served to its end", *slow)
        expect(is_alive(runtime) and is_alive(agent), "agent and replica go on")
        w.start()
        eventually(lambda: w.chat("capital of France").status == 200, "and serve under the next assayd", 30)
        expect((w.runtime_pid(), w.agent_pid()) == (runtime, agent), "they are the same processes")


def scenario_dies_while_loading():
    """A runtime that dies while loading: its reason is named, and it is not started in a loop."""
    with World() as w:
        w.behave(die_loading=1)
        w.start()
        w.assay("apply", "-f", w.catalog()).is_ok()
        said = eventually(lambda: (lambda s: s if "startup_failed" in s.out or "failed to load" in s.out else None)(
            w.assay("describe", "implementation", "tiny/local/q4", "-o", "json")), "the reason is named")
        said = w.assay("qualify", w.implementation()).ends(5)
        # Pauses of 1, 2 and 4 s lie between four attempts; the log has their times.
        def attempts():
            text = (w.data / "agent/agent.log").read_text()
            times = [line[:23] for line in text.splitlines() if "phase=starting" in line]
            return times if len(times) >= 4 else None
        first, *_, last = (datetime.fromisoformat(t) for t in eventually(attempts, "it is tried again"))
        expect((last - first).total_seconds() > 6, "with growing pauses in between", first, last)
        eventually(lambda: "tiny/local/q4 is not started any more: it ended 5 times" in w.assay("status").out,
                   "after five ends it is given up, and status says so", 60)
        w.behave()
        w.assay("qualify", w.implementation())  # Refused without a replica, and wakes the pool.
        w.wait_ready()
        expect("not started any more" not in w.assay("status").out, "status has nothing more to say")
        w.qualify()


def scenario_ignores_sigterm():
    """A runtime that ignores SIGTERM is killed after its grace, and nothing is left."""
    with World() as w:
        w.behave(ignore_term=True)
        w.serve()
        runtime = w.runtime_pid()
        w.run("assay-agent", "stop", "--data", w.data, "--stop-replicas", patience=40).is_ok()
        eventually(lambda: not is_alive(runtime), "it is gone", 20)


def scenario_replicas_without_agent():
    """assayd and its agent killed: `stop --stop-replicas` still ends the holder and its runtime; the next one finds nothing."""
    with World() as w:
        w.serve()
        runtime, agent = w.runtime_pid(), w.agent_pid()
        w.end_assayd(signal.SIGKILL)
        os.kill(agent, signal.SIGKILL)
        eventually(lambda: not w.agents(), "the agent is gone")
        expect(is_alive(runtime), "the replica lives on")
        w.run("assay-agent", "stop", "--data", w.data, "--stop-replicas", patience=40).is_ok()
        expect(not is_alive(runtime), "it has ended when the command has")
        w.run("assay-agent", "stop", "--data", w.data, "--stop-replicas").ends(5, "nothing is to be done")


def scenario_full_disk():
    """A full disk: proposals are refused as exhausted, reads and chats go on, and all resumes by itself."""
    with World() as w:
        w.mount_tmpfs(w.data, "32m")
        w.serve()
        with open(w.data / "ballast", "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass

        # Records of 40 kB, so that what is free inside the files is soon used up.
        labels = "".join(f"  l{number}: {'x' * 4000}\n" for number in range(10))

        def refused():
            said = w.assay("apply", "-f", "-", text=f"pool: p{time.monotonic_ns()}\nfamily: plugin\nlabels:\n{labels}")
            return said if said.code else None
        eventually(refused, "a proposal is refused").ends(5, "full")
        answer = w.chat("capital of France")
        expect(answer.status == 200, "chats go on", answer)
        expect(w.assayd.poll() is None and w.get("projects"), "reads go on", w.log())
        status = w.assay("status", "-o", "json").json()
        expect(any("full" in one for one in status["problems"]), "status says so", status)
        (w.data / "ballast").unlink()
        eventually(lambda: w.assay("apply", "-f", "-", text="project: after\n").code == 0, "taken again by itself")
        w.assay("ledger", "verify").is_ok()
