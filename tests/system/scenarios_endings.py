"""How requests end, and what the ingress makes of it: whose fault it was, and how fast the replica is."""

import http.client

from world import World, eventually, expect


def metrics(w):
    """Every series of the monitor, with its value."""
    connection = http.client.HTTPConnection(*w.endpoint("monitor"), timeout=10)
    try:
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        return {series: float(value) for series, value in (one.rsplit(" ", 1) for one in lines if one and one[0] != "#")}
    finally:
        connection.close()


def ended(w, ending):
    """Interactive requests that ended so."""
    return sum(value for series, value in metrics(w).items()
               if series.startswith("assay_requests_total{") and f'ending="{ending}"' in series and 'class="interactive"' in series)


def scenario_endings():
    """An engine that refuses a request has not failed, one that is full neither, and each decision says how it ended."""
    with World() as w:
        w.serve()
        for status, ending in ((400, "rejected"), (404, "rejected"), (422, "rejected"), (503, "overloaded"), (500, "failed")):
            before = ended(w, ending)
            answer = w.chat(f"[[status {status}]]")
            expect(answer.status == status, "the engine's own answer passes", answer)
            eventually(lambda: ended(w, ending) == before + 1, f"{status} counts as {ending}")
            said = w.assay("explain", "--decision", answer.headers["x-assay-decision"]).is_ok()
            expect(ending in said.out and f"{status}" in said.out, "the decision says how it ended", said)
        answer = w.chat("capital of France [[prefill 0.2]]", stream=True)
        said = w.assay("explain", "--decision", answer.headers["x-assay-decision"], "-o", "json").json()["decision"]
        expect(said["ended"] == "served" and int(said["replica_first_ms"]) >= 200, "what the replica took is told", said)
        name = 'assay_replica_first_token_seconds_sum{class="interactive",model="tiny",pool="local"}'
        eventually(lambda: metrics(w)[name] >= 0.2, "and counted")
