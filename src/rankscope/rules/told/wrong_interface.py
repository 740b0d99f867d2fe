"""A rank announces an address that the others cannot reach.

## What it means
The library picked loopback, a docker bridge or another interface whose address means nothing on the other hosts. They connect to
themselves or to nowhere.

## How it is recognised
A log of several hosts shows `Using interface lo:127.0.0.1`, `remote=[127.0.0.1]` or `172.17.0.1`, then refused or timed-out connections;
`no socket interface found`; a Ray request for `node:ADDRESS` that no node of the cluster bears; `No interface found in the same subnet`; gloo's `Unable to find address for: ^lo` (gloo knows no
exclusions), or dask's `interface 'ib0' doesn't have an IPv4 address`; an interface that is set and has no address on some of the hosts; several hosts told to meet at `localhost`; a worker that says again and again that it wants to reach its scheduler; somebody's word that it works once the
interface is named. A setting that names a card which the host does not have; a process of one network that seeks its peer at the address of a
container's bridge (172.17.0.0/16).

## What to do
`ip -br addr` on each host; `NCCL_SOCKET_IFNAME=eth0`, `GLOO_SOCKET_IFNAME=eth0` with the name of the interface between the hosts; make
`getent hosts $(hostname)` answer with an address others can reach, not 127.0.1.1. For every host:

    ip -br addr; getent hosts $(hostname); ip route get PEER      # the interface that leads to a peer
    export NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0 TP_SOCKET_IFNAME=eth0
    mpirun --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 …   # Open MPI
    export VLLM_HOST_IP=$(ip -4 -br addr show eth0 | awk '{print $3}' | cut -d/ -f1)

## How to prevent it
Name the interface in the job's environment; check before the run that every host reaches that address of every other (`ping -I IF PEER`).
Cases: https://github.com/horovod/horovod/issues/584 and https://github.com/aws-samples/aws-do-eks/pull/69
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._findings import finding
from ._signs import POSSIBLE, Hit, Sign, hits
from ._wordings import HALTS

_LOCAL = r"(?:127\.0\.[01]\.1|::1|localhost|\blo\b|docker0|virbr\d|172\.1[78]\.0\.\d|169\.254\.)"
# Addresses of bridges that container runtimes and virtual machines make on each host for itself, and those without a network.
_BRIDGE = (
    r"(?:172\.1[78]\.0\.\d+|192\.168\.122\.\d+|192\.168\.65\.\d+|10\.0\.2\.15|10\.88\.0\.\d+|169\.254\.\d+\.\d+|"
    r"fe80:[\w:%]*)"
)
_LOST = r"(?:refused|timed out|[Tt]imeout|failed|unreachable|No route|can ?not (?:be )?(?:reach|connect)\w*)"
_MANY = r"(?:nodes?|hosts?|machines?|pods?|instances?)\b|size=(?:[2-9]|\d\d)|nranks|--nnodes|node\d|host\w* \w+:"
# Interfaces that mean something on their own host only: of container runtimes, virtual machines, tunnels, cables to a neighbour.
OWN_IF = (
    r"lo|docker\d+|docker_gwbridge|br-[0-9a-f]{6,}|virbr\d+|lxcbr\d+|lxdbr\d+|cni\d+|cni-podman\d+|podman\d+|"
    r"nerdctl\d+|flannel\S*?|cali\w+|veth\w+|cilium\w+|kube-\w+|vboxnet\d+|vmnet\d+|tun\d+|tap\d+|utun\d+|wg\d+|zt\w+|"
    r"tailscale\d+|usb\d+|dummy\d+"
)
# Ranks that make steps have met: what was said of addresses before is of an attempt that is over.
_SIGNS = (
    Sign(r"\b(?:MASTER_ADDR|host|name|node|address|coordinator|master|server|scheduler|head|pod|worker|leader)\w*\b[^\n]{0,40}\bresolv\w+ to (?:127\.|localhost|::1|169\.254)", "a name leads to loopback", prose=True),
    Sign(rf"Using (?:\w+ )?(?:interface )?(?:\[0\])?(?:{OWN_IF}):|Using interface {_LOCAL}|Bootstrap ?: Using (?:{OWN_IF})\b", "the library took an interface that others cannot reach",
         also=(r"refused|timeout|timed out|No route|fail|unreachable|hang|stuck|2 nodes|nodes",), passing=True),
    Sign(rf"\b(?:remote|peer|to)[= ]\[?{_LOCAL}\]?[^\n]*(?:local=\[{_LOCAL}|size=)|local=\[{_LOCAL}\]", "ranks announce a loopback address", also=(r"refused|timed out|fail|connect",), passing=True),
    Sign(r"\b(?:SO_ERROR: )?Connection refused[^\n]*remote=\[127\.0\.0\.1\]|connectFullMesh[^\n]*127\.0\.0\.1", "a rank connects to itself instead of its peer", passing=True),
    Sign(r"[Cc]ould not find (?:an? |any )?(?:local )?(?:address|interface) (?:associated with|matching|that matches|for|in|within) (?:the )?(?:hint |subnet |network )?['\"]?(?:\d{1,3}(?:\.\d{1,3}){3}|[a-z]{2,8}\d{1,3}\b)|[Nn]o (?:socket )?interface found|No interface found in the same subnet|Unable to find (?:address|interface) for: ?\S+|Unable to (?:resolve|find)(?! any relevant)[^\n]*interface|no such interface|No usable interface",
         "no interface fits the setting", passing=True),
    Sign(r"\b(?:NCCL|GLOO|TP|UCX|OMPI)_?(?:SOCKET_IFNAME|NET_DEVICES|IFNAME)[^\n]{0,120}(?:wrong|did not exist|not exist|mismatch)", "the setting of the interface is wrong", prose=True),
    # Rabit's sockets (dmlc-core): the tracker's address as the workers were told it.
    Sign(r"\b(?:re)?connect to (?:ip)?\(?(?:retry time \d{1,4}|failed)\)?:? ?\[(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)\]", "workers seek their tracker at an address that is each host's own", passing=True),
    # What NVSHMEM's bootstrap and others say of the card that a setting names.
    Sign(r"\b[A-Z_]{2,40}(?:IFNAME|NET_DEVICES|IF_INCLUDE|INTERFACE)\b[= :'\"]{1,4}[\w.:,^=-]{1,40}['\"]? (?:(?:does(?:n't| not)|did(?:n't| not)) exist|(?:is|was) not (?:found|present|available|there)|not found|no such (?:device|interface))", "the setting names an interface that the host does not have", passing=True),
    Sign(r"Couldn't detect a suitable IP address[^\n]*defaulting to|Timed out connecting Nanny|Nanny failed to start|Failed to start nanny", "a worker announces an address of its own, and never reaches its scheduler"),
    Sign(r"Match incoming connection from[^\n]*(?:failed|not match)|dropped inbound connection|Unable to find reachable pairing between local and remote interfaces|btl[: ]tcp[^\n]*(?:unreachable proc|no route|invalid interface|does not match any)|HYDU_sock_connect[^\n]*(?:unable to connect|refused)|unable to connect from \S+ to \S+ \((?:Connection refused|No route)",
         "MPI advertised an address that its packets do not come from, or that leads nowhere"),
    Sign(r"Unable to resolve hostname to a \(?local\)? address|Using the loopback address as fallback", "the host's name leads to no address of its own, and loopback is announced"),
    Sign(r"connectFullMesh failed[^\n]*no error", "the ranks could not connect to each other", unless=(r"Connection (?:refused|reset|timed out)|No route to host|Killed|out of memory",)),
    # Port 0 is any that is free: only the address can be what is refused.
    Sign(r"\b(?:[Ff]ailed|[Uu]nable|[Cc]annot|[Cc]ould not) (?:to )?bind (?:to )?/?\d{1,3}(?:\.\d{1,3}){3}:0\b", "the address to listen at is none of this host's"),
    Sign(r"(?:btl|oob|ptl)[_ ]tcp[_ ]if[_ ][^\n]{0,200}\n(?:[^\n]{0,200}\n)?\s{0,20}at once\b", "named, the other interface answers at once"),
    Sign(r"(?:bind|listen|server socket)[^\n]*(?:Cannot assign requested address|errno:? ?99\b|EADDRNOTAVAIL)|(?:Cannot assign requested address|\[Errno 99\])[^\n]*(?:bind|listen)", "the address to listen at is none of this host's"),
    Sign(r"Every node should have a unique IP address|This node has an IP address of \S+[^\n]*(?:cannot|can not|could not) find|accepted a TCP connection from what appears to be (?:an?\s+)?(?:another\s+)?Open MPI process|received unexpected process identifier", "a framework says that the addresses of the nodes are not right"),
    Sign(r"\b(?:NCCL|GLOO|TP|HCCL|BKCL|MSCCL|UCCL)_SOCKET_IFNAME\b|\bUCX_NET_DEVICES\b|\b(?:VLLM_HOST|HCCL_IF|SGLANG_HOST|RAY_NODE)_IP\b|\b(?:btl|oob)_tcp_if_\w+|--(?:interface|node-ip-address|network-interface)\b|\binterface=|\bcontact[-_]address\b|(?:--net(?:work)?[= ]host\b)|/etc/hosts\b", "naming the interface or address cures it", cures=True),
    Sign(r"\b(?:NCCL|gloo|MPI|ray|UCX|HCCL|RCCL|it|library|framework)\b[^\n]{0,16}\b(?:took|takes|picks?|picked|chooses?|chose|selects?|selected|binds?(?: to)?|bound(?: to)?|settles? on)\b[^\n]{0,24}\b(?:ib\d+|docker\d?|virbr\d|lo|loopback|wlan\d|tun\d|br-\w+|veth\w+|cni\d|flannel\S*|eth\d+|en[ops]\w+|bond\d)\b", "the library took an interface that others cannot reach", anywhere=(HALTS,), prose=True),
    Sign(r"(?:Connect(?:ing)? to|Call to \w+ (?:from|to)) (?:172\.1[78]\.0\.\d+|169\.254\.\d+\.\d+|fe80:[\w:%]+)<?\S* (?:failed|timed out|refused)|(?:remote|peer|connect\w{0,20})[^\n]{0,20}(?:fe80:|169\.254\.|172\.1[78]\.0\.1\b)[^\n]*(?:fail|refused|timed out|No route|unreachable)", "a connection goes to an address that only its own host knows"),
    # Docker's default bridge (docs.docker.com, "Bridge network driver") is each machine's own: a container there is reached from its machine only.
    Sign(r"(?:\bUsing (?:interface )?(?:\[0\])?\w{1,15}:|\b(?:Local node IP|node-ip-address|MASTER_ADDR|VLLM_HOST_IP|HOST_IP|Start worker at|Listening to|announces|advertises)\b[:= ]{1,12}(?:\w{1,8}://)?)172\.17\.0\.\d{1,3}\b", "a container announces its address on the bridge of its own machine", anywhere=(r"\bcontainers?\b|\bdocker\b(?!0)", r"\b(?:machine|node|host|server|VM|box)[ _-]?(?:2|two|B)\b|\b(?:two|both|three|four|several|[2-9]|the other|another|the second|different) (?:\w+ )?(?:machines?|nodes?|hosts?|servers?|VMs)\b|--?nnodes[= ](?:[2-9]|\d\d)", HALTS + r"|refused|unreachable|No route"), unless=(r"--net(?:work)?[= ]host\b|\b(?:overlay|macvlan|ipvlan|swarm|weave|calico|flannel|kubernetes|k8s|pods?)\b",), passing=True),
    # Rows of ss(8), and what Open MPI's btl/tcp says with btl_base_verbose.
    Sign(rf"\bSYN[-_]SENT\b[^\n]*\s{_BRIDGE}:\d+\b|attempting to connect\(\) to \[\[\d+,\d+\],\d+\] address {_BRIDGE} on port", "a connection goes to an address that only its own host knows"),
    Sign(rf"{_LOST}[^\n]{{0,60}}(?:tcp://|//|to |address |\b)['\"(]?{_BRIDGE}|(?:tcp://|//|connect\w* (?:to )?|peer |remote[= ]\[?)['\"(]?{_BRIDGE}[^\n]{{0,60}}{_LOST}", "a connection goes to an address that only its own host knows"),
    Sign(r"No (?:IP )?interface found \(?starting with|network device '[^']+' is not available|can't find non-loopback interface|common task-to-task communication interfaces|[Ff]ailed to get the interface|could not bind on a random free port|Unable to resolve address for|Socket creation failed : Address family not supported|no (?:active|usable|suitable) (?:IP |network )?(?:interface|address)", "no interface fits the setting"),
    Sign(r"(?:TF_CONFIG|MASTER_ADDR|master[-_]addr|rdzv[-_]endpoint|dist[-_]init[-_]addr\w*|init_method|coordinator_address|\bcluster\b|scheduler|head[-_]?(?:ip|addr\w*))\W{1,4}[^\n]{0,40}\b(?:localhost|127\.0\.0\.1)\b", "several hosts are told to meet at an address that is each one's own",
         anywhere=(r"--?nnodes[ =:]*(?:[2-9]|\d\d)|--?nnode[ =][2-9]|(?:both|two|three|four|several|all|[2-9]|\d\d+) (?:\w+ )?(?:machines|nodes|hosts|servers|VMs)\b|\b(?:machine|node|host|server)[ _-]?2\b|node_rank=[1-9]", HALTS + r"|nothing more"), prose=False),
    Sign(r"failed to TCP connect to a peer MPI process|Unable to find reachable pairing|Call to connect returned|connectFullMesh failed", "a peer is sought at an address that each host has for itself", anywhere=(r"\b(?:docker\d|virbr\d|br-[0-9a-f]{6,}|cni\d|lxcbr\d|podman\d|flannel\.\d)\b:? ", r"\binet (?:addr:)?(?:172\.1[78]|192\.168\.122|10\.88)\.|docker0 \S+ *UP|docker0: flags=\d+<UP")),
    Sign(r"failed to TCP connect to a peer MPI process|identified itself as\s+part of this Open MPI job|from an IP address that is\s+unexpected", "MPI tried an address at which its peer is not", POSSIBLE),
    Sign(r"gloo[^\n]*(?:getaddrinfo|Name or service not known|unable to resolve)|resolve hostname[^\n]*loopback|hostname[^\n]{0,30}(?:does not|cannot be|could not be|can't be) resolve(?!\w* (?:from|on|by|at|in) )", "the own name of a host leads nowhere", prose=False),
    Sign(r"connectFullMesh failed", "the ranks could not connect to each other", POSSIBLE),
    Sign(r"\binterface \S+ (?:doesn't|does not|has no|did not) (?:have|exist|IPv)|is not a valid network interface|(?:get|found?) (?:host|local|device) ip fail\w*|[Nn]o available (?:interface|ip)|Get host ?ip[^\n]*fail|\bEI0009\b", "no interface fits the setting"),
    Sign(r"\[Errno 99\]|Cannot assign requested address: \(", "the address to listen at is none of this host's", unless=(r"\b(?:ephemeral|TIME[-_]WAIT|local port|ip_local_port_range)|\btimewait \d{4,}",)),
    Sign(r"\b(?:announce[sd]?|advertis\w+|register(?:s|ed)?(?: itself)?(?: as| at)?|Start worker at|contact address|Listening to|reachable at|publishes?)\b\W{0,5}(?:[a-z]+://)?127\.0\.[01]\.1", "a worker announces a loopback address", anywhere=(r"\b(?:another|other|second|remote|two|both|different) (?:machine|host|node|server|VM)s?\b|--?nnodes|nodes?=[2-9]",)),
    Sign(r"(?:Start worker at|Listening to): +\w+://127\.0\.0\.1:\d+(?:[^\n]*\n){1,8}?[^\n]*(?:Waiting to connect to|Registered to): +\w+://(?!127\.)\d", "a worker announces a loopback address"),
    Sign(r"[Rr]egister worker[^\n]*//127\.0\.0\.1:\d+|failed during get data with \w+://127\.0\.0\.1:\d+", "a worker announces a loopback address", anywhere=(r"//(?!127\.)\d+\.\d+\.\d+\.\d+:\d+|\((?!127\.)\d+\.\d+\.\d+\.\d+:8786\)",)),
    Sign(r"None of the TCP networks specified to be included|An invalid value was given for (?:btl|oob)_tcp_if_|(?:NCCL|GLOO|HCCL|TP)_SOCKET_IFNAME\]? (?:is invalid|error)|set \w+_SOCKET_IFNAME error", "no interface fits the setting"),
    Sign(r"unable to reach each other for MPI communications", "MPI found no way between two processes", POSSIBLE),
    Sign(r"btl[:_ ]tcp\w*[^\n]*connect\(\) to \S+ failed: (?:No route|Network is unreachable|Connection refused|Connection timed out)", "MPI advertised an address that its packets do not come from, or that leads nowhere", anywhere=(r"mpi(?:run|exec)[^\n]*(?:-H\b|--?host|-hostfile|--?machinefile)|\]\[\[\d+,\d+\],[1-9]\d*\]",)),
    Sign(r"\bresolv\w+ [^\n]{0,24}\bto (?:127\.|localhost|loopback|::1|169\.254)", "a name leads to loopback", prose=True),
    Sign(r"\b(?:address|IP|interface|NIC|subnet|network)\b[^\n]{0,30}\b(?:that|which)\b[^\n]{0,30}\b(?:cannot|can't|can not|could not|is not|not) (?:be )?(?:reach\w*|rout\w*|connect\w*)", "the address that is announced is not reached by the others", prose=True),
    Sign(r"\b(?:VPN|tun\d|tailscale\d?|wireguard|wg\d|zerotier)\b", "without the other network it works", cures=True),
    Sign(r"\b(?:tries|picks?|uses?|chooses?|takes?|binds?|announces?|connects?)\b[^\n]{0,30}\b(?:link-local|fe80:)", "an address that only its own link knows is used", prose=True),
    Sign(r"\b\w*(?:SOCKET_IFNAME|IFNAME|NET_DEVICES)\b[^\n]{0,50}\b(?:no (?:cable|link|carrier|address)|is down|was down|wrong|not connected|unplugged|does not exist)\b", "the setting of the interface is wrong", prose=True),
    Sign(r"\b(?:took|takes|picks?|picked|chooses?|chose|selects?|selected|binds?(?: to)?|bound(?: to)?|uses?|used|announces?|advertises?)\b[^\n]{0,16}\b(?:wi-?fi|wlan\w*|vpn|docker|bridge|loopback|management|public|external|wrong|second)\b[^\n]{0,6}\b(?:address|interface|NIC|IP|network)\b", "the library took an interface that others cannot reach", prose=True),
    Sign(r"\b(?:excluding|exclud\w+|without|removing|taking down|bring\w* down|ifdown|ip link set)\b[^\n]{0,20}\b(?:docker\d?|virbr\d|tun\d|br-\w+|veth\w*|cni\d|lxcbr\d)\b", "without the other interface it works", cures=True),
    Sign(r"\bconnect\(\d+, [^\n]*inet_addr\(\"(?:127\.0\.1\.1|172\.1[78]\.0\.\d+|169\.254\.[\d.]+|192\.168\.122\.\d+)\"\)[^\n]*(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)", "a connection goes to an address that only its own host knows"),
    Sign(r"hostname[^\n]{0,60}resol\w{1,20}[^\n]{0,60}(?:127\.|loopback|localhost)|/etc/hosts[^\n]{0,60}127\.0\.1\.1", "the host's own name leads to loopback", prose=True),
    Sign(r"connecting to address [^\n]*with family \d+ is neither", "an interface was forced that a host does not have: its address is empty", anywhere=(r"NCCL_SOCKET_IFNAME(?: set| ?=)",)),
    Sign(r"connecting to address [^\n]* with family \d+ is neither|ncclSocketInit[^\n]*family", "a peer announced no usable address", POSSIBLE),
    Sign(r"connect\(\) to (?:127\.|172\.1[78]\.0\.1\b|169\.254\.)[\d.]* failed|connect \[?127\.0\.1\.1\]?:\d+: Connection refused", "a connection goes to an address of the own host"),
    # Pairs of gloo connect to what the peer has announced; to loopback only where its host's name leads there.
    Sign(rf"gloo/transport/\w+/pair\.cc\S* connect \[?{_LOCAL}\]?\S*[^\n]*refused", "a rank connects to itself instead of its peer", also=(_MANY,)),
    Sign(rf"^(?!curl\b)[^\n]*?\b(?:connect|connection)[^\n]{{0,160}}{_LOCAL}[^\n]{{0,160}}(?:refused|timed out|failed)", "a connection goes to a local address", POSSIBLE, also=(_MANY,)),
    Sign(r"At least one pair of MPI processes are unable to reach each other for", "MPI finds no way between two of its processes", POSSIBLE),
)  # fmt: skip

_TITLE = "a rank announces an address that the others cannot reach"
_STEPS = (
    "ip -br addr; getent hosts $(hostname)",
    "export NCCL_SOCKET_IFNAME=eth0 GLOO_SOCKET_IFNAME=eth0   # the name of the interface between the hosts",
)
# Ray gives each node a resource named after its address: a request for another address is never met.
_REQUEST = r"(?:fulfill resource request|creating a placement group)[^\n]*(?:\n[^\n]*)?'node:(\d+\.\d+\.\d+)\.\d+'"
_MEMBER = r"(?:Local node IP: ?|--node-ip-address[= ]|\b(?:ray|cluster|head|node)\b[^\n]{0,30}\b(?:started|joined|registered|formed|runs)\b[^\n]{0,24}?\b)(\d+\.\d+\.\d+)\.\d+"
_KNOCKS = regex(r"(?:Waiting|Trying) to connect to(?: scheduler)?: +tcp://")
_LEFT = r"\bnode\b[^\n]{0,60}\b(?:died|dead|removed|lost|left)\b"


def check(case: Case) -> Iterator[Finding]:
    compared = list(_to_the_bridge_of_another(case))
    found = [*hits(case, _SIGNS), *_asks_for_unknown_node(case), *_without_address(case), *_knocks(case), *compared]
    if found:
        made = finding(RULE, case, found, _TITLE, _STEPS)
        yield replace(made, compared=made.compared or bool(compared))


# Docker's default bridge, which each machine has for itself, and whoever could not be reached at an address of it.
_TO_BRIDGE = regex(
    rf"{_LOST}[^\n]{{0,80}}\b172\.17\.\d{{1,3}}\.\d{{1,3}}\b|\b172\.17\.\d{{1,3}}\.\d{{1,3}}\b[^\n]{{0,80}}{_LOST}"
)
_ELSEWHERE = regex(r"(?!172\.17\.|127\.)\d{1,3}(?:\.\d{1,3}){3}")


def _to_the_bridge_of_another(case: Case) -> Iterator[Hit]:
    """Who stands on a host of another network (Ray tells its address before each line) seeks a peer at such an address."""
    for one in accounts(case):
        for event in one.events:
            if event.host and _ELSEWHERE.fullmatch(event.host) and _TO_BRIDGE.search(event.text):
                says = f"a process on {event.host} seeks its peer at an address of a container's bridge"
                yield Hit(Sign(_TO_BRIDGE.pattern, says), one, event.text.strip())
                return


# An interface by which hosts reach each other, that it has no address, and the settings that name one.
_CARD = r"(?:ib|eth|en[ops]|bond|hsn|mlx)\w{0,12}"
_BARE = regex(
    rf"\b(?P<card>{_CARD})\b[^\n]{{0,12}}\b(?:has|have|had|with|bears?) no (?:IPv[46] |IP |inet )?address|"
    rf"\b(?:no|without an?) (?:IPv[46]|IP|inet) address (?:on|for|at) (?:the )?(?:interface )?(?P<named>{_CARD})\b",
    re.IGNORECASE,
)
_SET = regex(
    rf"(?:\binterface ?[=: ] ?\W?|--interface[= ]|_IFNAME\W{{1,2}}|tcp_if_include\W{{1,2}})(?P<card>{_CARD})",
    re.IGNORECASE,
)


def _without_address(case: Case) -> Iterator[Hit]:
    """An interface that is set, and that has no address on some hosts: what one host was told is true of itself only."""
    told = accounts(case)
    chosen = {found["card"].lower() for one in told for found in _SET.finditer(one.text)}
    for one in told if chosen else ():
        for found in _BARE.finditer(one.prose):
            if (found["card"] or found["named"]).lower() in chosen:
                says = "the interface of the setting has no address on some hosts"
                yield Hit(Sign("", says), one, found[0])
                return


def _knocks(case: Case) -> Iterator[Hit]:
    """A worker that says again and again that it wants to reach its scheduler: each line alone is a matter of routine."""
    for one in accounts(case):
        said = [event.text for event in one.events if _KNOCKS.search(event.text)]
        if len(said) > 2:
            yield Hit(Sign(_KNOCKS.pattern, "a worker never reaches its scheduler"), one, said[-1])


def _asks_for_unknown_node(case: Case) -> Iterator[Hit]:
    """A request for a node by an address of a network in which the cluster has no node."""
    told = accounts(case)
    networks = {network for one in told for network in re.findall(_MEMBER, one.text, re.I)}
    if not networks or any(one.find(_LEFT) for one in told):
        return
    for one in told:
        asked = re.search(_REQUEST, one.text)
        if asked and asked.group(1) not in networks:
            sign = Sign(_REQUEST, "a node is asked for by an address of a network in which the cluster has no node")
            yield Hit(sign, one, " ".join(asked.group(0).split()))


RULE = make_rule(__name__, __doc__, "wrong-interface", 25, check)
