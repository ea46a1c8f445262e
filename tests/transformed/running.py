"""Runs texts by `neoc run` on given arrays."""
import json
import os
import subprocess
import tempfile

import numpy as np



class Failed(Exception):
    """The text does not run."""


def declared(name, shape, kind="f64"):
    return f"input {name}" + (f"[{', '.join(map(str, shape))}]" if shape else "") + f" : {kind}"


def _numbers(x):
    return [_numbers(y) for y in x] if isinstance(x, list) else float(x)


def _once(neoc, folder, values):
    arguments = []
    for name, value in values.items():
        path = os.path.join(folder, name + ".npy")
        np.save(path, value)
        arguments.append(f"{name}=@{path}")
    command = [neoc, "run", "--format=json", os.path.join(folder, "t.expr"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    return done, done.stdout + done.stderr


def run(neoc, text, values):
    """The outputs by name. Derivatives may need fewer of the values: neoc leaves those out."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "t.expr"), "w", encoding="utf-8") as f:
            f.write(text)
        done, said = _once(neoc, folder, values)
    if done.returncode:
        raise Failed(f"{said}\n{text}")
    outputs = json.loads(done.stdout)["outputs"]
    return {name: np.array(_numbers(t["values"])).reshape(t["shape"])
            for name, t in outputs.items()}
