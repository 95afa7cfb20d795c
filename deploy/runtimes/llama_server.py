"""Upstream `llama-server`'s command line on top of the prebuilt xllamacpp package.

It promises the flags below, the key from LLAMA_API_KEY, the true reason on standard error with exit code 1 when it
cannot start, and exit code 0 within 1.5 s of SIGTERM or SIGINT. It never fetches anything and never prints the key.
A flag that is not known here is refused, as upstream does, and never ignored.
"""

import argparse
import errno
import os
import signal
import socket
import sys
import threading

STOP_SECONDS = 1.2


def fail(reason):
    """Ends with the reason as the last line of standard error."""
    print(f"llama-server: {reason}", file=sys.stderr, flush=True)
    os._exit(1)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def port_number(text):
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is not a port (0 to 65535)")
    return number


def parse(argv):
    parser = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False, description=__doc__.split("\n")[0])
    parser.add_argument("-m", "--model", required=True, help="the GGUF file")
    parser.add_argument("-a", "--alias", help="the model's name in /v1/models")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=port_number, default=8080)
    parser.add_argument("-c", "--ctx-size", type=positive, default=4096, help="tokens, shared by all slots")
    parser.add_argument("-np", "--parallel", type=positive, default=1, help="slots")
    parser.add_argument("-t", "--threads", type=positive, help="threads of one generation")
    parser.add_argument("-n", "--predict", "--n-predict", type=int, default=-1, help="most tokens of one answer")
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--slots", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--embedding", "--embeddings", action="store_true")
    parser.add_argument("--no-webui", action="store_true", help="always so here")
    parser.add_argument("--offline", action="store_true", help="always so here")
    return parser.parse_args(argv)


def check_model(path):
    """The engine says the same for a missing file, a folder and a port in use; say which it is."""
    try:
        with open(path, "rb") as file:
            magic = file.read(4)
    except OSError as why:
        fail(f"cannot read the model {path}: {why.strerror}")
    if magic != b"GGUF":
        fail(f"{path} is not a GGUF file (it starts with {magic!r})")


def check_port(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as why:
            if why.errno == errno.EADDRINUSE:
                fail(f"port {port} on {host} is taken by another program")
            fail(f"cannot listen on {host}:{port}: {why.strerror}")


def parameters(options):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.model
    if options.alias:
        params.model_alias = {options.alias}  # A set: a plain string becomes one alias per letter.
    params.hostnames = [options.host]
    params.port = options.port
    params.n_ctx = options.ctx_size
    params.n_parallel = options.parallel
    params.n_predict = options.predict
    if options.threads:
        params.cpuparams.n_threads = options.threads
        params.cpuparams_batch.n_threads = options.threads
    params.endpoint_metrics = options.metrics
    params.endpoint_slots = options.slots
    params.embedding = options.embedding
    params.ui = False
    params.offline = True
    key = os.environ.pop("LLAMA_API_KEY", "")
    if key:
        params.api_keys = [key]
    return params


def wait_for_stop(stopped):
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    stopped.set()
    # A model that loads, or streams that linger, must not hold up the end.
    threading.Timer(STOP_SECONDS, os._exit, [0]).start()


def main(argv):
    options = parse(argv)
    # Blocked before any thread exists, so that the engine's threads inherit it and only `wait_for_stop` sees the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    stopped = threading.Event()
    threading.Thread(target=wait_for_stop, args=[stopped], daemon=True).start()
    check_model(options.model)
    check_port(options.host, options.port)
    try:
        import xllamacpp

        server = xllamacpp.Server(parameters(options))
    except ImportError as why:
        fail(f"the package xllamacpp cannot be loaded: {why}; install it with deploy/runtimes/install-llama")
    except Exception as why:  # The engine raises its own types; whichever it is, the reason is its text.
        if stopped.is_set():
            os._exit(0)
        check_port(options.host, options.port)
        fail(f"the engine could not load {options.model}: {why}")
    print(f"llama-server: listening on {server.listening_address}", flush=True)
    stopped.wait()
    del server
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
