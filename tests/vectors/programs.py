"""What real jobs do, as rows of calls: data parallel, sharded data parallel, meshes of parallelisms, pipelines."""

from __future__ import annotations

from collections.abc import Iterator

from .machine import Call, Groups, Program, Sync


class Mesh:
    """Groups of a job by dimension (innermost first), named as torch names them: numbers in order of making."""

    def __init__(self, shape: dict[str, int], descs: dict[str, str] | None = None) -> None:
        self.shape = shape
        self.world = 1
        for size in shape.values():
            self.world *= size
        self.groups: Groups = {"0": ("default_pg", tuple(range(self.world)))}
        self._own: dict[tuple[int, str], str] = {}
        for dimension in shape:
            self.add(dimension, [dimension], (descs or {}).get(dimension, dimension))

    def add(self, key: str, dimensions: list[str], desc: str) -> None:
        """Groups of the ranks that differ only in these dimensions."""
        rows: dict[tuple[int, ...], list[int]] = {}
        for rank in range(self.world):
            place = self.place(rank)
            rows.setdefault(tuple(at for name, at in place.items() if name not in dimensions), []).append(rank)
        for ranks in rows.values():
            name = str(len(self.groups))
            self.groups[name] = (desc, tuple(ranks))
            self._own.update({(rank, key): name for rank in ranks})

    def place(self, rank: int) -> dict[str, int]:
        out = {}
        for name, size in self.shape.items():
            rank, out[name] = divmod(rank, size)
        return out

    def own(self, rank: int, key: str) -> str:
        return self._own[rank, key]

    def size(self, key: str) -> int:
        return self.shape.get(key, 1)


MEGATRON = {"tp": "TENSOR_MODEL_PARALLEL_GROUP", "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
            "dp": "DATA_PARALLEL_GROUP_WITH_CP", "ep": "EXPERT_MODEL_PARALLEL_GROUP", "cp": "CONTEXT_PARALLEL_GROUP"}  # fmt: skip


def data_parallel(world: int, steps: int, asynchronous: bool = True) -> tuple[Groups, list[Program]]:
    """Gradients in buckets while the backward pass goes on, then a loss that the host looks at."""
    groups: Groups = {"0": ("default_pg", tuple(range(world)))}

    def program() -> Program:
        out: Program = [Call("0", "broadcast", (size,), site=("init", "ddp.py", 5)) for size in (1024, 77)]
        for step in range(steps):
            for at, size in enumerate((4096, 25600, 1000 + 13 * (step % 3))):
                out.append(Call("0", "all_reduce", (size,), waits=not asynchronous, site=("hook", "ddp.py", 20 + at)))
            out.append(Call("0", "all_reduce", (1,), dtype="Double", site=("log", "train.py", 31)))
            if step % 2:
                out.append(Call("0", "_all_gather_base", (16,), (16 * world,), site=("metrics", "train.py", 33)))
            out.append(Sync())
        return [*out, Call("0", "barrier", (), site=("end", "train.py", 40)), Sync()]

    return groups, [program() for _ in range(world)]


def sharded(shards: int, replicas: int, steps: int) -> tuple[Groups, list[Program]]:
    """Parameters gathered layer by layer, gradients scattered, replicas reduced; prefetches run ahead."""
    mesh = Mesh({"shard": shards, "replicate": replicas}, {"shard": "mesh_dp_shard", "replicate": "mesh_dp_replicate"})
    return mesh.groups, [list(_sharded(mesh, rank, steps)) for rank in range(mesh.world)]


def _sharded(mesh: Mesh, rank: int, steps: int) -> Iterator[object]:
    shard, size = mesh.own(rank, "shard"), mesh.size("shard")
    layers = (128, 256, 320)
    for _ in range(steps):
        for layer in (*layers, *reversed(layers)):
            yield Call(shard, "_all_gather_base", (layer,), (layer * size,), "BFloat16", waits=False)
        for layer in reversed(layers):
            yield Call(shard, "_reduce_scatter_base", (layer * size,), (layer,), "BFloat16", waits=False)
            if mesh.size("replicate") > 1:
                yield Call(mesh.own(rank, "replicate"), "all_reduce", (layer,), waits=False)
        yield Call("0", "all_reduce", (1,), site=("clip", "train.py", 50))
        yield Sync()


def mesh_of(tp: int, pp: int, dp: int, steps: int, micro: int = 4, experts: bool = False, batched: bool = True,
            names: dict[str, str] | None = None) -> tuple[Groups, list[Program]]:  # fmt: skip
    """Tensor, pipeline and data parallelism with a one-forward-one-backward schedule; experts over the data ranks."""
    mesh = Mesh({"tp": tp, "dp": dp, "pp": pp}, names if names is not None else MEGATRON)
    mesh.add("model", ["tp", "pp"], "MODEL_PARALLEL_GROUP")
    if experts:
        mesh.add("ep", ["tp", "dp"], "EXPERT_MODEL_PARALLEL_GROUP")
    return mesh.groups, [_Stage(mesh, rank, micro, experts, batched).program(steps) for rank in range(mesh.world)]


class _Stage:
    """The program of one rank of a mesh."""

    def __init__(self, mesh: Mesh, rank: int, micro: int, experts: bool, batched: bool) -> None:
        self._mesh, self._rank, self._micro, self._experts, self._batched = mesh, rank, micro, experts, batched
        self._stage, self._stages = mesh.place(rank)["pp"], mesh.size("pp")
        self._pp, self._tp = mesh.own(rank, "pp"), mesh.own(rank, "tp")
        self._batch = self._dispatched = 0

    def program(self, steps: int) -> Program:
        out: Program = [Call("0", "broadcast", (8,), dtype="Long", site=("init", "train.py", 3))]
        for _ in range(steps):
            out.extend(self._schedule())
            if self._mesh.size("dp") > 1:
                out.append(Call(self._mesh.own(self._rank, "dp"), "_reduce_scatter_base", (512 * self._mesh.size("dp"),),
                                (512,), site=("finish_grads", "optim.py", 9)))  # fmt: skip
            out.append(Call(self._mesh.own(self._rank, "model"), "all_reduce", (1,), site=("norm", "optim.py", 12)))
            if self._mesh.size("dp") > 1:
                out.append(Call(self._mesh.own(self._rank, "dp"), "_all_gather_base", (512,),
                                (512 * self._mesh.size("dp"),), site=("gather_params", "optim.py", 15)))  # fmt: skip
            out += [Call("0", "all_reduce", (2,), site=("loss", "train.py", 44)), Sync()]
        return out

    def _schedule(self) -> Iterator[object]:
        warmup = min(self._stages - self._stage - 1, self._micro)
        steady = self._micro - warmup
        for _ in range(warmup):
            yield from self._exchange(recv=-1)
            yield from self._layers("forward")
            yield from self._exchange(send=1)
        if steady:
            yield from self._exchange(recv=-1)
        for number in range(steady):
            yield from self._layers("forward")
            yield from self._exchange(send=1, recv=1)
            yield from self._layers("backward")
            yield from self._exchange(send=-1, recv=-1 if number < steady - 1 else 0)
        for _ in range(warmup):
            yield from self._exchange(recv=1)
            yield from self._layers("backward")
            yield from self._exchange(send=-1)

    def _layers(self, way: str) -> Iterator[object]:
        size = self._mesh.size("tp")
        for layer in range(2):
            if size > 1:
                site = (way, "layers.py", 10 * layer)
                yield Call(self._tp, "_all_gather_base", (32, 8), (32 * size, 8), "BFloat16", site=site)
            if self._experts and layer:
                group = self._mesh.own(self._rank, "ep")
                place, members = self._mesh.groups[group][1].index(self._rank), len(self._mesh.groups[group][1])
                self._dispatched += 1
                for number in (1, 2):
                    # What all send together is what all receive together.
                    sent, received = (
                        50 + 7 * ((at + self._dispatched) % members) + number for at in (place, place + 1)
                    )
                    yield Call(
                        group, "all_to_all", (sent, 8), (received, 8), "BFloat16", site=("dispatch", "moe.py", number)
                    )
            if size > 1:
                yield Call(self._tp, "_reduce_scatter_base", (32 * size, 8), (32, 8), "BFloat16", site=site)

    def _exchange(self, send: int = 0, recv: int = 0) -> Iterator[object]:
        """Messages to and from a neighbour; both at once are one batch (or two that nobody waits for in between)."""
        made = [(op, self._stage + way) for op, way in (("send", send), ("recv", recv))
                if way and 0 <= self._stage + way < self._stages]  # fmt: skip
        if self._stage % 2 and not self._batched:
            made.reverse()  # one of two that talk to each other sends first, the other receives first
        self._batch += 1
        for at, (op, peer) in enumerate(made):
            yield Call(self._pp, op, (4, 16), dtype="BFloat16", peer=peer, batch=self._batch if self._batched else 0,
                       waits=at == len(made) - 1, site=(op, "p2p.py", 7))  # fmt: skip
