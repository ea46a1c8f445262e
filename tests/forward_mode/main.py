import json, subprocess, sys, os
import numpy as np
NEOC=os.environ.get("NEOC","/work/wt/lang/build/release/bin/neoc")
# name: (declarations, {input: shape}, definitions, result, rank of result as indices "i,j", {input: fixed})
OPS={}
def op(name, ins, text, out, shape, head="", fixed=None, pre=None):
    OPS[name]=(ins,text,out,shape,head,fixed or {},pre or (lambda n,a:a))
pos=lambda n,a: np.abs(a)+0.5
op("matmul",dict(a=(3,4),b=(4,5)),"y[i, j] = sum[k] a[i, k]*b[k, j]","y",(3,5))
op("tanh_chain",dict(a=(6,)),"u[i] = tanh(a[i])\ny[i] = u[i]*exp(u[i])","y",(6,))
op("softmax",dict(a=(3,5)),"z[i] = logsumexp[j] a[i, j]\ny[i, j] = exp(a[i, j] - z[i])","y",(3,5))
op("cross",dict(a=(3,5)),"y = mean[i] (logsumexp[j] a[i, j] - a[i, (2*i) % 5])","y",())
op("conv1d",dict(a=(2,8),f=(2,3)),"y[k, p < 8] = sum[c, r] a[c, p + r - 1]*f[c, r]*(f32(k) + 1) ","y",(3,8)) if False else op("conv1d",dict(a=(2,8),f=(3,2,3)),"y[k, p < 8] = sum[c, r] (a[c, p + r - 1] else 0)*f[k, c, r]","y",(3,8))
op("conv_stride",dict(a=(2,9),f=(3,2,3)),"y[k, p < 4] = sum[c, r] a[c, 2*p + r]*f[k, c, r]","y",(3,4))
op("layernorm",dict(a=(3,6),g0=(6,)),"m[i] = mean[j] a[i, j]\nv[i] = mean[j] (a[i, j] - m[i])^2\ny[i, j] = g0[j]*(a[i, j] - m[i])*rsqrt(v[i] + 1e-3)","y",(3,6))
op("max_pool",dict(a=(2,8)),"y[c, p < 4] = max[r < 2] a[c, 2*p + r]","y",(2,4))
op("gather",dict(a=(5,3)),"y[b, j] = a[k[b], j]*a[k[b], 0]","y",(4,3),fixed=dict(k=("i32 < 5",np.array([0,3,3,1]))))
op("scatter",dict(a=(4,3)),"y[v < 5, j] = sum[b where k[b] == v] a[b, j]^2","y",(5,3),fixed=dict(k=("i32 < 5",np.array([0,3,3,1]))))
op("attention",dict(q=(4,3),k=(5,3),w=(5,2)),"s[i, j] = sum[d] q[i, d]*k[j, d]\nz[i] = logsumexp[j] s[i, j]\ny[i, e] = sum[j] exp(s[i, j] - z[i])*w[j, e]","y",(4,2))
op("causal",dict(q=(4,3),k=(4,3),w=(4,2)),"s[i, j] = sum[d] q[i, d]*k[j, d]\nz[i] = logsumexp[j where j <= i] s[i, j]\ny[i, e] = sum[j where j <= i] exp(s[i, j] - z[i])*w[j, e]","y",(4,2))
op("prod",dict(a=(3,4)),"y[i] = prod[j] a[i, j]","y",(3,))
op("where",dict(a=(6,)),"y[i] = select(a[i] > 0, a[i]^3, sin(a[i]))","y",(6,))
op("sqrtlog",dict(a=(6,)),"y[i] = sqrt(a[i])*log(a[i])/a[i]^2","y",(6,),pre=pos)
op("filter",dict(a=(7,),c=()),"y[n < 7] = a[n] + tanh(c)*(y[n - 1] else 0)","y",(7,))
op("cumprod",dict(a=(6,)),"y[n < 6] = a[n]*(y[n - 1] else 1)","y",(6,))
op("cholesky",dict(a=(4,4)),"B[i, j] = sum[k] a[i, k]*a[j, k] + select(i == j, 1, 0)\ny[i < 4, j < 4] = select(j > i, 0, select(i == j, sqrt(B[i, i] - sum[k < j] y[i, k]^2), (B[i, j] - sum[k < j] y[i, k]*y[j, k])/y[j, j]))","y",(4,4))
op("trisolve",dict(L=(4,4),b=(4,)),"y[i < 4] = (b[i] - sum[j < i] L[i, j]*y[j])/(L[i, i]^2 + 1)","y",(4,))
op("scan_rnn",dict(x=(5,3),W=(3,3)),"y, hs = scan t < 5 from h[j < 3] : f64 = 0 {\n  n[j] = tanh(x[t, j] + sum[k] W[k, j]*h[k])\n  next h = n\n  collect n\n}","hs",(5,3))
op("scan_last",dict(x=(5,3),W=(3,3)),"y, hs = scan t < 5 from h[j < 3] : f64 = 0 {\n  n[j] = tanh(x[t, j] + sum[k] W[k, j]*h[k])\n  next h = n\n  collect n\n}","y",(3,))
op("while",dict(a=()),"y, c = while c < 5 limit 9 from s : f64 = a, c = 0 { next s = 0.5*(s + 3/s), c = c + 1 }","y",(),pre=pos)
op("repeat",dict(a=(4,),W=(3,4,4)),"y = repeat l < 3 from y = a { next y[i] = tanh(sum[j] W[l, i, j]*y[j]) }","y",(4,))
op("case",dict(a=(4,)),"y = case kk { 0 { y[i] = a[i]^2 } else { y[i] = sin(a[i]) } }","y",(4,),fixed=dict(kk=("i32 < 3",np.array(0))))
op("fn",dict(a=(4,),b=(4,)),"y[i] = sw(a[i], b[i])","y",(4,),head="fn sw(x, b) -> y { y = x*sigmoid(b*x) }")
op("bilinear",dict(x=(3,4),W=(2,4,5),z=(3,5)),"y[n, o] = sum[i, j] x[n, i]*W[o, i, j]*z[n, j]","y",(3,2))
op("norm",dict(a=(3,4)),"y[i] = sqrt(sum[j] a[i, j]^2)","y",(3,))
op("lse_all",dict(a=(3,4)),"y = logsumexp[i, j] a[i, j]","y",())
op("min2",dict(a=(5,),b=(5,)),"y[i] = min(a[i], b[i])*max(a[i], b[i]^2) + clamp(a[i], -0.5, 0.5)","y",(5,))
op("gelu_silu",dict(a=(5,)),"y[i] = gelu(a[i])*silu(a[i]) + softplus(a[i]) + erf(a[i]) + elu(a[i])","y",(5,))
op("pow",dict(a=(4,),b=(4,)),"y[i] = a[i]^b[i]","y",(4,),pre=pos)
op("capsule",dict(A=(2,5,5,2,2),F=(3,2,2,2,2)),"y[m, p < 2, q < 2, i, j] = sum[c, r < 2, s < 2, k] A[c, 2*p + r, 2*q + s, i, k]*F[m, c, r, k, j]","y",(3,2,2,2,2))
op("nn_attention",dict(q=(1,4,8),k=(1,4,8),v=(1,4,8)),"","y",()) ; OPS.pop("nn_attention")
op("nn_linear",dict(x=(3,4)),"y = nn.linear(x, out = 2)","y",(3,2),head="import nn")
op("nn_lstm",dict(x=(2,3,4)),"y = nn.lstm(x, hidden = 3)","y",(2,3,3),head="import nn"); OPS.pop("nn_lstm")
op("linalg_solve",dict(A=(4,4),b=(4,2)),"B[i, j] = A[i, j] + select(i == j, 5, 0)\ny = linalg.solve(B, b)","y",(4,2),head="import linalg")
op("inner_grad",dict(a=(4,),w=(4,)),"l = sum[i] tanh(a[i]*w[i])^2\nd = grad(l, a)\ny[i] = d[i]*w[i]","y",(4,))
op("ctc",dict(x=(5,1,4)),"","y",()) ; OPS.pop("ctc")
op("sdtw",dict(a=(4,),b=(5,)),"D[i < 4, j < 5] = (a[i] - b[j])^2 + select(i == 0 and j == 0, 0, -logsumexp[k < 3] select(k == 0, -(D[i - 1, j - 1] else 1e3), select(k == 1, -(D[i - 1, j] else 1e3), -(D[i, j - 1] else 1e3))))\ny = D[3, 4]","y",())
op("custom",dict(a=(4,)),"y = cube(a)","y",(4,),head="fn cube(x[..]) -> y { y[..] = x[..]^3 } grad(dy) -> dx { dx[..] = 3*x[..]^2*dy[..] }")
IX="ijklmn"
def idx(n): return "["+", ".join("q%d"%k for k in range(n))+"]" if n else ""
def red(n): return "sum["+", ".join("q%d"%k for k in range(n))+"] " if n else ""
def decl(n,s,t="f64"): return f"input {n}"+("["+", ".join(map(str,s))+"]" if s else "")+f" : {t}"
def text(name, mode):
    ins,body,out,shape,head,fixed,_=OPS[name]
    L=[head] if head else []
    for n,s in ins.items(): L.append(decl(n,s))
    for n,(t,v) in fixed.items(): L.append(decl(n,v.shape,t))
    L.append(body)
    if mode=="y": L.append(f"output {out}"); return "\n".join(L)+"\n"
    for n,s in ins.items(): L.append(decl("t_"+n,s))
    ds=", ".join("d_"+n for n in ins); ns=", ".join(ins)
    r=len(shape)
    if mode=="jvp":
        L.append(decl("g",shape)); seed=", seed = g"
        L.append(f"{ds} = grad({out}, {ns}{seed})")
    else:
        L.append(decl("w_",shape))
        L.append(f"loss_ = {red(r)}{out}{idx(r)}*w_{idx(r)}")
        L.append(f"{ds} = grad(loss_, {ns})")
    L.append("s_ = "+" + ".join(f"({red(len(s))}d_{n}{idx(len(s))}*t_{n}{idx(len(s))})" for n,s in ins.items()))
    if mode=="jvp":
        L.append(f"jy = grad(s_, g)\noutput jy")
    elif mode=="grad":
        L.append(f"output {ds}")
    else:
        hs=", ".join("h_"+n for n in ins)
        L.append(f"{hs} = grad(s_, {ns})\noutput {hs}")
    return "\n".join(L)+"\n"
def run(t, vals, extra=()):
    open("/tmp/lang/j.expr","w").write(t)
    args=[]
    for n,v in vals.items():
        np.save(f"/tmp/lang/v_{n}.npy",v); args.append(f"{n}=@/tmp/lang/v_{n}.npy")
    r=subprocess.run([NEOC,"run","--format=json","/tmp/lang/j.expr",*args,*extra],capture_output=True,text=True)
    if r.returncode: return None,(r.stderr or r.stdout)[:400]
    o=json.loads(r.stdout)["outputs"]
    f=lambda x:[f(y) for y in x] if isinstance(x,list) else float(x)
    return {k:np.array(f(v["values"])).reshape(v["shape"]) for k,v in o.items()},None
def main():
    bad=0
    names=sys.argv[1:] or list(OPS)
    for name in names:
        ins,body,out,shape,head,fixed,pre=OPS[name]
        rng=np.random.default_rng(3)
        A={n:pre(n,rng.normal(size=s)) for n,s in ins.items()}
        T={n:rng.normal(size=s) for n,s in ins.items()}
        w=rng.normal(size=shape)
        F={n:v.astype(np.int32) if "i32" in t else v for n,(t,v) in fixed.items()}
        h=1e-5; msg=[]
        def y(d): return run(text(name,"y"),{**{n:A[n]+d*T[n] for n in ins},**F})
        (p,e1),(m,_)=y(h),y(-h)
        if e1: print(name,"FORWARD",e1); bad+=1; continue
        fd=(p[out]-m[out])/(2*h)
        j,e=run(text(name,"jvp"),{**A,**{"t_"+n:T[n] for n in ins},**F})
        if e and "does not read" in e:
            # some of the arguments are not read by the derivative (linear ops)
            vals={**A,**{"t_"+n:T[n] for n in ins},**F}
            while e and "does not read " in e:
                k=e.split("does not read ")[1].split()[0]; vals.pop(k); j,e=run(text(name,"jvp"),vals)
        if e: msg.append("JVP "+e)
        else:
            err=np.abs(j["jy"]-fd).max()/(1+np.abs(fd).max()); 
            if not err<1e-7: msg.append(f"jvp off {err:.2e}")
        def gr(d,mode="grad"):
            vals={**{n:A[n]+d*T[n] for n in ins},**F,"w_":w}
            if mode!="grad": vals.update({"t_"+n:T[n] for n in ins})
            r,e=run(text(name,mode),vals)
            while e and "does not read " in e:
                k=e.split("does not read ")[1].split()[0]
                if k not in vals: break
                vals.pop(k); r,e=run(text(name,mode),vals)
            return r,e
        (p,e1),(m,_)=gr(h),gr(-h)
        if e1: msg.append("GRAD "+e1)
        hv,e=gr(0,"hvp")
        if e: msg.append("HVP "+e)
        elif not e1:
            for n in ins:
                fdh=(p["d_"+n]-m["d_"+n])/(2*h)
                err=np.abs(hv["h_"+n]-fdh).max()/(1+np.abs(fdh).max())
                if not err<1e-6: msg.append(f"hvp {n} off {err:.2e}")
        if msg: bad+=1
        print(f"{name:14}", "ok" if not msg else "\n  ".join(msg), flush=True)
    print(len(names)-bad,"of",len(names))
main()
