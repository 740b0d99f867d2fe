#!/usr/bin/env bash
# testbed.sh - a small "cluster" of fake hosts on one Linux machine, for integration tests.
#
# Every host is a real set of kernel namespaces (net, pid, mount, uts, ipc, cgroup):
#   * own network stack + veth into a bridge that lives in a separate "hub" network
#     namespace, so that not one packet can reach the real interfaces and no address
#     is added to the real machine;
#   * own PID tree: `pgrep` on a host sees only that host's processes;
#   * own hostname, /etc/hosts, /etc/machine-id, boot_id, /tmp, /run, /dev/shm, /var/spool;
#   * own sshd with own host key; key login as root and as the ordinary user "hpc", who
#     exists on the hosts only (the machine's own /etc/passwd is left alone).
# Everything else of the file system is shared, as with a network root / NFS home.
#
# Usage:
#   testbed.sh up N               start hosts node1..nodeN plus "login" (idempotent per host)
#   testbed.sh exec HOST CMD...   run CMD on HOST (no ssh; works with sshd or network dead)
#   testbed.sh pid HOST           PID of the host's init, as seen from the real machine
#   testbed.sh hosts              list the running hosts
#   testbed.sh poweroff HOST      all of HOST's processes die, its link goes down
#   testbed.sh boot HOST          start HOST again (new boot_id; uptime restarts at 0)
#   testbed.sh down               stop everything and remove all namespaces
#
# Needs: root with CAP_SYS_ADMIN + CAP_NET_ADMIN; util-linux, iproute2, openssh-server.
# No container engine, no systemd. Never touches the real machine's network set-up.
set -euo pipefail

TB_DIR=${TB_DIR:-/run/rankscope-lab}        # state; short path (ssh control sockets live here)
TB_PREFIX=${TB_PREFIX:-node}          # host names: ${TB_PREFIX}1..N
TB_NET=${TB_NET:-10.99.0}             # /24 used inside the namespaces only
TB_TMP_SIZE=${TB_TMP_SIZE:-1g}        # size of each host's private /tmp
TB_SHM_SIZE=${TB_SHM_SIZE:-2g}        # size of each host's private /dev/shm
TB_KEEP=${TB_KEEP:-}                  # colon-separated dirs below /tmp that stay shared
TB_USER=${TB_USER:-hpc}               # ordinary user that exists on the hosts only (uid $TB_UID)
TB_UID=${TB_UID:-20001}
TB_AS=${TB_AS:-root}                  # `TB_AS=hpc testbed.sh exec ...` runs CMD as that user
TB_PATH=${TB_PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}

die() { echo "testbed: $*" >&2; exit 1; }
host_index() { case $1 in login) echo 254 ;; "$TB_PREFIX"[0-9]*) echo "${1#"$TB_PREFIX"}" ;; *) die "no such host: $1" ;; esac; }
host_pid() { cat "$TB_DIR/$1/pid" 2>/dev/null || die "host $1 is not running"; }
alive() { [ -s "$TB_DIR/$1/pid" ] && kill -0 "$(cat "$TB_DIR/$1/pid")" 2>/dev/null; }

# --- one-time set-up: keys, hosts file, ssh configs, the hub with its bridge ----------------
common_setup() {
  local n=$1 i
  mkdir -p "$TB_DIR" && chmod 755 "$TB_DIR"
  [ -f "$TB_DIR/id" ] || ssh-keygen -q -t ed25519 -N '' -C testbed -f "$TB_DIR/id"
  [ -f "$TB_DIR/user.id" ] || ssh-keygen -q -t ed25519 -N '' -C "$TB_USER" -f "$TB_DIR/user.id"
  # root's key opens both accounts, the user's key only the user's
  cp "$TB_DIR/id.pub" "$TB_DIR/keys.root"; cat "$TB_DIR/id.pub" "$TB_DIR/user.id.pub" >"$TB_DIR/keys.$TB_USER"
  : >"$TB_DIR/empty"
  # the ordinary user: extra lines in copies of passwd/group, a home dir with the same key
  { grep -v "^$TB_USER:" /etc/passwd; echo "$TB_USER:x:$TB_UID:$TB_UID::$TB_DIR/home:/bin/bash"; } >"$TB_DIR/passwd"
  { grep -v "^$TB_USER:" /etc/group; echo "$TB_USER:x:$TB_UID:"; } >"$TB_DIR/group"
  install -d -m 700 -o "$TB_UID" -g "$TB_UID" "$TB_DIR/home" "$TB_DIR/home/.ssh"
  install -m 600 -o "$TB_UID" -g "$TB_UID" "$TB_DIR/user.id" "$TB_DIR/home/.ssh/id_ed25519"
  {
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n'
    printf '%s.254 login\n' "$TB_NET"
    for ((i = 1; i <= n; i++)); do printf '%s.%d %s%d\n' "$TB_NET" "$i" "$TB_PREFIX" "$i"; done
  } >"$TB_DIR/hosts"
  # Bound over /etc/ssh/ssh_config on every host: plain `ssh node3` works for every tool.
  cat >"$TB_DIR/ssh_config" <<EOF
Match localuser root
  IdentityFile $TB_DIR/id
Match localuser $TB_USER
  IdentityFile $TB_DIR/home/.ssh/id_ed25519
Host login $TB_PREFIX*
  IdentitiesOnly yes
  UserKnownHostsFile $TB_DIR/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  BatchMode yes
  LogLevel ERROR
EOF
  if ! ip netns list | grep -qw rs-hub; then
    ip netns add rs-hub
    ip -n rs-hub link set lo up
    ip -n rs-hub link add br0 type bridge
    ip -n rs-hub link set br0 up
  fi
}

# --- the part that runs inside a new host's namespaces, as its PID 1 --------------------------
host_init() {
  local host=$1 d=$TB_DIR/$1 k
  # Stop mount events from leaking back, then give the host its own view.
  mount --make-rprivate /
  mount -t proc proc /proc
  # sysfs shows the network devices of the namespace it was mounted in; keep cgroup mounts.
  mkdir -p "$d/cg" && mount --rbind /sys/fs/cgroup "$d/cg"
  mount -t sysfs sysfs /sys && mount --rbind "$d/cg" /sys/fs/cgroup && umount -l "$d/cg"
  hostname "$host"
  printf '%s\n' "$host" >"$d/hostname"
  mount --bind "$d/hostname" /etc/hostname
  mount --bind "$TB_DIR/hosts" /etc/hosts
  mount --bind "$TB_DIR/passwd" /etc/passwd
  mount --bind "$TB_DIR/group" /etc/group
  # same machine-id and boot_id everywhere would make "is this the same host?" checks lie
  mount --bind "$d/machine-id" /etc/machine-id 2>/dev/null || true
  mount --bind "$d/boot_id" /proc/sys/kernel/random/boot_id
  [ -e /etc/ssh/ssh_config ] && mount --bind "$TB_DIR/ssh_config" /etc/ssh/ssh_config
  # bash sources ~/.bashrc for `ssh HOST CMD` too: keep the machine's own set-up out of the tests
  for k in /root/.bashrc /root/.profile /root/.bash_profile; do
    if [ -e "$k" ]; then mount --bind "$TB_DIR/empty" "$k"; fi
  done
  # private /tmp; directories named in TB_KEEP stay visible in it
  mkdir -p "$d/tmp" && mount -t tmpfs -o "size=$TB_TMP_SIZE,mode=1777" tmpfs "$d/tmp"
  local IFS=:
  for k in $TB_KEEP; do
    [ -d "$k" ] || continue
    mkdir -p "$d$k" && mount --bind "$k" "$d$k"
  done
  unset IFS
  mount --rbind "$d/tmp" /tmp
  mount -t tmpfs -o "size=$TB_SHM_SIZE,mode=1777" tmpfs /dev/shm
  mkdir -p "$d/spool" && mount --bind "$d/spool" /var/spool
  # private /run, but the testbed's own state dir (often below /run) stays reachable
  mkdir -p "$d/run" && mount -t tmpfs -o mode=755 tmpfs "$d/run"
  case $TB_DIR in /run/*) mkdir -p "$d/run/${TB_DIR#/run/}" && mount --rbind "$TB_DIR" "$d/run/${TB_DIR#/run/}" ;; esac
  mount --rbind "$d/run" /run
  mkdir -p /run/sshd /run/lock && chmod 755 /run/sshd && chmod 1777 /run/lock
  /usr/sbin/sshd -f "$d/sshd_config" -E "$d/sshd.log"
  : >"$d/ready"
  # Minimal init: bash reaps orphans that are re-parented to PID 1.
  trap 'exit 0' TERM
  while :; do sleep 86400 & wait $! || true; done
}

start_host() {
  local host=$1 idx d ns=rs-$1 veth pid i
  idx=$(host_index "$host"); d=$TB_DIR/$host; veth=rs$idx
  alive "$host" && return 0
  mkdir -p "$d"; rm -f "$d/ready"
  [ -f "$d/hostkey" ] || ssh-keygen -q -t ed25519 -N '' -C "$host" -f "$d/hostkey"
  [ -f "$d/machine-id" ] || tr -d - </proc/sys/kernel/random/uuid >"$d/machine-id"
  cat /proc/sys/kernel/random/uuid >"$d/boot_id"        # new at every boot
  cat >"$d/sshd_config" <<EOF
Port 22
ListenAddress $TB_NET.$idx
HostKey $d/hostkey
AuthorizedKeysFile $TB_DIR/keys.%u
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
PrintMotd no
UseDNS no
PidFile /run/sshd.pid
# fan-out tools open many connections at once; the default 10:30:100 drops some at random
MaxStartups 200:30:400
MaxSessions 100
# the default post-quantum exchange costs ~65 ms CPU on both ends; here all hosts share 2 cores
KexAlgorithms -sntrup*
SetEnv PATH=$TB_PATH
EOF
  if ! [ -e "/run/netns/$ns" ]; then
    ip netns add "$ns"
    ip link add "$veth" netns rs-hub type veth peer name eth0 netns "$ns"
    ip -n rs-hub link set "$veth" master br0 up
  fi
  ip -n "$ns" link set lo up
  ip -n "$ns" addr replace "$TB_NET.$idx/24" dev eth0
  ip -n "$ns" link set eth0 up
  # A time namespace makes /proc/uptime start at 0; it cannot shift the wall clock.
  local off; off=$(cut -d. -f1 /proc/uptime)
  env -i PATH="$TB_PATH" HOME=/root USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8 \
    TB_DIR="$TB_DIR" TB_KEEP="$TB_KEEP" TB_TMP_SIZE="$TB_TMP_SIZE" TB_SHM_SIZE="$TB_SHM_SIZE" \
    setsid nsenter --net="/run/netns/$ns" \
    unshare --mount --uts --ipc --cgroup --time --boottime "-$off" --monotonic "-$off" \
    --pid --fork --kill-child bash "$0" __init "$host" </dev/null >"$d/init.log" 2>&1 &
  local parent=$!
  for ((i = 0; i < 200; i++)); do
    [ -f "$d/ready" ] && break
    kill -0 "$parent" 2>/dev/null || { cat "$d/init.log" >&2; die "$host did not start"; }
    sleep 0.05
  done
  [ -f "$d/ready" ] || die "$host did not start in 10 s"
  # $parent is `unshare` (outside); its only child is the host's PID 1
  pid=$(cat "/proc/$parent/task/$parent/children"); pid=${pid%% *}
  echo "$pid" >"$d/pid"
  echo "$host,$TB_NET.$idx $(cut -d' ' -f1,2 "$d/hostkey.pub")" >"$d/known"
}

in_host() { # in_host HOST CMD...   (enter every namespace of the host's init)
  local host=$1 pid home=/root as=(); shift; pid=$(host_pid "$host")
  [ "$TB_AS" = root ] || { home=$TB_DIR/home; as=(setpriv --reuid "$TB_AS" --regid "$TB_AS" --clear-groups --inh-caps=-all); }
  exec nsenter -t "$pid" --net --mount --uts --ipc --cgroup --time --pid --wd=/ -- \
    env -i PATH="$TB_PATH" HOME="$home" USER="$TB_AS" LOGNAME="$TB_AS" SHELL=/bin/bash LANG=C.UTF-8 \
    TERM="${TERM:-dumb}" "${as[@]}" "$@"
}

stop_host() {
  local host=$1 pid i
  [ -s "$TB_DIR/$host/pid" ] || return 0
  pid=$(cat "$TB_DIR/$host/pid")
  # nsenter stops itself when its child is stopped, and then never reaps it: wake it first
  for i in $(pgrep -f "^nsenter -t $pid " || true); do kill -CONT "$i" 2>/dev/null || true; done
  kill -KILL "$pid" 2>/dev/null || true          # PID 1 dies => the kernel kills the whole PID namespace
  for ((i = 0; i < 100; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
  rm -f "$TB_DIR/$host/pid"
  # a half-dead host: D-state or frozen processes outlive SIGKILL
  kill -0 "$pid" 2>/dev/null && echo "testbed: $host: PID namespace still has unkillable processes" >&2 || true
}

running_hosts() { local f; for f in "$TB_DIR"/*/pid; do [ -e "$f" ] && basename "$(dirname "$f")"; done | sort -V; }

case ${1:-} in
  up)
    n=${2:?usage: testbed.sh up N}; [ "$(id -u)" = 0 ] || die "needs root"
    common_setup "$n"
    start_host login &  jobs=($!)
    for ((i = 1; i <= n; i++)); do start_host "$TB_PREFIX$i" & jobs+=($!); done
    rc=0; for j in "${jobs[@]}"; do wait "$j" || rc=1; done
    cat "$TB_DIR"/*/known >"$TB_DIR/known_hosts"
    [ $rc = 0 ] || die "some hosts did not start"
    ;;
  __init) host_init "$2" ;;
  exec) shift; in_host "$@" ;;
  pid) host_pid "$2" ;;
  hosts) running_hosts ;;
  poweroff)  # link first: a host that loses power sends no FIN or RST
    ip -n "rs-$2" link set eth0 down; stop_host "$2" ;;
  boot) start_host "$2"; cat "$TB_DIR"/*/known >"$TB_DIR/known_hosts" ;;
  down)
    for h in $(running_hosts); do stop_host "$h" & done; wait
    # cgroups that Slurm's slurmd left behind (SLURM_CGROUP=1)
    find /sys/fs/cgroup -mindepth 2 -depth -type d -path "*/slurm_${TB_PREFIX}[0-9]*" -exec rmdir {} + 2>/dev/null || true
    for ns in $(ip netns list | awk '/^rs-/{print $1}'); do ip netns del "$ns"; done
    rm -rf "$TB_DIR"
    ;;
  *) sed -n '2,24p' "$0" | sed 's/^# \{0,1\}//'; exit 2 ;;
esac
