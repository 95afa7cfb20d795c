"""What is kept of a cluster outside it: a backup, bad ones, a full disk under one, and all lost but one."""

import hashlib
import json
import random
import shutil
import signal
import subprocess
import threading

from cluster import Cluster
from scenarios_cluster import BOTH, check_all_found, three
from world import eventually, expect


def scenario_cluster_lost_for_good():
    """Every disk is lost: one member rises from a backup that a follower made, and others join it anew."""
    with three().form() as w:
        names = [f"r{i}" for i in range(6)]
        for i, name in enumerate(names):
            w.put("abc"[i % 3], name)
        follower = next(name for name in w.alive() if name != w.leader())
        file = w.root / "lab.assay"

        def has_all():
            w.at(follower, "cluster", "backup", file).ends(0, f"signing key of {follower}")
            return json.loads(w.at(follower, "cluster", "backup", file, "-o", "json").out)["seq"] >= w.cluster(w.leader())["seq"]
        eventually(has_all, "the follower has applied what was acknowledged")
        expect(file.stat().st_mode & 0o777 == 0o600, "it is its owner's alone")
        w.at(follower, "cluster", "restore", file).ends(4, "member of cluster 'lab' already")
        w.at(follower, "cluster", "backup", w.root / "no" / "where").ends(3, "no backup was written")
        # The others live on while one rises from the backup: nothing of theirs is touched, nobody joins by accident.
        w.kill(follower, signal.SIGTERM)
        shutil.rmtree(w.members[follower].data)
        w.begin(follower)
        w.at(follower, "cluster", "restore", w.root / "none").ends(3, "none")
        w.at(follower, "cluster", "restore", w.members[follower].config).ends(1, "not a backup")
        w.at(follower, "cluster", "restore", file).ends(0, f"{follower} is member 4 of cluster lab")
        others = [name for name in w.members if name != follower]
        w.put(others[0], "by-the-others")
        seen = w.cluster(others[0])
        expect([m["node"] for m in seen["members"]] == [1, 2, 3], "it is not theirs", seen)
        eventually(lambda: next(m for m in w.cluster(others[0])["members"] if m["name"] == follower)["state"] != "up",
                   "it has no link")
        eventually(lambda: w.cluster(follower)["leader"] == follower, "it leads alone")
        expect([m["node"] for m in w.cluster(follower)["members"]] == [4], "they are not its members")
        w.put(follower, "by-the-risen")
        expect("by-the-risen" not in w.found(others[0]) and "by-the-others" not in w.found(follower), "they are two")
        for name in others:
            w.kill(name)
            shutil.rmtree(w.members[name].data)
        for name in others:
            w.begin(name)
            w.join(name, at=follower)
        w.settled()
        check_all_found(w, [*names, "by-the-risen"])
        nodes = sorted(m["node"] for m in w.cluster()["members"])
        expect(nodes == [4, 5, 6], "no id is used twice", nodes)


def bent(file, at, to):
    """A copy of which one byte is another one."""
    whole = bytearray(file.read_bytes())
    whole[at] = to(whole[at])
    return bytes(whole)


def emptied(w, name):
    """That member without its disk, and its assayd waiting for a word."""
    w.kill(name)
    shutil.rmtree(w.members[name].data)
    w.begin(name)


def scenario_cluster_backup_bad_input():
    """A backup that is cut, bent, newer or none is refused with its reason; a restore that was cut is said again."""
    with Cluster(a=BOTH) as w:
        w.form()
        w.put("a", "kept")
        file, other = w.root / "lab.assay", w.root / "other.assay"
        eventually(lambda: w.at("a", "cluster", "backup", file, "-o", "json").json()["seq"] >= w.cluster()["seq"], "all is in it")
        w.at("a", "cluster", "restore", file).ends(4, "member of cluster 'lab' already", "empty data directory")
        emptied(w, "a")
        w.at("a", "cluster", "backup", other).ends(5, "belongs to no cluster")
        whole = file.read_bytes()
        for content, code, what in (
                (whole[:-1], 1, "damaged"), (whole[:len(whole) // 2], 1, "damaged"), (whole + b"x", 1, "damaged"),
                (bent(file, len(whole) // 2, lambda b: b ^ 1), 1, "damaged"), (b"data: here", 1, "not a backup"),
                (bent(file, 13, lambda b: b + 1), 4, "format 2"), (bent(file, 17, lambda b: 99), 4, "schema version 99")):
            other.write_bytes(content)
            w.at("a", "cluster", "restore", other).ends(code, what, str(other))
        w.at("a", "cluster", "restore", w.root / "none").ends(3, "none")
        w.at("a", "status").ends(5, "belongs to no cluster")

        def restored():
            w.at("a", "cluster", "restore", file).ends(0, "a is member 2 of cluster lab")
            check_all_found(w, ["kept"])
        restored()
        # All is there but its place, which cannot be written: no member yet, and nothing else may begin here.
        emptied(w, "a")
        place = w.members["a"].data / "member.json"
        in_the_way = place.with_name(f"member.json.{w.members['a'].process.pid}.tmp")
        in_the_way.mkdir()
        w.at("a", "cluster", "restore", file).ends(5, "member.json")
        w.at("a", "cluster", "init").ends(4, "a restore was cut here", "restore again")
        w.at("a", "cluster", "join", "-", text="rubbish\n").ends(4, "a restore was cut here")
        in_the_way.rmdir()
        restored()
        # Killed anywhere in it: it is a member, or takes another.
        emptied(w, "a")
        asked = threading.Thread(target=w.at, args=("a", "cluster", "restore", file))
        asked.start()
        eventually((w.members["a"].data / "ledger" / "data.mdb").exists, "it has begun to write")
        w.kill("a")
        w.begin("a")
        asked.join()
        if not place.exists():
            restored()
        check_all_found(w, ["kept"])


def scenario_cluster_backup_full_disk():
    """A full disk in mid-backup leaves the backup before; in mid-restore it leaves a directory that takes it with more room."""
    with Cluster(a=BOTH) as w:
        w.form()
        w.put("a", "kept")
        small = w.root / "small"
        w.mount_tmpfs(small, "16m")
        file = small / "lab.assay"
        eventually(lambda: w.at("a", "cluster", "backup", file, "-o", "json").json()["seq"] >= w.cluster()["seq"], "all is in it")
        before = file.read_bytes()
        content = random.randbytes(40 << 20)
        name = hashlib.sha256(content).hexdigest()
        blob = w.members["a"].data / "blobs" / name[:2] / name[2:]
        blob.parent.mkdir(mode=0o700, exist_ok=True)
        blob.write_bytes(content)
        w.at("a", "cluster", "backup", file).ends(5, "No space left", str(small), "no backup was written", "free space")
        expect([one.name for one in small.iterdir()] == ["lab.assay"], "nothing half is left")
        expect(file.read_bytes() == before, "the backup before is as it was")
        large = w.root / "lab.assay"
        w.at("a", "cluster", "backup", large).ends(0, "1 blobs")
        w.kill("a")
        data = w.members["a"].data
        shutil.rmtree(data)
        w.mount_tmpfs(data, "32m")
        w.begin("a")
        w.at("a", "cluster", "restore", large).ends(5, "No space left", str(data), "free space")
        w.at("a", "status").ends(5, "belongs to no cluster")
        subprocess.run(["mount", "-o", "remount,size=160m", data], check=True)
        w.at("a", "cluster", "restore", large).ends(0, "a is member 2 of cluster lab")
        check_all_found(w, ["kept"])
        expect((data / "blobs" / name[:2] / name[2:]).stat().st_size == len(content), "the blob is back")
