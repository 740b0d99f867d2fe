"""rankscope hosts: which hosts a target stands for."""

from __future__ import annotations

import click

from ..errors import RankscopeError
from ..report.plain import clean
from . import _exit, _target


@click.command(
    "hosts",
    short_help="Print the hosts that a target stands for.",
    epilog="""\b
Examples:
  $ rankscope hosts slurm:2180718                     node[18-25]
  $ rankscope hosts slurm:me --expand                 one host in each line
  $ rankscope hosts 'ssh:node[1-4]' --hostfile --slots 8 > hosts
  $ rankscope hosts hostfile:hosts""",
)
@click.argument("target")
@click.option("--expand", is_flag=True, help="One host in each line.")
@click.option("--hostfile", is_flag=True, help="As a host file for DeepSpeed or MPI.")
@click.option("--slots", type=click.IntRange(1, 4096), help="Slots of each host in the host file.")
def command(target: str, expand: bool, hostfile: bool, slots: int | None) -> None:
    """Print the hosts that TARGET stands for: slurm:JOBID, ssh:HOSTS, hostfile:PATH or mpi:PID.

    Hosts that Slurm has given up are left out of what is printed, and named on standard error. Nobody is contacted but
    Slurm's own controller.
    """
    from ..reach.gather import Remote, find
    from ..reach.hostnames import fold

    named = _target.parse(target).remote
    if named is None:
        raise RankscopeError(
            f"{target} is on this host", "hosts takes slurm:, ssh:, hostfile: or mpi:", "rankscope hosts slurm:me"
        )
    hosts = find(Remote(*named))
    for gap in hosts.gaps:
        click.echo(clean(f"rankscope: left out {gap.host}: {gap.detail}"), err=True)
    if hosts.more:
        click.echo(clean(f"rankscope: there may be more hosts; {hosts.more}"), err=True)
    if hostfile:
        lines = [f"{name} slots={slots}" if slots else name for name in hosts.names]
    else:
        lines = list(hosts.names) if expand else [fold(hosts.names)]
    click.echo("\n".join(lines))
    raise click.exceptions.Exit(_exit.NOTHING_FOUND)
