#!/usr/bin/env bash
# A real Slurm (Debian's 22.05) over the hosts of testbed.sh: slurmctld on "login", one slurmd
# per nodeX, munge on all of them, every daemon inside its host's own namespaces.
#
#   slurm.sh install       apt packages (needs no service manager; starts nothing)
#   slurm.sh up            start it on all running testbed hosts, wait until all nodes are idle
#   slurm.sh restart HOST  start munged + slurmd again on HOST (after testbed.sh boot HOST)
#   slurm.sh down          stop the daemons (testbed.sh down does that as well)
#
# Then, for example:
#   testbed.sh exec login srun -N4 hostname
#   testbed.sh exec login sbatch -N2 job.sh
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd); TB=$HERE/testbed.sh
export TB_DIR=${TB_DIR:-/run/rankscope-lab}
TB_PREFIX=${TB_PREFIX:-node}
CPUS=${SLURM_CPUS:-8}            # CPUs each node claims (config_overrides: may exceed the real ones)
MEM=${SLURM_MEM:-4000}           # MiB each node claims
GPUS=${SLURM_GPUS:-2}            # fake GPUs per node (device files that exist everywhere)
# Empty: linuxproc + task/none, which need no cgroups and work everywhere. 1: proctrack/cgroup +
# task/cgroup on cgroup v1, as real sites have it (every step in a cgroup of its own).
CGROUP=${SLURM_CGROUP:-}
D=$TB_DIR/slurm

install_pkgs() {
  export DEBIAN_FRONTEND=noninteractive
  # Containers often have policy-rc.d; on a machine with systemd this would start daemons.
  apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null
}

write_conf() {
  local n; n=$("$TB" hosts | grep -c "^$TB_PREFIX")
  mkdir -p "$D"; chmod 755 "$D"
  [ -f "$D/munge.key" ] || (umask 077; head -c 1024 /dev/urandom >"$D/munge.key")
  chown munge: "$D/munge.key"
  cat >"$D/slurm.conf" <<EOF
ClusterName=testbed
SlurmctldHost=login
SlurmUser=root
AuthType=auth/munge
MpiDefault=none
ReturnToService=2
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/spool/slurmctld.log
SlurmdLogFile=/var/spool/slurmd.log
SwitchType=switch/none
$(if [ -n "$CGROUP" ]; then printf 'ProctrackType=proctrack/cgroup\nTaskPlugin=task/cgroup'
  else printf 'ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none'; fi)
# sstat needs this; sacct would need slurmdbd and a database
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=5
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=200
SchedulerType=sched/backfill
SlurmctldTimeout=30
# short, so that a dead host is noticed within a test (the default is 300)
SlurmdTimeout=20
InactiveLimit=0
KillWait=5
MessageTimeout=10
${SLURM_MORE:-}
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=${TB_PREFIX}[1-$n] CPUs=$CPUS RealMemory=$MEM Gres=gpu:$GPUS State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
EOF
  printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\nConstrainRAMSpace=yes\nConstrainDevices=no\nConstrainCores=no\n' >"$D/cgroup.conf"
  # any existing device node serves as a fake GPU; CUDA_VISIBLE_DEVICES is set from them
  echo "NodeName=${TB_PREFIX}[1-$n] Name=gpu File=/dev/tty[10-$((9 + GPUS))]" >"$D/gres.conf"
}

start_on() {   # munged + slurmctld/slurmd inside one host
  local host=$1 daemon=slurmd; [ "$host" = login ] && daemon=slurmctld
  "$TB" exec "$host" bash -ec '
    mountpoint -q /etc/slurm || { mkdir -p /etc/slurm; mount --bind "'"$D"'" /etc/slurm; }
    install -d -o munge -g munge -m 755 /run/munge
    [ -S /run/munge/munge.socket.2 ] && munge -n >/dev/null 2>&1 || setpriv --reuid munge --regid munge --clear-groups \
      /usr/sbin/munged --force --key-file "'"$D"'/munge.key" --pid-file /run/munge/munged.pid \
      --seed-file /run/munge/seed --log-file /run/munge/munged.log --socket /run/munge/munge.socket.2
    mkdir -p /var/spool/slurmctld /var/spool/slurmd
    pgrep -x '"$daemon"' >/dev/null || /usr/sbin/'"$daemon"'
  '
}

stop_on() {    # until they are gone: "up" takes a daemon that is still ending for one that runs
  "$TB" exec "$1" bash -c '
    files=(/run/slurmctld.pid /run/slurmd.pid /run/munge/munged.pid); pids=()
    for file in "${files[@]}"; do [ -s "$file" ] && pids+=("$(cat "$file")"); done
    alive() { for pid in "${pids[@]}"; do [ -d "/proc/$pid" ] && return 0; done; return 1; }
    [ "${#pids[@]}" -gt 0 ] && kill "${pids[@]}"
    for ((i = 0; i < 100; i++)); do alive || break; sleep 0.1; done
    alive && kill -9 "${pids[@]}"
    rm -f "${files[@]}"
  ' 2>/dev/null || true
}

case ${1:-} in
  install) install_pkgs ;;
  up)
    [ -x /usr/sbin/slurmctld ] || install_pkgs
    write_conf
    start_on login
    jobs=(); for h in $("$TB" hosts | grep "^$TB_PREFIX"); do start_on "$h" & jobs+=($!); done
    for j in "${jobs[@]}"; do wait "$j"; done
    n=$("$TB" hosts | grep -c "^$TB_PREFIX")
    end=$((SECONDS + 30))
    while [ "$SECONDS" -lt "$end" ]; do
      [ "$("$TB" exec login timeout 5 sinfo -h -N -t idle -o %N 2>/dev/null | wc -l)" = "$n" ] && exit 0
      sleep 0.25
    done
    "$TB" exec login sinfo -N -l >&2; echo "slurm.sh: not all nodes became idle in 30 s" >&2; exit 1 ;;
  restart) start_on "$2" ;;
  down)
    jobs=(); for h in $("$TB" hosts); do stop_on "$h" & jobs+=($!); done
    for j in "${jobs[@]}"; do wait "$j" || true; done ;;
  *) sed -n '2,15p' "$0" | sed 's/^# \{0,1\}//'; exit 2 ;;
esac
