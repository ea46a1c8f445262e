"""tools/bench grad: each form of index, its gradient against its forward and the guarded gradient.

Entries NAME_f and NAME_b of each definition NAME of models/grad.expr; the gradient has the arithmetic
of the forward; without polyphase and col2im it has conditions (guarded).
"""
import re
import sys

from measure import entries
from report import stored
from rows.row import MODELS, Row

MODEL = MODELS + "grad.expr"
GUARDED = "--skip-pass=polyphase,col2im"
MUST = 1.3  # of stride 2 over the convolution of stride 1 with as much arithmetic


def result(form, peer, ours_us, peer_us, **more):
    row = Row("gradient of " + form, "gradients", "gradient", MODEL, form + "_b", (peer,))
    return stored.result(row, peer=peer, ratio=round(peer_us / ours_us, 3), ours_us=ours_us,
                         peer_us=peer_us, **more)


def work(o, builder):
    made = entries.compiled(builder, MODEL)
    guarded = entries.compiled(builder, MODEL, GUARDED)
    names = [e["name"] for e in made["told"]["entries"]]
    forms = [name[:-2] for name in names if re.search("_b$", name)]
    times = entries.timed(builder, o.threads, o.rounds, [(made, form + end) for form in forms
                                                         for end in ("_f", "_b")])
    slow = entries.timed(builder, o.threads, 1, [(guarded, form + "_b") for form in forms])
    forward, back = ({form: us for form, (us, _) in zip(forms, times[k::2])} for k in (0, 1))
    print(f"{'form':12} {'forward us':>12} {'gradient us':>12} {'gradient/':>9} {'guarded us':>12}")
    results = []
    for form, (guarded_us, _) in zip(forms, slow):
        f, b = forward[form], back[form]
        print(f"{form:12} {f:12.0f} {b:12.0f} {b / f:9.2f} {guarded_us:12.0f}")
        results.append(result(form, "its forward", b, f, guarded_us=guarded_us))
    unit = forward["unit"]
    print("stride 2 against the convolution of stride 1 with as much arithmetic: "
          f"{back['stride'] / unit:.2f} times (must {MUST})")
    return results + [result("stride", "stride 1", back["stride"], unit, must=round(1 / MUST, 2))]


sys.exit(entries.main("grad", __doc__, 15, work))
