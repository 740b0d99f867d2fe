#!/usr/bin/env bash
# Network faults between testbed hosts. All rules live in the hub (the "switch"), so a host
# cannot see them in its own rule set - as with a real broken switch or cable.
#
#   net.sh blackhole HOST          drop every frame from and to HOST (carrier stays up)
#   net.sh partition A B           drop only what A and B send to each other
#   net.sh oneway A B              drop only what A sends to B
#   net.sh port HOST PORT          drop TCP to HOST:PORT (a firewalled rendezvous port)
#   net.sh newconn HOST [ALLOWED]  drop new TCP connections to HOST, except to port ALLOWED
#   net.sh refuse HOST PORT        answer TCP to HOST:PORT with a reset (closed port)
#   net.sh loss HOST PERCENT       drop PERCENT of the frames from and to HOST at random
#   net.sh slow HOST RATE          limit HOST's link to RATE (tc tbf: 1mbit, 100kbit, ...)
#   net.sh unplug HOST             carrier down (cable pulled)
#   net.sh heal                    undo everything, on all hosts
set -euo pipefail
TB_DIR=${TB_DIR:-/run/rankscope-lab}
hub() { ip netns exec rs-hub "$@"; }
ipof() { awk -v h="$1" '$2==h {print $1; f=1} END {exit !f}' "$TB_DIR/hosts"; }
port() { local a; a=$(ipof "$1"); echo "rs${a##*.}"; }        # the hub end of HOST's cable
rule() {                                                       # one nft rule in the hub bridge
  hub nft list table bridge fault >/dev/null 2>&1 || hub nft -f - <<'EOF'
table bridge fault {
  chain forward_ {
    type filter hook forward priority 0; policy accept;
  }
}
EOF
  hub nft add rule bridge fault forward_ "$@"
}

case ${1:-} in
  blackhole) rule iifname "$(port "$2")" drop; rule oifname "$(port "$2")" drop ;;
  partition) rule ip saddr "$(ipof "$2")" ip daddr "$(ipof "$3")" drop
             rule ip saddr "$(ipof "$3")" ip daddr "$(ipof "$2")" drop ;;
  oneway)    rule ip saddr "$(ipof "$2")" ip daddr "$(ipof "$3")" drop ;;
  port)      rule ip daddr "$(ipof "$2")" tcp dport "$3" drop ;;
  newconn)   rule ip daddr "$(ipof "$2")" tcp dport != "${3:-0}" tcp flags \& \(syn \| ack\) == syn drop ;;
  refuse)    # the bridge family has no reject here: the rule goes into the host itself
             ip netns exec "rs-$2" nft add table inet fault
             ip netns exec "rs-$2" nft add chain inet fault in '{ type filter hook input priority 0 ; }'
             ip netns exec "rs-$2" nft add rule inet fault in tcp dport "$3" reject with tcp reset ;;
  loss)      n=$3; rule iifname "$(port "$2")" numgen random mod 100 \< "$n" drop
             rule oifname "$(port "$2")" numgen random mod 100 \< "$n" drop ;;
  slow)      # 32 kbit burst minimum: tbf needs room for one full frame
             hub tc qdisc replace dev "$(port "$2")" root tbf rate "$3" burst 16kb latency 2s
             ip netns exec "rs-$2" tc qdisc replace dev eth0 root tbf rate "$3" burst 16kb latency 2s ;;
  unplug)    hub ip link set "$(port "$2")" down ;;
  heal)
    hub nft delete table bridge fault 2>/dev/null || true
    for ns in $(ip netns list | awk '/^rs-/ && $1!="rs-hub" {print $1}'); do
      ip netns exec "$ns" nft delete table inet fault 2>/dev/null || true
      ip netns exec "$ns" tc qdisc del dev eth0 root 2>/dev/null || true
    done
    for p in $(hub ip -o link show master br0 | sed -E 's/^[0-9]+: ([^@:]+).*/\1/'); do
      hub ip link set "$p" up; hub tc qdisc del dev "$p" root 2>/dev/null || true
    done ;;
  *) sed -n '2,17p' "$0" | sed 's/^# \{0,1\}//'; exit 2 ;;
esac
