"""The first lines of what `tools/bench gpu --prepare` makes: unpacks the rest, once, into a folder
of the user's alone (--work FOLDER, else one in the system's temporary folder), and runs the bench."""
import hashlib
import io
import os
import sys
import tarfile
import tempfile
import zipfile

own = zipfile.ZipFile(os.path.abspath(sys.argv[0]))
data = own.read("bench.tar.xz")
arguments = sys.argv[1:]
base = tempfile.gettempdir()
if "--work" in arguments[:-1]:
    at = arguments.index("--work")
    base = arguments[at + 1]
    del arguments[at:at + 2]
name = f"neo-bench-{os.getuid()}-{hashlib.sha256(data).hexdigest()[:12]}"
folder = os.path.join(os.path.abspath(base), name)
whole = os.path.join(folder, "whole")
os.umask(0o077)
os.makedirs(folder, exist_ok=True)
if os.stat(folder).st_uid != os.getuid():
    sys.exit(f"bench: {folder} belongs to somebody else: give --work FOLDER")
if not os.path.exists(whole):
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as archive:
        archive.extractall(folder)
    open(whole, "w").close()
program = os.path.join(folder, "tools", "benchmarks")
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, program, "gpu.run", *arguments])
