"""What a person sees of batch jobs: lines that failed, each with its reason, and who goes first."""

import json
import threading

from world import World, eventually, expect


def job_of(said):
    return said.out.split()[1].rstrip(":")


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def scenario_job_errors():
    """Lines that fail do not fail the job: each is an error line with its reason, in the file's order, and told at the end."""
    with World() as w:
        w.serve()
        good = '{"custom_id": "%s", "prompt": "capital of France", "max_tokens": 4}\n'
        file = w.write("mixed.jsonl", good % "first" + "no JSON\n" + '{"id": "refused", "prompt": "[[status 400]] once"}\n'
                       + good % "first" + '{"id": "broken", "prompt": "[[status 500]] thrice"}\n' + good % "last")
        said = w.assay("submit", file, "--model", "tiny", "--wait", patience=120)
        said.ends(0, "6 of 6 done, 4 of them failed", "line-2: ", "no JSON object", "assay job errors")
        job = w.get("jobs")[0]["name"]
        results = lines_of(w.assay("job", "results", job).is_ok().out)
        expect([one["custom_id"] for one in results] == ["first", "line-2", "refused", "first", "broken", "last"],
               "each line once, in the file's order", results)
        expect([(one["response"] or {}).get("status_code") for one in (results[0], results[5])] == [200, 200], "answered", results)
        errors = lines_of(w.assay("job", "errors", job).is_ok().out)
        expect(errors == results[1:5], "the error lines are the results' own, and no others", errors)
        expect([(one["error"] or {}).get("code") for one in errors[::2]] == ["invalid_json_line", "duplicate_custom_id"],
               "a line that cannot be asked has its code", errors)
        expect([one["response"]["status_code"] for one in errors[1::2]] == [400, 500], "one that was asked its answer", errors)
        expect("as the prompt asked for" in json.dumps(errors[1]["response"]["body"]), "whole", errors[1])
        for part, times in (("once", 1), ("thrice", 3)):
            expect(len(w.seen(part=part)) == times, f"{part} it was asked", w.seen(part=part))


def scenario_interactive_before_batch():
    """While people wait for the only slot a job gets none of it; when they are gone it goes on, and loses nothing."""
    people, asks, lines = 6, 5, 60
    with World() as w:
        w.serve(slots=1)
        slow = "[[words 3]] [[pace 0.1]] "
        file = w.write("job.jsonl", "".join(json.dumps({"id": f"i{n}", "prompt": f"{slow}batch-{n}"}) + "\n" for n in range(lines)))
        job = job_of(w.assay("submit", file, "--model", "tiny").is_ok())
        eventually(lambda: len(w.seen(part="batch-")) > 2, "the job is under way")
        answers = []

        def person(who):
            for n in range(asks):
                answers.append(w.chat(f"{slow}person-{who}-{n}"))
        threads = [threading.Thread(target=person, args=(who,)) for who in range(people)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        expect([a.status for a in answers] == [200] * people * asks, "everybody is answered", *map(str, answers[:3]))
        order = ["person" if "person-" in one["body"] else "batch" for one in w.seen() if "person-" in one["body"] or "batch-" in one["body"]]
        of_people = [i for i, who in enumerate(order) if who == "person"]
        # All of them wait by then, and none has asked for the last time: somebody always waits.
        first, last = of_people[people], of_people[-2 * people]
        between = order[first:last].count("batch")
        expect(between <= 1, "nothing of the job comes before people who wait", between, order)
        done = eventually(lambda: (lambda i: i["state"] == "finished" and i)(w.item("job", job)), "the job finishes", 180)
        expect(done["done"] == lines and done["failed"] == 0, "nothing of it is lost", done)
