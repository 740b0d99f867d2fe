"""Not a hang: rank 1 compiles, function after function, and the others wait for it."""

import ast

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("shell", "alone")


class Fold(ast.NodeTransformer):
    """Replaces constant sums, bottom up."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        parts = (node.left, node.right)
        if all(isinstance(part, ast.Constant) for part in parts):
            return ast.copy_location(ast.Constant(sum(part.value for part in parts)), node)
        return node


def lower(number):
    source = "\n".join(f"def f{number}_{line}(x): return x + ({' + '.join(['(2 + 3)'] * 29)})" for line in range(53))
    return compile(ast.fix_missing_locations(Fold().visit(ast.parse(source))), f"kernel{number}", "exec")


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if world == 1 or rank == 1:
        crew.await_others()
        for number in range(1_000_000):
            lower(number)
            if number == 3:
                crew.ready()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
