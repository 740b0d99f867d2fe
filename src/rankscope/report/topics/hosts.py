"""How a look reaches the hosts of a job, what it leaves there (nothing), and what each reason for silence means.

## What it means
`slurm:JOBID`, `ssh:node[1-8]`, `hostfile:PATH` and `mpi:PID` look at a job on all of its hosts at once. A small
program travels there, looks twice at the same moments, sends its answer as lines of text, and is gone. Nothing is
installed, no file is written, no port is opened, no password or key is handled; it ends with the connection, and by
its own alarm when a connection is cut.

- **ssh** is the site's own, with your ssh_config, ControlMaster, Kerberos and jump hosts. It asks for nothing
  (BatchMode) and accepts no unknown host key. Sets are ClusterShell's: `node[1-8,12]`, `@group`.
- **Slurm** starts one overlapping step of the job itself, which takes none of its devices. A node whose slurmd is
  dead is asked by ssh, and so are the nodes of a job that is completing: no step can be started in it.
- **MPI**: the pid of `mpirun`, `mpiexec` or `prterun` stands for the ranks that it has started, and no others on the
  same hosts (Open MPI 3 to 5, MPICH and what is made of it). On a node a rank's pid leads to all hosts with Open MPI
  3 and 4; Open MPI 5 and MPICH do not tell their nodes of each other, and the host that knows is named.
- **Python** 3.9 or newer must be on the node's path; else that of a job of yours is used, never as root.
  `--remote-python PATH` names one, `--env-setup 'conda activate NAME'` runs first, since a command over ssh gets no
  interactive shell.
- **A shared installation** (the same path on the node, every file the same as ours, owned by root or you, writable by
  nobody else) is started from there; anything else is passed over, and the program is sent. Through ssh only what
  a node asks for is sent; a step of Slurm brings everything, unless our installation lies with a file server: then
  19 kB in place of 220 kB, and nodes that do not see it there are asked once more.
- **pdsh users**: `ssh:` without hosts takes those of `WCOLL`; `FANOUT` and `PDSH_SSH_ARGS_APPEND` hold.
  `PDSH_RCMD_TYPE` does not: it is always ssh. `--tree` goes through ClusterShell's gateways.
- **Hosts that the job names itself** (MASTER_ADDR, connections, the lists of Slurm and Open MPI) are listed, and
  asked only with `--follow-hosts`.

## How it is recognised
By the deadline (`--deadline`, 20 s) there is a verdict from what has come. Each host that is missing is named with
its ranks and the reason; when nobody else holds the job up, the missing host is the verdict.

- `does not answer`: not one packet came back. Power, kernel, cable, switch, firewall.
- `refuses ssh`: the host lives, no sshd listens. `its sshd does not speak`: it lives, and cannot start anything:
  memory, dead file system.
- `no answer within 20 s`: logged in, and then nothing: a home directory on a dead server, a node that swaps.
- `no Python`, `sudo there wants a password`, `it refuses our key`, `its host key is not known`: the way is open, a
  right is missing.
- `the clock of node3 is 3600 s behind ours`: its logs do not line up with the others'.

## What to do
`rankscope doctor TARGET` walks the way to each host step by step (reach it, start Python, see processes, read their
stacks) and says where it ends. `rankscope hosts TARGET` shows which hosts a target stands for, and asks nobody.
`--raw-dir DIR` keeps what each node said.

## How to prevent it
Install rankscope once on a shared file system, owned by root. Let users log in to the nodes of their own jobs
(pam_slurm_adopt).
"""
