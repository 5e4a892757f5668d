"""Makes fp8/: small tensors, and the codes, scales, histories, loss scales and products that number formats give of them.
make_fp8.py, run by a Python with torch and safetensors. `fp8-check DIR` holds ours against them; docs/fp8.md has the rules.

Casts to e4m3, e5m2 and bf16 are PyTorch's (what is too large is cut down first); e2m1 and e8m0 search all values. Scales
are f32 arithmetic of PyTorch; products are f64 of the dequantized values.
"""
import math
import pathlib

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent / "fp8"
F32, F64, BF16 = torch.float32, torch.float64, torch.bfloat16
F32_MAX, BF16_MAX = torch.finfo(F32).max, torch.finfo(BF16).max
FP8 = {"e4m3": (torch.float8_e4m3fn, 448.0), "e5m2": (torch.float8_e5m2, 57344.0)}
E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
random = torch.Generator().manual_seed(20261126)


def normal(*shape):
    return torch.randn(*shape, generator=random)


def uniform(low, high, *shape):
    return low + (high - low) * torch.rand(*shape, generator=random, dtype=F64)


def f32(x):
    return torch.tensor(x, dtype=F32)


def encode(name, x):
    kind, top = FP8[name]
    codes = x.float().clamp(-top, top).to(kind).view(torch.uint8)
    return torch.where(x.isnan(), torch.tensor(0x7f, dtype=torch.uint8), codes)


def decode(name, codes):
    return codes.contiguous().view(FP8[name][0]).to(F64)


def encode_e2m1(x):
    def one(v):
        if math.isnan(v):
            return 7
        best = min(range(8), key=lambda c: (abs(min(abs(v), 6.0) - E2M1[c]), c % 2))
        return best + (8 if math.copysign(1, v) < 0 else 0)
    return torch.tensor([one(v) for v in x.double().flatten().tolist()], dtype=torch.uint8).reshape(x.shape)


def decode_e2m1(codes):
    return torch.tensor(E2M1 + [-v for v in E2M1], dtype=F64)[codes.long()]


def encode_e8m0(x):
    def one(v):
        if math.isnan(v):
            return 255
        return next(c for c in range(255) if c == 254 or 2.0 ** (c - 127) >= abs(v))
    return torch.tensor([one(v) for v in x.double().flatten().tolist()], dtype=torch.uint8).reshape(x.shape)


def decode_e8m0(codes):
    return torch.tensor([2.0 ** (c - 127) if c < 255 else math.nan for c in range(256)], dtype=F64)[codes.long()]


def amax(x, *dims):
    x = x.float().abs()
    return x.masked_fill(x.isnan(), 0).amax(dim=dims or None)


def power_below(scale):
    return torch.tensor([2.0 ** (math.frexp(v)[1] - 1) for v in scale.double().flatten().tolist()]).reshape(scale.shape)


def current(a, top, pow2=False, eps=0.0, at_overflow=F32_MAX):
    a = torch.where(a < eps, f32(eps), a)
    scale = (f32(top) / a).nan_to_num(posinf=at_overflow)
    good = a.isfinite() & (a > 0)
    scale = torch.where(good, scale, f32(1.0))
    return power_below(scale) if pow2 else scale


def delayed(a, old, top, margin):
    scale = torch.where(a.isfinite() & (a > 0), f32(top / 2 ** margin) / a, old)
    return torch.where(scale.isinf(), f32(F32_MAX), scale)


def casts():
    turns = [(a + b) / 2 for name in FP8 for a, b in zip(*(lambda v: (v[3:-1:20], v[4::20]))(sorted(
        v for v in decode(name, torch.arange(128, dtype=torch.uint8)).tolist() if math.isfinite(v))))]
    turns += [(a + b) / 2 for a, b in zip(E2M1, E2M1[1:])] + E2M1
    turns = f32(turns)
    inf = f32(math.inf)
    x = torch.cat([f32([0.0, math.inf, math.nan, F32_MAX, 1e-45, 1.1754944e-38, 448, 464, 465, 57344, 61440, 61441, 2.0 ** -127, 3e38]),
                   turns, torch.nextafter(turns, inf), torch.nextafter(turns, -inf)])
    x = torch.cat([x, -x, torch.randint(-2 ** 31, 2 ** 31, (60,), generator=random, dtype=torch.int32).view(F32),
                   normal(60) * torch.exp2(uniform(-20, 17, 60)).float()])
    words = torch.randperm(65536, generator=random)[:384].to(torch.int32).to(torch.int16)
    out = {"f32/in": x, "bf16/in": words[:192].view(BF16), "f16/in": words[192:].view(torch.float16)}
    for source in ("f32", "bf16", "f16"):
        for name in FP8:
            out[f"{source}/{name}"] = encode(name, out[source + "/in"].float())
    out |= {"f32/e2m1": encode_e2m1(x), "f32/e8m0_up": encode_e8m0(x), "f32/bf16": x.to(BF16)}
    codes = torch.arange(256, dtype=torch.uint8)
    out |= {"value/" + name: decode(name, codes).float() for name in FP8}
    return out | {"value/e2m1": decode_e2m1(codes[:16]).float(), "value/e8m0": decode_e8m0(codes).float()}


def scales():
    a = torch.cat([f32([0, 1e-45, 1e-40, 1.3e-36, 1.7e-34, 1e-12, 1e-4, 7, 13.37, 448, 449, 57344, 1e30, F32_MAX, math.inf, math.nan]),
                   torch.exp2(uniform(-40, 40, 12)).float()])
    out = {"amax": a}
    for name, (_, top) in FP8.items():
        for tag, rule in {"": {}, "_pow2": dict(pow2=True), "_eps": dict(eps=1e-4), "_bf16": dict(at_overflow=BF16_MAX),
                          "_pow2_bf16": dict(pow2=True, at_overflow=BF16_MAX)}.items():
            scale = current(a, top, **rule)
            out |= {f"current/{name}{tag}": scale, f"current/{name}{tag}_inv": 1 / scale}
        for margin, old in ((0, 1.0), (3, 0.625)):
            out[f"delayed/{name}_margin{margin}_old{old:g}"] = delayed(a, torch.full_like(a, old), top, margin)
        out["mx/e8m0_" + name] = encode_e8m0(a * (f32(1.0) / f32(top)))
    factor = nv_factor(a)
    return out | {"nv/global_encode": factor, "nv/global_decode": 1 / factor}


def delays():
    updates, ranks, tensors = 5, 2, 4
    a = torch.exp2(normal(updates, ranks, tensors) * 2)
    a[[0, 3], :, 1], a[2, 1, 2], a[:, :, 3] = 0, math.inf, 1e-40
    a[4:, 0, 3], a[4:, 1, 3] = 5.0, 6.0
    out = {"amax": a}
    for name, (_, top) in FP8.items():
        for algorithm in ("max", "most_recent"):
            for slots, margin in ((1, 0), (3, 2)):
                past = [[] for _ in range(tensors)]  # of each tensor, the newest last
                scale, rows = torch.ones(tensors), {"scale_before": [], "scale_after": [], "history_after": []}
                for u in range(updates):
                    rows["scale_before"].append(scale.clone())
                    for t, latest in enumerate(a[u].amax(dim=0)):
                        if latest == 0:
                            continue
                        window = (past[t] + [latest])[-slots:] if algorithm == "max" else [latest]
                        past[t] = (past[t] + [latest])[-(slots - 1):] if slots > 1 else []
                        scale[t] = delayed(max(window), scale[t], top, margin)
                    rows["scale_after"].append(scale.clone())
                    history = torch.zeros(slots, tensors)
                    for t, values in enumerate(past):
                        for back, value in enumerate(reversed(values)):
                            history[slots - 1 - back, t] = value
                    rows["history_after"].append(history)
                key = f"{name}_{algorithm}_h{slots}" + (f"_margin{margin}" if margin else "")
                out |= {f"{key}/{what}": torch.stack(values) for what, values in rows.items()}
    x = (normal(10, 12) * torch.exp2(torch.arange(10.0))[:, None]).to(BF16)
    x[6, :3] *= 64
    scale, past, used, codes, cut = f32(1.0), [], [], [], []
    for row in x.float():
        used.append(scale), codes.append(encode("e4m3", row * scale)), cut.append(int(((row * scale).abs() > 448).sum()))
        past = (past + [amax(row)])[-4:]
        scale = delayed(max(past), scale, 448.0, 0)
    return out | {"run/x": x, "run/scale": torch.stack(used), "run/e4m3": torch.stack(codes),
                  "run/saturated": torch.tensor(cut, dtype=torch.int32)}


def layer(tokens, inner, out):
    """x [tokens, in], w [out, in], dy [tokens, out], columns of different size and a few values that stand out."""
    x = normal(tokens, inner) * torch.exp2(uniform(-3, 3, 1, inner)).float()
    x = torch.where(torch.rand(tokens, inner, generator=random) < 0.01, x * 30, x)
    w = normal(out, inner) * 0.02
    dy = normal(tokens, out) * torch.exp2(uniform(-4, 4, 1, out)).float() * 2.0 ** -18
    return x.to(BF16), w.to(BF16), dy.to(BF16)


def products(x, x_t, w, w_t, dy, dy_t, tag=""):
    """Of dequantized operands; NAME_t: the transpose, as it was quantized."""
    return {"y" + tag: x @ w.T, "dx" + tag: dy @ w_t.T, "dw" + tag: dy_t @ x_t.T}


def tensorwise():
    x, w, dy = layer(8, 6, 4)
    out = {"x": x, "w": w, "dy": dy}
    for tag in ("", "_pow2"):
        values = {}
        for key, name in (("x", "e4m3"), ("w", "e4m3"), ("dy", "e5m2")):
            a = amax(out[key])
            scale = current(a, FP8[name][1], pow2=tag != "")
            codes = encode(name, out[key].float() * scale)
            out |= {f"{key}{tag}/amax": a[None], f"{key}{tag}/scale": scale[None], f"{key}{tag}/scale_inv": (1 / scale)[None],
                    f"{key}{tag}/codes": codes, f"{key}{tag}/codes_t": codes.T}
            values[key] = decode(name, codes) * (1 / scale).double()
            values[key + "_t"] = values[key].T
        out |= products(**values, tag=tag)
    return out


def in_blocks(x, high, wide, pow2):
    """e4m3 codes, inverse scales of each block, dequantized values."""
    blocks = [[x[r:r + high, c:c + wide].float() for c in range(0, x.shape[1], wide)] for r in range(0, x.shape[0], high)]
    scale = [[current(amax(b), 448.0, pow2, at_overflow=BF16_MAX) for b in row] for row in blocks]
    codes = [[encode("e4m3", b * s) for b, s in zip(*rows)] for rows in zip(blocks, scale)]
    values = [[decode("e4m3", c) * (1 / s).double() for c, s in zip(*rows)] for rows in zip(codes, scale)]
    whole = lambda parts: torch.cat([torch.cat(row, 1) for row in parts])
    return whole(codes), 1 / torch.stack([torch.stack(row) for row in scale]), whole(values)


def fill(x, rows, cols):
    return torch.nn.functional.pad(x, (0, -x.shape[1] % cols, 0, -x.shape[0] % rows))


def blockwise():
    x, w, dy = layer(3, 130, 1)
    x[0, :128], x[1, :128], x[2, 3] = 0, 0, 3e38
    x[1, 5] = torch.tensor(1, dtype=torch.int16).view(BF16)
    out = {"x": x, "w": w, "dy": dy}
    for tag in ("", "_f32"):
        pow2, values = tag == "", {}
        for key, m, t in (("x", x, ""), ("x", x.T, "_t"), ("dy", dy, ""), ("dy", dy.T, "_t")):
            codes, inverse, values[key + t] = in_blocks(m, 1, 128, pow2)
            out |= {f"{key}{tag}/codes{t}": codes, f"{key}{tag}/scale_inv{t}": inverse}
            if pow2:
                out[f"{key}/scale_inv{t}_gemm"] = fill(inverse.T, 1, 4)
        codes, inverse, values["w"] = in_blocks(w, 128, 128, pow2)
        values["w_t"] = values["w"].T
        out |= {f"w{tag}/codes": codes, f"w{tag}/scale_inv": inverse}
        if pow2:
            out |= {"w/scale_inv_gemm": fill(inverse, 1, 4), "w/scale_inv_t_gemm": fill(inverse.T, 1, 4)} | products(**values)
        else:
            out["y_f32"] = values["x"] @ values["w"].T
    return out


def tiles(scales):
    """Bytes by their places in tiles of 128 rows x 4 blocks."""
    rows, blocks = scales.shape
    high, wide = -(-rows // 128), -(-blocks // 4)
    out = [0] * (high * wide * 512)
    for r in range(rows):
        for b in range(blocks):
            out[(r // 128 * wide + b // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + b % 4] = int(scales[r, b])
    return torch.tensor(out, dtype=torch.uint8)


def mxfp8():
    x, w, dy = layer(32, 32, 32)
    x[1, :32], x[2, :32], x[3, 3] = 0, 0, 3e38
    x[2, 5] = torch.tensor(1, dtype=torch.int16).view(BF16)
    out, values = {"x": x, "w": w, "dy": dy}, {}

    def quantize(m, name):
        b = m.float().reshape(m.shape[0], -1, 32)
        e8m0 = encode_e8m0(amax(b, 2) * (f32(1.0) / f32(FP8[name][1])))
        codes = encode(name, b * (1 / decode_e8m0(e8m0)).float()[:, :, None])
        return codes.reshape(m.shape), e8m0, (decode(name, codes) * decode_e8m0(e8m0)[:, :, None]).reshape(m.shape)

    for key, m in (("x", x), ("w", w), ("dy", dy)):
        for t, part in (("", m), ("_t", m.T)):
            codes, e8m0, values[key + t] = quantize(part, "e4m3")
            out |= {f"{key}/codes{t}": codes, f"{key}/e8m0{t}": e8m0, f"{key}/e8m0{t}_tiles": tiles(e8m0)}
    out["dy_e5m2/codes"], out["dy_e5m2/e8m0"], _ = quantize(dy, "e5m2")
    return out | products(**values)


def nv_factor(a):
    factor = torch.where(f32(2688.0) / a > F32_MAX, f32(F32_MAX), f32(2688.0) / a)
    return torch.where((a == 0) | a.isinf(), f32(1.0), factor)


def quantize_nv(m, square):
    a = amax(m)
    factor, b = nv_factor(a), m.float().reshape(m.shape[0], -1, 16)
    of_block = amax(b, 2)
    if square:
        of_block = of_block.reshape(-1, 16, of_block.shape[1]).amax(1).repeat_interleave(16, 0)
    scales = encode("e4m3", of_block * (factor * (f32(1.0) / f32(6.0))))
    by = (1 / (decode("e4m3", scales).float() * (1 / factor))).clamp(max=F32_MAX)
    codes = encode_e2m1(b * by[:, :, None])
    values = (decode_e2m1(codes) * decode("e4m3", scales)[:, :, None] * (1 / factor).double()).reshape(m.shape)
    codes = codes.reshape(m.shape)
    return codes[:, ::2] | codes[:, 1::2] << 4, scales, a[None], values


def hadamard():
    signs = [1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1]
    return torch.tensor([[signs[r] * (-1) ** bin(r & c).count("1") / 4 for c in range(16)] for r in range(16)], dtype=F64)


def nvfp4():
    x, w, dy = layer(16, 16, 16)
    x[1, :16] = 0
    out, values = {"x": x, "w": w, "dy": dy, "hadamard": hadamard()}, {}
    for key, m in (("x", x), ("dy", dy)):
        out[key + "/codes"], out[key + "/scales"], out[key + "/amax"], values[key] = quantize_nv(m, False)
        out[key + "/scales_tiles"] = tiles(out[key + "/scales"])
        rotated = (m.T.double().reshape(m.shape[1], -1, 16) @ hadamard()).reshape(m.T.shape).float().to(BF16)
        out[key + "/rotated_t"] = rotated
        out[key + "/codes_t"], out[key + "/scales_t"], out[key + "/amax_t"], values[key + "_t"] = quantize_nv(rotated, False)
    out["w/codes"], out["w/scales"], out["w/amax"], values["w"] = quantize_nv(w, True)
    out |= products(**values, w_t=values["w"].T)
    y = torch.cat([uniform(-7, 7, 16).float(), f32(E2M1 + [-v for v in E2M1])])
    grid, low, high, p = sorted({s * v for v in E2M1 for s in (1, -1)}), [], [], []
    for v in (min(max(v, -6.0), 6.0) for v in y.double().tolist()):
        low.append(max(g for g in grid if g <= v)), high.append(min(g for g in grid if g >= v))
        p.append((v - low[-1]) / (high[-1] - low[-1]) if high[-1] > low[-1] else 0.0)
    return out | {"stochastic/x": y, "stochastic/low": f32(low), "stochastic/high": f32(high),
                  "stochastic/p_high": torch.tensor(p, dtype=F64)}


def loss_scale():
    out = {}
    settings = [(65536.0, 1.0, 3, 2, 0.3), (8.0, 2.0, 2, 1, 0.5), (2.0 ** 32, 1.0, 4, 3, 0.2)]
    for run, (initial, least, window, hysteresis, share) in enumerate(settings):
        overflows = (torch.rand(24, generator=random) < share).to(torch.uint8)
        scale, clean, left, rows = initial, 0, hysteresis, []
        for overflow in overflows.tolist():
            used = scale
            clean, left = (0, left - 1) if overflow else (clean + 1, left)
            if overflow and left <= 0:
                scale = max(scale / 2, least)
            if clean == window:
                scale, clean, left = scale * 2, 0, hysteresis
            rows.append((used, 1 / used, scale, clean, left))
        used, inverse, after, clean, left = zip(*rows)
        out |= {f"run{run}/settings": torch.tensor([initial, least, window, hysteresis], dtype=F64), f"run{run}/found_inf": overflows,
                f"run{run}/scale_used": f32(used), f"run{run}/inv_used": f32(inverse), f"run{run}/scale_after": f32(after),
                f"run{run}/clean_after": torch.tensor(clean, dtype=torch.int32),
                f"run{run}/hysteresis_after": torch.tensor(left, dtype=torch.int32)}
    return out


def main():
    HERE.mkdir(exist_ok=True)
    for name, make in dict(casts=casts, scales=scales, delayed=delays, tensorwise=tensorwise, blockwise=blockwise, mxfp8=mxfp8,
                           nvfp4=nvfp4, loss_scale=loss_scale).items():
        path = HERE / f"{name}.safetensors"
        save_file({key: tensor.contiguous() for key, tensor in make().items()}, path)
        print(f"{path.name:24} {path.stat().st_size:7,} bytes")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
