"""One step of propagation on a GPU: seven Triton kernels in place of a hundred small ones.

States are (N, B·D) rows in bfloat16: entity by entity, the D numbers of each of B questions side by side, so that an
edge reads one contiguous row. Sums are kept in float32. Edges are cut into chunks, so that a hub is many programs'
work; a node of one chunk is finished where it is summed, one of several by `_finish_hubs`.

    forward   _superpose, _finish_hubs   mean and std of the bindings that reach each entity
              _mix            the next states from them and the present ones
    backward  _mix_backward   gradients of mean and std (as G1, G2), of the present states and of what is normalized
              _mixing_backward   from the latter those of the matrices
              _states_backward, _roles_backward   from G1 and G2 along the edges
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, import-not-found"
# Triton compiles the kernels from their source, in which annotations have a meaning of their own.

from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

EPSILON = 1e-6  # the least variance
BLOCK = 1024  # numbers of a row that one program works on
ROWS = 64  # rows of one pass of `_mix`
LOW = torch.bfloat16  # what states are kept in
PARTS = 7  # matrices of `_mix`: mean and std, each plain, times and over the degree scale; and the entity's own state


@triton.jit
def _superpose(
    H, R, source, role, start, stop, node, slot, asked, Q, degree, MEAN, STD, HUB1, HUB2, K,
    D: tl.constexpr, EPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    c = tl.program_id(0)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = k < K
    total = tl.zeros([BLOCK], tl.float32)
    squares = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.load(start + c), tl.load(stop + c)):
        s = tl.load(source + i).to(tl.int64)
        r = tl.load(role + i).to(tl.int64)
        h = tl.load(H + s * K + k, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(R + r * K + k, mask=inside, other=0.0).to(tl.float32)
        p = h * w
        total += p
        squares += p * p
    v = tl.load(node + c).to(tl.int64)
    hub = tl.load(slot + c).to(tl.int64)
    if hub < 0:
        at_start = tl.load(asked + k // D, mask=inside, other=-1) == v
        q = tl.load(Q + k, mask=inside & at_start, other=0.0).to(tl.float32)
        count = tl.load(degree + v) + 1
        mean = (total + q) / count
        variance = (squares + q * q) / count - mean * mean
        std = tl.sqrt(tl.maximum(variance, EPS))
        tl.store(MEAN + v * K + k, mean.to(MEAN.dtype.element_ty), mask=inside)
        tl.store(STD + v * K + k, std.to(STD.dtype.element_ty), mask=inside)
    else:
        tl.atomic_add(HUB1 + hub * K + k, total, mask=inside)
        tl.atomic_add(HUB2 + hub * K + k, squares, mask=inside)


@triton.jit
def _finish_hubs(
    HUB1, HUB2, hubs, asked, Q, degree, MEAN, STD, K, D: tl.constexpr, EPS: tl.constexpr, BLOCK: tl.constexpr
):
    hub = tl.program_id(0).to(tl.int64)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = k < K
    v = tl.load(hubs + hub).to(tl.int64)
    at_start = tl.load(asked + k // D, mask=inside, other=-1) == v
    q = tl.load(Q + k, mask=inside & at_start, other=0.0).to(tl.float32)
    count = tl.load(degree + v) + 1
    mean = (tl.load(HUB1 + hub * K + k, mask=inside, other=0.0) + q) / count
    variance = (tl.load(HUB2 + hub * K + k, mask=inside, other=0.0) + q * q) / count - mean * mean
    std = tl.sqrt(tl.maximum(variance, EPS))
    tl.store(MEAN + v * K + k, mean.to(MEAN.dtype.element_ty), mask=inside)
    tl.store(STD + v * K + k, std.to(STD.dtype.element_ty), mask=inside)


@triton.jit
def _mix(
    MEAN, STD, H, scale, W, bias, gain, shift, OUT, rows, B, D: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    there = row < rows
    cell = row[:, None] * D + d[None, :]
    mean = tl.load(MEAN + cell, mask=there[:, None], other=0.0)
    std = tl.load(STD + cell, mask=there[:, None], other=0.0)
    h = tl.load(H + cell, mask=there[:, None], other=0.0)
    up = tl.load(scale + row // B, mask=there, other=1.0)[:, None]
    down = 1 / (up + 0.01)
    w = d[:, None] * D + d[None, :]
    y = tl.dot(mean, tl.load(W + w)) + tl.dot(std, tl.load(W + D * D + w))
    y += up * (tl.dot(mean, tl.load(W + 2 * D * D + w)) + tl.dot(std, tl.load(W + 3 * D * D + w)))
    y += down * (tl.dot(mean, tl.load(W + 4 * D * D + w)) + tl.dot(std, tl.load(W + 5 * D * D + w)))
    y += tl.dot(h, tl.load(W + 6 * D * D + w)) + tl.load(bias + d)[None, :]
    y -= tl.sum(y, 1)[:, None] / D
    y *= tl.rsqrt(tl.sum(y * y, 1) / D + 1e-5)[:, None]
    z = tl.maximum(y * tl.load(gain + d)[None, :] + tl.load(shift + d)[None, :], 0.0)
    is_reached = tl.max(tl.abs(mean).to(tl.float32) + tl.abs(h).to(tl.float32), 1) > 0
    z = tl.where(is_reached[:, None], z, 0.0)
    tl.store(OUT + cell, (z + h.to(tl.float32)).to(OUT.dtype.element_ty), mask=there[:, None])


@triton.jit
def _mix_backward(
    MEAN, STD, H, GOUT, scale, degree, W, bias, gain, shift, G1, G2, GH, GY, GB, GG, GS, rows, B, blocks,
    D: tl.constexpr, EPS: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    d = tl.arange(0, D)
    w = d[:, None] * D + d[None, :]
    dtype: tl.constexpr = MEAN.dtype.element_ty
    gb = tl.zeros([D], tl.float32)
    gg = tl.zeros([D], tl.float32)
    gs = tl.zeros([D], tl.float32)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        row = block * ROWS + tl.arange(0, ROWS).to(tl.int64)
        there = row < rows
        cell = row[:, None] * D + d[None, :]
        mean = tl.load(MEAN + cell, mask=there[:, None], other=0.0)
        std = tl.load(STD + cell, mask=there[:, None], other=1.0)
        h = tl.load(H + cell, mask=there[:, None], other=0.0)
        gout = tl.load(GOUT + cell, mask=there[:, None], other=0.0).to(tl.float32)
        up = tl.load(scale + row // B, mask=there, other=1.0)[:, None]
        down = 1 / (up + 0.01)
        y = tl.dot(mean, tl.load(W + w)) + tl.dot(std, tl.load(W + D * D + w))
        y += up * (tl.dot(mean, tl.load(W + 2 * D * D + w)) + tl.dot(std, tl.load(W + 3 * D * D + w)))
        y += down * (tl.dot(mean, tl.load(W + 4 * D * D + w)) + tl.dot(std, tl.load(W + 5 * D * D + w)))
        y += tl.dot(h, tl.load(W + 6 * D * D + w)) + tl.load(bias + d)[None, :]
        y -= tl.sum(y, 1)[:, None] / D
        rstd = tl.rsqrt(tl.sum(y * y, 1) / D + 1e-5)[:, None]
        y *= rstd
        gained = tl.load(gain + d)[None, :]
        is_reached = tl.max(tl.abs(mean).to(tl.float32) + tl.abs(h).to(tl.float32), 1) > 0
        dz = tl.where((y * gained + tl.load(shift + d)[None, :] > 0) & is_reached[:, None], gout, 0.0)
        gg += tl.sum(dz * y, 0)
        gs += tl.sum(dz, 0)
        dz *= gained
        dy = rstd * (dz - tl.sum(dz, 1)[:, None] / D - y * (tl.sum(dz * y, 1)[:, None] / D))
        gb += tl.sum(dy, 0)
        plain = dy.to(dtype)
        scaled = (up * dy).to(dtype)
        divided = (down * dy).to(dtype)
        dmean = tl.dot(plain, tl.trans(tl.load(W + w))) + tl.dot(scaled, tl.trans(tl.load(W + 2 * D * D + w)))
        dmean += tl.dot(divided, tl.trans(tl.load(W + 4 * D * D + w)))
        dstd = tl.dot(plain, tl.trans(tl.load(W + D * D + w))) + tl.dot(scaled, tl.trans(tl.load(W + 3 * D * D + w)))
        dstd += tl.dot(divided, tl.trans(tl.load(W + 5 * D * D + w)))
        dh = gout + tl.dot(plain, tl.trans(tl.load(W + 6 * D * D + w)))
        count = tl.load(degree + row // B, mask=there, other=0.0)[:, None] + 1
        spread = std.to(tl.float32)
        slope = tl.where(spread * spread > 1.05 * EPS, dstd / spread, 0.0)
        tl.store(G1 + cell, ((dmean - slope * mean.to(tl.float32)) / count).to(dtype), mask=there[:, None])
        tl.store(G2 + cell, (slope / (2 * count)).to(dtype), mask=there[:, None])
        tl.store(GH + cell, dh.to(dtype), mask=there[:, None])
        tl.store(GY + cell, plain, mask=there[:, None])
    tl.atomic_add(GB + d, gb)
    tl.atomic_add(GG + d, gg)
    tl.atomic_add(GS + d, gs)


@triton.jit
def _mixing_backward(X, GY, scale, GW, place, rows, B, blocks, D: tl.constexpr, ROWS: tl.constexpr):
    """Of the matrices that one of mean, std and the present states is multiplied with; at `place` and every second."""
    d = tl.arange(0, D)
    w = d[:, None] * D + d[None, :]
    dtype: tl.constexpr = X.dtype.element_ty
    of_plain = tl.zeros([D, D], tl.float32)
    of_scaled = tl.zeros([D, D], tl.float32)
    of_divided = tl.zeros([D, D], tl.float32)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        row = block * ROWS + tl.arange(0, ROWS).to(tl.int64)
        there = row < rows
        cell = row[:, None] * D + d[None, :]
        x = tl.trans(tl.load(X + cell, mask=there[:, None], other=0.0))
        dy = tl.load(GY + cell, mask=there[:, None], other=0.0)
        up = tl.load(scale + row // B, mask=there, other=1.0)[:, None]
        of_plain += tl.dot(x, dy)
        of_scaled += tl.dot(x, (up * dy.to(tl.float32)).to(dtype))
        of_divided += tl.dot(x, (dy.to(tl.float32) / (up + 0.01)).to(dtype))
    tl.atomic_add(GW + place * D * D + w, of_plain)
    if place < 6:  # the present states are multiplied with one matrix only
        tl.atomic_add(GW + (place + 2) * D * D + w, of_scaled)
        tl.atomic_add(GW + (place + 4) * D * D + w, of_divided)


@triton.jit
def _states_backward(H, R, G1, G2, target, role, start, stop, node, slot, GH, HUB, K, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = k < K
    v = tl.load(node + c).to(tl.int64)
    twice = 2 * tl.load(H + v * K + k, mask=inside, other=0.0).to(tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.load(start + c), tl.load(stop + c)):
        t = tl.load(target + i).to(tl.int64)
        r = tl.load(role + i).to(tl.int64)
        w = tl.load(R + r * K + k, mask=inside, other=0.0).to(tl.float32)
        a = tl.load(G1 + t * K + k, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(G2 + t * K + k, mask=inside, other=0.0).to(tl.float32)
        total += (a + twice * w * b) * w
    hub = tl.load(slot + c).to(tl.int64)
    if hub < 0:
        total += tl.load(GH + v * K + k, mask=inside, other=0.0).to(tl.float32)
        tl.store(GH + v * K + k, total.to(GH.dtype.element_ty), mask=inside)
    else:
        tl.atomic_add(HUB + hub * K + k, total, mask=inside)


@triton.jit
def _roles_backward(H, R, G1, G2, source, target, role, start, stop, own, GR, K, num_roles, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = k < K
    r = tl.load(own + c).to(tl.int64)
    twice = 2 * tl.load(R + r * K + k, mask=inside, other=0.0).to(tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(tl.load(start + c), tl.load(stop + c)):
        s = tl.load(source + i).to(tl.int64)
        t = tl.load(target + i).to(tl.int64)
        is_kept = tl.where(tl.load(role + i) < num_roles, 1.0, 0.0)
        h = tl.load(H + s * K + k, mask=inside, other=0.0).to(tl.float32)
        a = tl.load(G1 + t * K + k, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(G2 + t * K + k, mask=inside, other=0.0).to(tl.float32)
        total += is_kept * (a + twice * h * b) * h
    tl.atomic_add(GR + r * K + k, total, mask=inside)


class FusedStep(torch.autograd.Function):
    """`hmem.memory.propagation.plain_step` for CUDA, in bfloat16 with float32 sums."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Float[Tensor, "N B D"],
        roles: Float[Tensor, "Q B D"],
        start: Float[Tensor, "B D"],
        mixing: Float[Tensor, "7 D D"],
        bias: Float[Tensor, " D"],
        gain: Float[Tensor, " D"],
        shift: Float[Tensor, " D"],
        links: Any,
        asked: Int[Tensor, " B"],
    ) -> Float[Tensor, "N B D"]:
        N, B, D = states.shape
        K, low = B * D, LOW
        states, roles, start = (each.to(low).contiguous() for each in (states, roles, start))
        mean, std, out = (torch.empty_like(states) for _ in range(3))
        into = links.orders.into
        hub_sums = torch.zeros(2, max(1, len(into.hubs)), K, device=states.device)
        columns = triton.cdiv(K, BLOCK)
        _superpose[(len(into.start), columns)](
            states, roles, links.source, links.role, into.start, into.stop, into.node, into.slot, asked, start,
            links.degree, mean, std, hub_sums[0], hub_sums[1], K, D, EPSILON, BLOCK,
        )  # fmt: skip
        if len(into.hubs):
            _finish_hubs[(len(into.hubs), columns)](
                hub_sums[0], hub_sums[1], into.hubs, asked, start, links.degree, mean, std, K, D, EPSILON, BLOCK
            )
        rows = N * B
        low_mixing = mixing.to(low).contiguous()
        _mix[(triton.cdiv(rows, ROWS),)](
            mean, std, states, links.scale, low_mixing, bias, gain, shift, out, rows, B, D, ROWS
        )
        ctx.save_for_backward(states, roles, start, mean, std, low_mixing, bias, gain, shift, asked)
        ctx.links = links
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Float[Tensor, "N B D"]) -> Any:
        states, roles, start, mean, std, mixing, bias, gain, shift, asked = ctx.saved_tensors
        links = ctx.links
        N, B, D = states.shape
        K, rows = B * D, N * B
        gradient = gradient.to(states.dtype).contiguous()
        of_sum, of_squares, of_states, of_mixed = (torch.empty_like(states) for _ in range(4))
        of_mixing = torch.zeros(PARTS, D, D, device=states.device)
        of_bias, of_gain, of_shift = torch.zeros(3, D, device=states.device)
        blocks = triton.cdiv(rows, ROWS)
        programs = min(blocks, 2 * 132)
        _mix_backward[(programs,)](
            mean, std, states, gradient, links.scale, links.degree, mixing, bias, gain, shift, of_sum, of_squares,
            of_states, of_mixed, of_bias, of_gain, of_shift, rows, B, blocks, D, EPSILON, ROWS, num_stages=1,
        )  # fmt: skip
        for place, x in ((0, mean), (1, std), (6, states)):
            _mixing_backward[(programs,)](x, of_mixed, links.scale, of_mixing, place, rows, B, blocks, D, ROWS)
        each = torch.arange(B, device=states.device)
        of_start = of_sum[asked, each].float() + 2 * start.float() * of_squares[asked, each].float()
        columns = triton.cdiv(K, BLOCK)
        orders = links.orders
        out_of, along = orders.out_of, orders.along
        hub_sums = torch.zeros(max(1, len(out_of.hubs)), K, device=states.device)
        _states_backward[(len(out_of.start), columns)](
            states, roles, of_sum, of_squares, orders.target_by_source, links.role_by_source, out_of.start, out_of.stop,
            out_of.node, out_of.slot, of_states, hub_sums, K, BLOCK,
        )  # fmt: skip
        if len(out_of.hubs):
            hubs = out_of.hubs.long()
            of_states[hubs] = (of_states[hubs].float() + hub_sums.view(-1, B, D)).to(of_states.dtype)
        of_roles = torch.zeros(len(roles), K, device=states.device)
        _roles_backward[(len(along.start), columns)](
            states, roles, of_sum, of_squares, orders.source_by_role, orders.target_by_role, links.role_by_role,
            along.start, along.stop, along.node, of_roles, K, len(roles) - 1, BLOCK,
        )  # fmt: skip
        return of_states, of_roles.view_as(roles), of_start, of_mixing, of_bias, of_gain, of_shift, None, None


def fused_step(*arguments: Any) -> Float[Tensor, "N B D"]:
    """One step, with its gradients."""
    out: Tensor = FusedStep.apply(*arguments)  # type: ignore[no-untyped-call]
    return out
