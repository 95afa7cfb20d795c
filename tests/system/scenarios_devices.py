"""A host with accelerators, whose library is one that behaves as it is told (tests/support/fake_nvml)."""

import re
import signal
import socket
import time
import urllib.request
from pathlib import Path

from world import BIN, Skipped, World, eventually, expect, processes_of

LIBRARY = BIN.parent / "fake_nvml" / "new"
PROMISED = 5.0  # Seconds until the loss of a device is seen.


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cards:
    """The bus, the driver's files and the library of a host with NVIDIA devices."""

    def __init__(self, w, count=2):
        if not (LIBRARY / "libnvidia-ml.so.1").exists():
            raise Skipped(f"{LIBRARY} is missing (target fake_nvml_new)")
        self.root = w.root / "machine"
        self.told = w.root / "nvml"
        self.count = count
        for i in range(count):
            at = self.root / f"sys/bus/pci/devices/0000:{0x65 + i:x}:00.0"
            at.mkdir(parents=True)
            for name, text in (("vendor", "0x10de"), ("device", "0x2330"), ("class", "0x030200")):
                (at / name).write_text(text + "\n")
            driver = self.root / "drivers/nvidia"
            driver.mkdir(parents=True, exist_ok=True)
            (at / "driver").symlink_to(driver)
            facts = self.root / f"proc/driver/nvidia/gpus/{at.name}"
            facts.mkdir(parents=True)
            (facts / "information").write_text(f"Device Minor: \t {i}\n")
            (self.root / "dev").mkdir(exist_ok=True)
            (self.root / f"dev/nvidia{i}").write_text("")
        self.log = self.root / "dev/kmsg"
        self.log.write_text("6,1,1000,-;NVRM: loading\n")
        self.tell()

    def tell(self, *lines):
        new = self.told.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in (f"devices {self.count}", *lines)))
        new.rename(self.told)

    def xid(self, slot, code, text):
        with self.log.open("a") as log:
            log.write(f"4,{code},{time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000},-;NVRM: Xid (PCI:0000:{slot}:00): {code}, {text}\n")


def gpu_host(w, cards, **inherited):
    """A second host with these cards; says where its figures are."""
    folder, port = w.root / "gpu", free_port()
    token = w.assay("host", "token", "--name", "gpu").is_ok().out.split()[0]
    w.assay("host", "join", "-", "--data", folder, "--host", "gpu", text=token + "\n").is_ok()
    env = w.environment(LD_LIBRARY_PATH=str(LIBRARY), FAKE_NVML=str(cards.told), **inherited)
    agent = w.spawn(BIN / "assay-agent", "run", "--data", folder, "--path", w.path, "--device-root", cards.root,
                    "--monitor", f"127.0.0.1:{port}", log="gpu.log", env=env)
    eventually(lambda: {"name": "gpu", "state": "connected"}.items() <= next(h for h in w.get("hosts") if h["name"] == "gpu").items(),
               f"gpu is connected: {w.log('gpu.log')}")
    return agent, folder, port


def uuid(i):
    return f"GPU-{i + 1:08x}-0000-0000-0000-000000000000"


def shown(w):
    return w.assay("host", "show", "gpu", "-o", "json").json()["item"]


def runtime_environments(w):
    """Of every process that answers as llama-server."""
    mark = f"--control\0{w.control}\0".encode()
    found = []
    for pid in processes_of(mark):
        try:
            found.append(Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0"))
        except OSError:
            pass
    return found


def masks(w):
    return sorted({one.split("=", 1)[1] for env in runtime_environments(w) for one in env if one.startswith("CUDA_VISIBLE_DEVICES=")})


def scenario_devices_of_a_host():
    """Devices are shown with their native figures; a replica gets one of its own; a lost and a sick one are left, and resumed."""
    with World() as w:
        cards = Cards(w)
        w.start()
        agent, folder, port = gpu_host(w, cards)
        host = eventually(lambda: (lambda h: h if f"device {uuid(0)}" in h else None)(shown(w)), "its devices are known")
        expect(host[f"device {uuid(0)}"] == "NVIDIA H100: offered", "what it is", host)
        expect(host["stack nvidia.driver"] == "550.1.2", "the driver is part of the stack", host)
        eventually(lambda: shown(w).get(f"power.draw {uuid(1)} (mW)") == 350000, "its figures, in its own unit", 10)
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode()
        expect(f'nvml_power_draw{{device="{uuid(0)}",unit="mW"}} 350000' in text, "under its own prefix", text[:2000])
        age = float(re.search(r'assay_agent_sample_age_seconds\{family="nvidia"\} ([0-9.]+)', text)[1])
        expect(age < 10, "and how old they are", age)

        w.assay("apply", "-f", w.catalog(extra="---\npool: gpus\nfamily: nvidia\n", implementations="""
implementations:
  - pool: gpus
    artifact: q4
    status: production
    devices: 1
    slots: 2
    limits: {context-tokens: 128, output-tokens: 64}
    args: {ctx-size: 256}""")).is_ok()
        w.wait_ready()
        mine = masks(w)
        expect(len(mine) == 1 and mine[0] in (uuid(0), uuid(1)), "it was told one device, by the name that its profile asks for", mine)
        held = [uuid(0), uuid(1)].index(mine[0])
        spare = 1 - held

        cards.tell(f"codeof Handle {held} 15")
        begun = time.monotonic()
        eventually(lambda: ": lost, " in shown(w)[f"device {uuid(held)}"], "its loss is seen", 15)
        expect(time.monotonic() - begun <= PROMISED, "within five seconds", f"{time.monotonic() - begun:.1f} s")
        expect("NVML 15: GPU is lost" in shown(w)[f"device {uuid(held)}"], "with the native cause", shown(w))
        eventually(lambda: masks(w) == [uuid(spare)], "its replica moves to the other one")
        w.wait_ready()

        cards.tell()
        cards.xid(f"{0x65 + held:x}", 79, "pid=1, GPU has fallen off the bus.")
        eventually(lambda: ": sick, Xid 79" in shown(w)[f"device {uuid(held)}"], "an Xid makes it sick", 15)
        expect("fallen off the bus" in shown(w)["event 1"], "and is shown raw", shown(w))
        w.assay("host", "resume", "gpu", "--reason", "it was reseated").is_ok()
        eventually(lambda: shown(w)[f"device {uuid(held)}"] == "NVIDIA H100: offered", "resumed, it is offered again", 15)

        stranger = w.spawn("/bin/sleep", "1000")
        cards.tell(f"process {held} {stranger.pid} 3221225472")
        eventually(lambda: f"withheld, somebody else computes on it: process {stranger.pid} with 3072 MiB"
                   in shown(w)[f"device {uuid(held)}"], "somebody else's device is withheld", 15)
        cards.tell("hang PowerUsage")
        eventually(lambda: "did not answer in time" in shown(w)[f"device {uuid(spare)}"], "a library that hangs is seen", 60)
        expect(w.get("replicas")[0]["phase"] == "ready", "and what runs goes on", w.get("replicas"))
        expect(agent.poll() is None, "as does the agent")
        cards.tell()
        eventually(lambda: shown(w)[f"device {uuid(spare)}"] == "NVIDIA H100: offered", "it recovers", 60)
        w.run("assay-agent", "stop", "--data", folder, "--stop-replicas").is_ok()
        agent.wait(30)


def scenario_devices_under_a_mask():
    """An agent that was given one of two devices speaks of that one only; one whose mask names none offers none, and says why."""
    with World() as w:
        cards = Cards(w)
        w.start()
        agent, folder, _ = gpu_host(w, cards, CUDA_VISIBLE_DEVICES="1")
        host = eventually(lambda: (lambda h: h if f"device {uuid(1)}" in h else None)(shown(w)), "its device is known")
        expect(f"device {uuid(0)}" not in host, "and no other", host)
        agent.send_signal(signal.SIGTERM)
        agent.wait(30)
        env = w.environment(LD_LIBRARY_PATH=str(LIBRARY), FAKE_NVML=str(cards.told), CUDA_VISIBLE_DEVICES="7")
        agent = w.spawn(BIN / "assay-agent", "run", "--data", folder, "--path", w.path, "--device-root", cards.root, log="gpu.log", env=env)
        host = eventually(lambda: (lambda h: h if "event 1" in h and f"device {uuid(1)}" not in h else None)(shown(w)), "it says why", 30)
        expect("'7' names none of the 2 devices" in host["event 1"], "what is wrong with the mask", host)
        agent.send_signal(signal.SIGTERM)
        agent.wait(30)


def scenario_devices_of_amd():
    """AMD's devices from KFD's topology and the driver's files: shown, in their own words, and one that vanishes is lost."""
    with World() as w:
        class Tree:
            root, told = w.root / "machine", w.root / "none"
        device = Tree.root / "sys/bus/pci/devices/0000:05:00.0"
        node = Tree.root / "sys/class/kfd/kfd/topology/nodes/1"
        driver = Tree.root / "drivers/amdgpu"
        for folder in (device, node, driver, Tree.root / "sys/module/amdgpu"):
            folder.mkdir(parents=True)
        for name, text in (("vendor", "0x1002"), ("device", "0x74a1"), ("class", "0x120000"), ("gpu_busy_percent", "37"),
                           ("product_name", "AMD Instinct MI300X")):
            (device / name).write_text(text + "\n")
        (device / "driver").symlink_to(driver)
        (node / "properties").write_text("simd_count 152\ngfx_target_version 90402\nlocation_id 1280\ndomain 0\nunique_id 4660\n")
        (node / "gpu_id").write_text("101\n")
        (Tree.root / "sys/module/amdgpu/version").write_text("6.8.5\n")
        w.start()
        agent, _, port = gpu_host(w, Tree)
        name = "device GPU-0000000000001234"
        host = eventually(lambda: (lambda h: h if name in h else None)(shown(w)), "its device is known")
        expect(host[name] == "AMD Instinct MI300X (gfx942): offered", "what it is", host)
        expect(host["stack amd.driver"] == "6.8.5", "the driver is part of the stack", host)
        text = eventually(lambda: (lambda t: t if "amdgpu_gpu_busy_percent" in t else None)(
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode()), "its figures are there")
        expect('amdgpu_gpu_busy_percent{device="GPU-0000000000001234",unit="%"} 37' in text, "under its own prefix")
        (node / "properties").unlink()
        eventually(lambda: ": lost, its family shows it no more" in shown(w)[name], "its loss is seen", 15)
        agent.send_signal(signal.SIGTERM)
        agent.wait(30)
