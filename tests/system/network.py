"""A network for one cluster: a namespace for each member, and one process between them that loses, delays or keeps packets.

Namespaces have no names: they and their devices are gone when the last process in them is. The kernel's own netem is not
asked for, since not every machine has it. `Network` moves packets between the members' tun devices itself and changes
its ways on command: it cuts a direction, or delays, loses, repeats and so reorders what passes.
"""

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import random
import select
import struct
import subprocess
import sys
import time

NEW_NET = 0x40000000  # CLONE_NEWNET
SET_TUN = 0x400454CA  # TUNSETIFF
TUN_NO_INFO = 0x1001


class NoNetwork(Exception):
    """Why none can be made here."""


def _call(name, *words):
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*words):
        raise NoNetwork(f"{name}: {os.strerror(ctypes.get_errno())}")


class Network:
    def __init__(self):
        self.home = os.open("/proc/self/ns/net", os.O_RDONLY)
        self.spaces = {}
        self.links = []
        self.switch = None

    def add(self, name, address):
        """A namespace with this address on a device of its own. All of them before `start`."""
        try:
            _call("unshare", NEW_NET)
            self.spaces[name] = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
            link = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(link, SET_TUN, struct.pack("16sH14x", b"net0", TUN_NO_INFO))
            self.links.append(link)
            for words in (("link", "set", "lo", "up"), ("addr", "add", f"{address}/24", "dev", "net0"),
                          ("link", "set", "net0", "up")):
                subprocess.run(["ip", *words], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as why:
            raise NoNetwork(f"no network namespace can be made here: {why}") from None
        finally:
            _call("setns", self.home, NEW_NET)

    def start(self):
        self.switch = subprocess.Popen([sys.executable, "-Es", __file__, *map(str, self.links)], pass_fds=self.links,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for link in self.links:
            os.close(link)

    @contextlib.contextmanager
    def inside(self, name):
        """What this thread starts meanwhile lives in that namespace."""
        _call("setns", self.spaces[name], NEW_NET)
        try:
            yield
        finally:
            _call("setns", self.home, NEW_NET)

    def say(self, *words):
        print(*words, file=self.switch.stdin, flush=True)
        self.switch.stdout.readline()

    def cut(self, one, other, both=True):
        """Nothing passes from one to the other, nor back unless told so."""
        names = list(self.spaces)
        self.say("cut", names.index(one), names.index(other))
        if both:
            self.cut(other, one, False)

    def isolate(self, one):
        for other in self.spaces:
            if other != one:
                self.cut(one, other)

    def spoil(self, delay_ms, jitter_ms, loss_percent, twice_percent):
        self.say("spoil", delay_ms, jitter_ms, loss_percent, twice_percent)

    def heal(self):
        self.say("heal")

    def close(self):
        if self.switch:
            self.switch.stdin.close()
            self.switch.wait(20)
            self.switch.stdout.close()
        for space in (*self.spaces.values(), self.home):
            os.close(space)


class Switch:
    """The process between the members: their devices are numbered as they were named, and so end their addresses."""

    def __init__(self, links):
        self.links = links
        self.cuts = set()
        self.ways = (0.0, 0.0, 0.0, 0.0)
        self.waiting = []
        self.order = itertools.count()

    def obey(self, words):
        if words[0] == "cut":
            self.cuts.add((int(words[1]), int(words[2])))
        elif words[0] == "spoil":
            self.ways = tuple(map(float, words[1:]))
        else:
            self.cuts.clear()
            self.ways = (0.0, 0.0, 0.0, 0.0)
        print("done", flush=True)

    def take(self, source):
        for _ in range(64):
            try:
                packet = os.read(self.links[source], 65536)
            except OSError:
                return
            target = packet[19] - 1  # The last byte of an IPv4 target.
            if packet[0] >> 4 != 4 or not 0 <= target < len(self.links) or (source, target) in self.cuts:
                continue
            delay, jitter, loss, twice = self.ways
            if random.random() * 100 < loss:
                continue
            for _ in range(2 if random.random() * 100 < twice else 1):
                at = time.monotonic() + max(0.0, delay + random.uniform(-jitter, jitter)) / 1000
                heapq.heappush(self.waiting, (at, next(self.order), target, packet))

    def give(self):
        while self.waiting and self.waiting[0][0] <= time.monotonic():
            _, _, target, packet = heapq.heappop(self.waiting)
            with contextlib.suppress(OSError):
                os.write(self.links[target], packet)

    def run(self):
        poll = select.poll()
        for one in (0, *self.links):
            poll.register(one, select.POLLIN)
        while True:
            left = (self.waiting[0][0] - time.monotonic()) * 1000 if self.waiting else None
            for fd, _ in poll.poll(left if left is None else max(0, left)):
                if fd:
                    self.take(self.links.index(fd))
                    continue
                line = sys.stdin.readline()  # One command at a time: its sender waits for the answer.
                if not line:
                    return
                self.obey(line.split())
            self.give()


if __name__ == "__main__":
    Switch([int(word) for word in sys.argv[1:]]).run()
