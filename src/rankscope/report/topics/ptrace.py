"""Who may look into a process, and what to do when the kernel refuses.

## What it means
Stacks, locals and recorders are read from the memory of a process. Linux allows that to whoever may trace the process
(ptrace(2), "Ptrace access mode checking"), although rankscope does not attach and pauses nobody unless asked to.

## How it is recognised
`denied` in the list of what was not seen. `rankscope doctor pid:N` says which of these holds:

- The process belongs to another user: only root or CAP_SYS_PTRACE may look.
- Yama is set to 1 (`/proc/sys/kernel/yama/ptrace_scope`, the default of Ubuntu): only ancestors of a process may look, even
  within one user. 2 asks for CAP_SYS_PTRACE, 3 forbids it to everybody.
- The process is not dumpable: it changed its user, runs a set-uid program, or asked for it (PR_SET_DUMPABLE).
- The process has capabilities that we have not, or lives in another user namespace.
- A container without CAP_SYS_PTRACE: its default seccomp filter refuses ptrace on old kernels, its user may differ.

What everybody may see is reported all the same: states, ages of stillness, CPU time, file locks, sockets of the host. Yama leaves
the same user more: wait channels, descriptors, environments and the holders of pipes and connections (ptrace(2) asks for
PTRACE_MODE_READ there); system calls, memory and so all stacks are closed (PTRACE_MODE_ATTACH). From the former rankscope
follows who waits for whom, says what kind of wait is at the end of the chain, and that its place in the program is not known.
py-spy, gdb, strace and pystack need the latter as well.

## What to do
- `sudo -E rankscope diagnose pid:N`, or as the user who runs the job.
- Yama: `sudo sysctl kernel.yama.ptrace_scope=0` until the look is over, or start the job from a shell that looks later.
- Docker: `docker run --cap-add SYS_PTRACE …`. Kubernetes: `securityContext: {capabilities: {add: [SYS_PTRACE]}}` in the pod, or
  `kubectl debug -it POD --image=IMAGE --target=CONTAINER --profile=sysadmin`.
- Slurm: `srun --jobid=JOBID --overlap` runs as the job's user on its nodes.

## How to prevent it
In the job itself: `prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)` lets all processes of the same user look under Yama 1.
"""
