"""The tests of a build, as ctest knows them: run one, with or without a mutant."""
import hashlib
import json
import os
import resource
import signal
import subprocess
import tempfile
import time

SKIPPED = 77
SLACK_S = 5  # on top of ten times what the test takes


class Test:
    """name, command, environment and folder of a test; digest: changes when its programs do."""

    def __init__(self, record, settings):
        properties = {p["name"]: p["value"] for p in record.get("properties", [])}
        self.name, self.command = record["name"], record["command"]
        self.labels = properties.get("LABELS", [])
        self.folder = properties.get("WORKING_DIRECTORY") or None
        self.environment = dict(v.split("=", 1) for v in properties.get("ENVIRONMENT", []) + settings)
        self.digest = digest_of(self.command, settings)

    def run(self, limit_s, memory_bytes, mutant=0, log=None):
        """Runs the test; returns whether it passed (None: it was skipped) and the seconds that it took."""
        environment = dict(os.environ, **self.environment, NEO_MUTANT=str(mutant))
        environment.pop("NEO_MUTANT_LOG", None)
        if log:
            environment["NEO_MUTANT_LOG"] = log
        with tempfile.TemporaryDirectory(prefix="mutant") as scratch:
            environment["TMPDIR"] = scratch
            begun = time.monotonic()
            status = limited(self.command, environment, self.folder, limit_s, memory_bytes)
            seconds = time.monotonic() - begun
        return None if status == SKIPPED else status == 0, seconds


def digest_of(command, settings):
    h = hashlib.sha256("\0".join(command + settings).encode())
    for word in command:
        if os.path.isfile(word) and os.path.getsize(word) < 1 << 28:
            with open(word, "rb") as f:
                h.update(f.read())
    return h.hexdigest()[:16]


def limited(command, environment, folder, limit_s, memory_bytes):
    """The exit status; -1 after the time limit. All processes that the command started are ended."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory_bytes:
            resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    child = subprocess.Popen(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True, preexec_fn=limits)
    try:
        return child.wait(limit_s)
    except subprocess.TimeoutExpired:
        return -1
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()


def output_of(command, environment, limit_s):
    """The exit status, -1 after the time limit, and the output of the command."""
    child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                             start_new_session=True)
    try:
        said, _ = child.communicate(timeout=limit_s)
        return child.returncode, said
    except subprocess.TimeoutExpired:
        return -1, ""
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()


def tests_of(build, settings):
    """All tests of a build; settings, NAME=VALUE each, are added to their environment."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                            capture_output=True, text=True, check=True)
    return [Test(t, settings) for t in json.loads(listed.stdout)["tests"] if t.get("command")]
