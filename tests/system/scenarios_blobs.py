"""Blobs among coordinators: on a majority before the record that names them, and anywhere when they are asked for."""

import hashlib
import json
import re

from cluster_faults import three
from world import eventually, expect

LINES = 200


def job_file(w, lines=LINES):
    """A job's input, and its digest."""
    text = "".join(json.dumps({"custom_id": f"line-{i}", "prompt": f"[[words 2]] number {i}", "max_tokens": 4}) + "\n"
                   for i in range(lines))
    return w.write("job.jsonl", text), text


def name_of(text):
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def place_of(w, at, name):
    digits = name.removeprefix("sha256:")
    return w.members[at].data / "blobs" / digits[:2] / digits[2:]


def job_at(w, at, job):
    return json.loads(w.patiently(at, "describe", "job", job, "-o", "json").out)["item"]


def check_output(w, at, job):
    found = [json.loads(line) for line in w.patiently(at, "job", "results", job).out.splitlines()]
    ids = [one["custom_id"] for one in found]
    expect(ids == [f"line-{i}" for i in range(LINES)], f"at {at}: each line once and in order", len(ids), ids[:5])
    expect(all(one["response"]["status_code"] == 200 for one in found), f"at {at}: all were answered")


def scenario_cluster_job_survives_leader():
    """kill -9 of the leader in the middle of a job: the next one finishes it, and its output is read at every coordinator."""
    with three().form() as w:
        w.serve()
        w.behave(pace_s=0.25)  # It would take more than a minute.
        file, _ = job_file(w)
        gone = w.leader()
        job = w.patiently(gone, "submit", file, "--model", "tiny").out.split()[1].rstrip(":")

        def under_way():  # An item that found no room after an election is asked again after up to 30 s.
            expect(len(w.seen(part="number")) > 5, "not yet", job_at(w, gone, job), w.cluster(gone), w.log(f"{gone}.log"))
            return job_at(w, gone, job)["done"] > 0
        eventually(under_way, "a part of its output is kept", 120)
        expect(job_at(w, gone, job)["state"] not in ("finished", "failed"), "it is not over yet", job_at(w, gone, job))
        w.kill(gone)
        lead = w.leader()
        w.behave()
        state = eventually(lambda: (lambda i: i if i["state"] in ("finished", "failed") else None)(job_at(w, lead, job)),
                           "the job ends", 120)
        expect(state["state"] == "finished" and state["done"] == LINES and state["failed"] == 0, "every item is done", state)
        w.begin(gone)
        w.settled()
        for at in w.alive():
            check_output(w, at, job)
        # The one that was away while the end was recorded has it all on its own disk soon.
        parts = [one for one in w.members[lead].data.glob("blobs/??/*")]
        eventually(lambda: all(place_of(w, gone, one.parent.name + one.name).exists() for one in parts), "all blobs are there")
        for at in w.alive():
            if at != gone:
                w.kill(at)
        eventually(lambda: w.at(gone, "job", "results", job).code == 0, "alone it still has the output")
        check_output(w, gone, job)


def scenario_cluster_evidence_of_the_absent():
    """A coordinator that was away while evidence was recorded shows it when it leads, and when it is all that is left."""
    with three().form() as w:
        w.lead("a")
        w.kill("c")
        w.serve()
        runs = [one["seq"] for one in w.records("a") if one["kind"] == "eval_run"]
        expect(runs, "a run is on record", *w.records("a"))
        record = w.at("a", "ledger", "show", str(runs[0]), "-o", "json").is_ok().out
        evidence = w.at("a", "ledger", "blob", blob_in(record)).is_ok().out
        expect(name_of(evidence) == blob_in(record), "it is the evidence", evidence[:300])
        w.begin("c")
        w.settled()
        w.lead("c")
        expect(w.patiently("c", "ledger", "blob", blob_in(record)).out == evidence, "the new leader shows it")
        w.kill("a")
        w.kill("b")
        expect(w.at("c", "ledger", "blob", blob_in(record)).is_ok().out == evidence, "alone it shows it still")


def blob_in(record):
    """The digest of the evidence in a record as `ledger show` prints it."""
    found = re.search(r"blobs.*?(sha256:[0-9a-f]{64})", record, re.S)
    expect(found, "the run names its evidence", record)
    return found[1]


def scenario_cluster_blobs_need_majority():
    """A job whose input no majority can hold is not taken; what was taken is read at whoever is left, whatever rots."""
    with three().form() as w:
        w.patiently("a", "apply", "-f", w.catalog())
        lead = w.leader()
        followers = w.followers()
        file, text = job_file(w)
        for at in followers:  # Without this folder nothing can be written there.
            (w.members[at].data / "blobs/tmp").rename(w.members[at].data / "blobs/away")

        def submit():
            w.lead(lead)  # A busy machine may have had an election.
            return w.at(lead, "submit", file, "--model", "tiny")

        taken = []

        def refused():
            said = submit()
            taken.extend([said] if said.code == 0 else [])
            return taken or "1 of 3" in said.err and "2 are needed" in said.err and said.code == 5
        eventually(refused, "it is refused, and says how many have it")
        expect(not taken, "it is not taken", *taken)
        expect(w.patiently(lead, "get", "jobs", "-o", "json").json() == [], "no record names it")
        (w.members[followers[0]].data / "blobs/away").rename(w.members[followers[0]].data / "blobs/tmp")
        job = eventually(lambda: submit().is_ok(), "it is taken").out.split()[1].rstrip(":")
        expect(place_of(w, followers[0], name_of(text)).exists(), "a majority has it once it is acknowledged")
        w.kill(lead)
        w.leader()
        expect(job_at(w, followers[0], job)["total"] == LINES, "the job is known")
        w.at(followers[1], "ledger", "blob", name_of(text)).ends(5, "blob")
        (w.members[followers[1]].data / "blobs/away").rename(w.members[followers[1]].data / "blobs/tmp")
        for at in followers:
            expect(w.patiently(at, "ledger", "blob", name_of(text)).out == text, f"{at} gives it whole")
        spoilt = place_of(w, followers[0], name_of(text))
        spoilt.write_bytes(b"x" + spoilt.read_bytes()[1:])
        expect(w.patiently(followers[0], "ledger", "blob", name_of(text)).out == text, "a rotten copy is replaced")
        expect(spoilt.read_text() == text, "also on its disk")
        nobodys = name_of("nobody's")
        w.at(followers[0], "ledger", "blob", nobodys).ends(5, "cannot be reached", "does not have it")
        w.begin(lead)
        w.settled()
        eventually(lambda: w.at(followers[0], "ledger", "blob", nobodys).ends(3, "does not have it"), "all say so")
        w.at(followers[0], "ledger", "blob", "rubbish").ends(1, "digest")
