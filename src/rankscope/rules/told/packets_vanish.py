"""Connections stand, but data does not arrive.

## What it means
A firewall, a NAT table with an idle limit, a wrong MTU or a broken path drops packets silently. Small messages and the set-up work; large or late ones never complete.

## How it is recognised
Sockets with a full send queue and retransmissions (`ss -ti`), `Connection timed out` (110) or `No route to host` (113) in the middle of a run, transfers that hang from
one size on between two hosts, while each host alone works; `ping` passes and the ports above the master's do not; a full table of connections (`nf_conntrack: table full`), a card
that stopped sending (`NETDEV WATCHDOG`); a try by hand that is not answered (`nc … timed out`, `29500/tcp filtered`, `packet loss`, `message too long`). In
Kubernetes a proxy of a service mesh (`istio-proxy`, Envoy's `upstream connect error`) stands between the pods; elsewhere `http_proxy` does.
An interface whose frames (`mtu 9001` of `ip addr`) are longer than somebody says that the way or the other end takes.

## What to do
From one host to the other:

    ping -c 3 -M do -s 8972 PEER || ping -c 3 -M do -s 1472 PEER    # which MTU gets through
    nc -l 41000 & ssh PEER nc -zv $(hostname -I | cut -d' ' -f1) 41000  # do other ports than the master's pass
    ss -tin dst PEER; tcpdump -ni IF host PEER -c 50

    kubectl get pod -o jsonpath='{.items[*].spec.containers[*].name} {.items[*].spec.initContainers[*].name}'
    # istio-proxy among them? the pods' label sidecar.istio.io/inject: "false" leaves it out
    env | grep -i _proxy; unset http_proxy https_proxy

Open all ports between the nodes (NCCL and gloo take any of `net.ipv4.ip_local_port_range`), equal MTU on all links.

## How to prevent it
A test of all pairs with large messages before the run (`iperf3`, `all_reduce_perf -b 1M -e 1G` of nccl-tests).
A hang by an MTU that did not fit: https://github.com/NVIDIA/nccl/issues/1957
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import Account, accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding
from ...model.patterns import regex
from .. import make_rule
from ._drops import HOST_DROPS
from ._findings import finding
from ._signs import POSSIBLE, Hit, Sign, hits
from ._wordings import HALTS

_HOSTS = (
    r"--?nnodes[ =:]*(?:[2-9]|\d\d)|--?node[-_]rank\b|"
    r"\b(?:two|three|four|both|several|other|\d+) (?:\w+ )?(?:machines|nodes|hosts|servers|VMs)\b|"
    r"\b(?:machine|node|host|server)[ _-]?[12]\b"
)

# What the kernel of a host says of its own network.
_RESENT = "data waits in a socket and is sent again and again"
_SIGNS = (
    *HOST_DROPS,
    Sign(r"\b(?:firewall|iptables|nftables|security group|ufw|network ?policy|conntrack|NAT\b|idle (?:time-?out|connection)|(?<!_)MTU(?!\w|\W{0,3}\d+(?: *$| +Metric| +qdisc\b))|jumbo|(?<!\b0% )(?<!\b0\.0% )packet loss|dropp\w+ packets|packets? (?:are |is )?(?:dropped|lost)|black-?hol\w+|(?<!segments )(?<!fast )retransmi\w+(?! in slow start))", "a path between the hosts drops packets",
         anywhere=(r"hang|stuck|time-?out|timed out|never|block|not arrive|no response|no data|\bdead\b|waits? (?:in|for)|\bstands? still\b|\bstill there\b",), unless=(r"Got completion with|NCCL_IB_GID",), prose=True),
    # Somebody looked at the other end: it takes connections, and says nothing on them.
    Sign(r"\b(?:ports?|connections?)\b[^\n]{0,24}\b(?:is|are|was|were|gets?) (?:still )?(?:open|accepted|taken|established|made|ESTAB\w*)\b[^\n]{0,60}\b(?:(?:does(?:n't| not)|did(?:n't| not)|never) (?:answer|respond|repl(?:y|ies)|say)|(?:no|without (?:an? )?) ?(?:answers?|response|repl(?:y|ies)|data|bytes?)\b|nothing (?:comes|arrives|is (?:sent|answered)))", "the other host takes connections, and nothing comes back on them", anywhere=(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)|^\s*File \"",), unless=(r"\blocalhost\b|127\.0\.0\.1|\bunix socket\b|\ball_?reduce\b",), prose=True),
    # A program that talks to another host over ssh polls the pipes of that child, and nothing comes out of them.
    Sign(r"\b(?:select|poll|epoll_wait|ppoll|pselect6?)\b[^\n]{0,60}\bssh\b[^\n]{0,60}(?:\(Timeout\)|\btime(?:s|d)? out\b|= 0\b|\bnothing\b)|\bssh\b[^\n]{0,60}\b(?:select|poll|epoll_wait)\b[^\n]{0,60}(?:\(Timeout\)|\btime(?:s|d)? out\b|= 0\b|\bnothing\b)", "a program polls the pipes of its ssh, out of which nothing comes any more", POSSIBLE, anywhere=(HALTS + r"|\bno (?:more )?(?:file|line|byte|CPU)s?\b",), unless=(r"\bpassword\b|\bpassphrase\b|\bask(?:s|ed|ing)?\b|\bstderr\b[^\n]{0,24}\bfull\b",)),
    Sign(r"\b(?:firewall\w*|iptables|nftables|ufw|security groups?|network ?polic\w+|(?:opening|allowing|open|allow)(?:ed|ing)? (?:all )?(?:tcp |the |high )*(?:ports?|tcp|traffic)|MTU|jumbo frames?|tcp_keepalive\w*|keep-?alives?|(?:https?|no|all)_proxy|sidecars?(?! process)|istio\w*)\b", "a change of the path between the hosts cures it", cures=True),
    Sign(r"unable to complete a TCP connection|usually caused by a firewall|socketStartConnect: exceeded retries|exceeded error retry count", "a rank cannot reach its peer: a firewall or a missing route"),
    Sign(r"\bping\w*\b[^\n]{0,30}\b(?:works?|pass(?:es)?|ok|fine|succeeds?|answer\w*|replies|reachable)\b[^\n]*\b(?:but|yet|while|only|other ports?|high ports?)\b|\b(?:random|high|ephemeral|back[- ]?connect\w*) (?:high )?ports?\b", "the hosts reach each other, but not at every port", anywhere=(HALTS + r"|refused|fail\w*|no difference", _HOSTS), prose=True),
    Sign(r"\bping\w*\b[^\n]{0,30}\b(?:works?|pass(?:es)?|ok|fine|succeeds?|answer\w*|replies|reachable)\b", "the hosts reach each other by ping, and yet their ranks do not go on", POSSIBLE, anywhere=(_HOSTS,), prose=True),
    Sign(r"\bnc: connect to \S+ port \d+ \(tcp\) (?:failed|timed out)[^\n]*(?:timed out|No route|in progress|unreachable)|\bNcat: (?:TIMEOUT|Connection timed out|No route to host|Network is unreachable)|telnet: [^\n]*(?:timed out|No route to host|unreachable)|curl: \((?:7|28)\) Failed to connect to \S+ port (?!443\b|80\b)\d+[^\n]*(?:[Tt]imed? ?out|No route|unreachable)|^\d+/tcp +filtered|(?:bash: connect|/dev/tcp/\S+): (?:Connection timed out|No route)|iperf3?: [^\n]{0,100}unable to connect[^\n]*(?:timed out|No route|unreachable)",
         "a try by hand at a port is not answered", passing=True),
    Sign(r"From \S+ icmp_seq=\d+ (?:Frag needed|Packet filtered|Destination)|(?<![\d.])(?:[1-9]\d?(?:\.\d+)?|100)% packet loss|(?:ping|local error|sendmsg)[^\n]{0,16}: [Mm]essage too long", "ping shows that packets are lost or too long", unless=(r"\b(?:powered|switched|turned) (?:off|down)\b|kernel panic|\bre-?boot(?:ed|s|ing)?\b",), anywhere=(HALTS + r"|rank|all_?reduce|nccl|gloo|mpi|" + _HOSTS,)),
    Sign(r"\b(?:istio(?:-proxy|-init)?|envoy|linkerd(?:-proxy)?|service mesh|mesh proxy|(?:proxy|mesh)[ -]sidecars?|sidecars?(?:\.istio\b| (?:prox(?:y|ies)|inject\w*|(?:is|are|was|were|gets?) inject\w*))|inject\w*\b[^\n]{0,20}\bsidecars?)\b(?! (?:is|are|was) (?:not|off|disabled)\b)|upstream connect error|RBAC: access denied", "a proxy of a service mesh stands between the pods", anywhere=(HALTS + r"|refused|reset|rank|init_process_group|nccl|gloo|worker", r"\b(?:pods?|kubectl|kube\w*|containers?|READY|namespace|upstream connect)\b"), unless=(r"inject\W{1,4}\W?false",)),
    Sign(r"\b(?:HTTP|http) proxy\b[^\n]{0,60}(?:fail|403|407|denied|refused|timed out)|grpc_proxy_mapper|\bSquid\b[^\n]{0,40}\b(?:error|denied|403|407|50[23])\b|ERR_ACCESS_DENIED|(?:CONNECT|tunnel) [^\n]{0,40}\b(?:403|407|502|503)\b", "connections between the hosts go to a proxy", POSSIBLE, anywhere=(HALTS + r"|UNAVAILABLE|fail",)),
    Sign(r"^(?![^\n]*no active messages transport)[^\n]*?(?P<said>Destination is unreachable)", "a rank cannot reach its peer: a firewall or a missing route"),
    Sign(r"Connecting to rank \d+ failed, waiting for \d{5,} milliseconds", "a rank tries for minutes to reach its peer", POSSIBLE),
    Sign(r"\b(?:packets?|messages?|frames?|pings?|payloads?)\b[^\n]{0,30}\b(?:larger|bigger|longer|over|above|beyond) (?:than )?(?:1[0-9]{3}|[89]\d{3})B?\b(?! ?(?:\w+ ){0,3}(?:pass|work|arriv|fine|ok)\w*)|\bping -s \d{4,}\b[^\n]{0,40}\b(?:no|fails?|lost|100)", "large packets do not pass", prose=True),
    Sign(r"\bSYNs?\b[^\n]{0,40}\b(?:no|without|never)\b[^\n]{0,16}\b(?:answers?|reply|replies|ACK|SYN-?ACK|response)\b|\bSYN[-_]SENT\b(?![^\n]*\s(?:172\.1[78]\.0|169\.254\.\d+|192\.168\.122)\.\d+:\d)", "a connection is asked for, and nobody answers"),
    Sign(r"\b(?:within|inside|in) (?:one|the same|a single|each) (?:zone|availability zone|rack|subnet|region|VLAN|data ?center|cluster|site)\b[^\n]{0,40}\b(?:not|hangs?|fails?|but)\b", "it works within one network, not across", POSSIBLE, prose=True),
    Sign(r"NCCL WARN(?![^\n]*\bibv_)[^\n]{0,300}[Cc]onnect[^\n]*(?:timed out|No route to host)|\b(?:gloo|ucx|tcp)\b[^\n]{0,300}[Cc]onnect[^\n]*(?:No route to host|timed out)[^\n]*", "a rank cannot reach its peer: a firewall or a missing route", unless=(r"Using (?:\[0\])?(?:interface )?(?:lo|docker\d|virbr\d)\b|127\.0\.[01]\.1|169\.254\.|fe80:",)),
    Sign(r"(?:socket(?:Start|Poll|Finalize)Connect|ncclSocketConnect)[^\n]*(?:Software caused connection abort|timed out|No route to host|Network is unreachable|Operation now in progress)", "NCCL did not reach a peer", POSSIBLE, unless=(r"127\.0\.[01]\.1|169\.254\.|fe80:|172\.1[78]\.0\.",)),
    Sign(r"Max retries exceeded with url[^\n]*(?:timed out|unreachable|NewConnectionError|ConnectTimeout)|(?:huggingface\.co|hf\.co|pypi\.org|s3\.\S*amazonaws)[^\n]{0,80}(?:timed out|unreachable|No route)", "a server outside does not answer from here", POSSIBLE),
    Sign(r"^tcp6? +0 +[1-9]\d{4,} +\S+:\d+ +\S+:\d+ +ESTABLISHED", "data waits in a socket and is not taken", unless=(r"^(?:tcp6?|ESTAB) +[1-9]\d{4,} +",)),
    Sign(r"\bno (?:such )?(?:entry|connection|socket|session)\b[^\n]{0,16}\b(?:for|from|with|to|of) \d+\.\d+\.\d+\.\d+|\bnothing (?:with|from|of|for) \d+\.\d+\.\d+\.\d+", "one end has a connection of which the other end knows nothing", anywhere=(r"^(?:tcp\w* +\d+ +\d+ [^\n]*)?ESTAB|ESTABLISHED",), prose=True),
    Sign(r"\b(?:load[- ]?balancer|NAT|VPN|firewall)\b", "what stands between the hosts forgets connections that rest", anywhere=(r"\b(?:longer|more) than (?:about )?\d+ ?(?:s\b|sec\w*|min\w*|h\b|hours?)|\bidle (?:time-?outs?|connections?)\b|\bafter (?:about )?\d+ ?(?:min\w*|s\b|sec\w*) (?:of )?(?:idle|rest|silence|inactivity)", HALTS + r"|\bESTAB\w*"), prose=True),
    Sign(r"(?:Read|Write) error \[[^\]]*\]:\d+: (?:Connection timed out|No route to host)|\bread(?:v|msg)?: Connection timed out", "a connection that stood has timed out"),
    Sign(r"\bconnect\(\d+, [^\n]*\) = -1 (?:EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)", "a connection is asked for, and nobody answers", passing=True, unless=(r"inet_addr\(\"(?:127\.|172\.1[78]\.0|169\.254|192\.168\.122)",)),
    Sign(r"_allowance_exceeded\W+[1-9]\d\d+\b", "the cloud drops packets above an allowance", POSSIBLE, anywhere=(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)",)),
    # NCCL 2.23 counts its attempts; one that is refused a few times belongs to every start.
    Sign(r"connect returned (?:Connection timed out|No route to host|Network is unreachable)[^\n]*retrying \((?:[4-9]|\d\d+)/\d+\)", "NCCL tries again and again to reach a peer", passing=True, unless=(r"127\.0\.[01]\.1|169\.254\.|fe80:|172\.1[78]\.0\.",)),
    Sign(r"\[ *\d+\] +\d+\.\d\d-\d+\.\d\d +sec +0\.00 Bytes +0\.00 bits/sec|(?<![\d.])0\.00 Bytes +0\.00 bits/sec", "a test of the path connects, and then nothing passes", passing=True),
    Sign(r"need to frag\b|[Ff]ragmentation (?:needed|required)|ICMP[^\n]*\bFrag needed", "a host on the way says that packets are too long"),
    Sign(r"Flags \[S\][^\n]*?\bseq (\d+),[^\n]*\n(?:[^\n]*\n){0,2}?[^\n]*Flags \[S\][^\n]*?\bseq \1,", "a connection is asked for again and again, and nobody answers"),
    Sign(r"\bseq (\d+:\d+),[^\n]*length [1-9][^\n]*\n(?:[^\n]*\n){0,2}?[^\n]*\bseq \1,[^\n]*\n(?:[^\n]*\n){0,2}?[^\n]*\bseq \1,", "the same piece is sent again and again"),
    Sign(r"Chain (?:INPUT|FORWARD|OUTPUT) \(policy DROP [1-9]|^ *[1-9][\d.]*[KMG]? +[\d.]+[KMG]? +(?:DROP|REJECT) +(?:tcp|all|6|0) ", "a firewall of a host has dropped packets", POSSIBLE, anywhere=(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)",)),
    Sign(r"No route to host|errno[:= ]+113|Network is unreachable|errno[:= ]+101|EHOSTUNREACH", "a host cannot be reached", POSSIBLE, unless=(r"Using interface (?:lo|docker)|127\.0\.0\.1",)),
    Sign(r"^(?!.*(?:futex|restart_syscall|sigtimedwait|sem_\w*wait|nanosleep|mq_timed)).*(?:Connection timed out|ETIMEDOUT)|errno[:= ]+110\b|returned 110", "a connection timed out", POSSIBLE),
    Sign(r"timer:\(on,|Send-Q[^\n]*\n(?:[^\n]*\n)*?[^\n]*ESTAB +\d+ +[1-9]\d{3,}|unacked:\d+|lost:\d+|backoff:\d+", _RESENT),
    Sign(r"\b(?:small|tiny|short|<=? ?\d+ ?[KMk]?i?B)\b[^\n]{0,60}(?:work|pass|fine|ok|complet)\w*[^\n]{0,80}(?:large|big|bigger|larger|> ?\d+)[^\n]{0,40}(?:hang|never|stuck|time-?out|block)", "small messages pass and large ones do not", anywhere=(r"node|host|network|inter|socket|tcp|eth|nic",), prose=True),
    Sign(r"\b(?:single|one|each|same)[- ](?:node|host|machine)[^\n]{0,40}(?:work|fine|ok|pass)\w*[^\n]{0,80}(?:two|multi|across|between|2|inter)[- ]?(?:nodes?|hosts?|machines?)?[^\n]{0,40}(?:hang|stuck|time-?out|fail|block)", "it works on one host and not between hosts", POSSIBLE, prose=True),
)  # fmt: skip

_STEPS = (
    "ping -M do -s 8972 PEER   # MTU",
    "ss -tin dst PEER; iperf3 -c PEER",
    "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET torchrun …",
)
# A connection of ss -ti, and how much of what was sent on it has arrived.
_ARRIVED = regex(r"^\S+ +\d+ +\d+ +(\S+:\d+ +\S+:\d+)[^\n]*\n[^\n]*\bbytes_acked:(\d+)", re.M)


def check(case: Case) -> Iterator[Finding]:
    longer = list(_longer_than_the_way(case))
    found = [hit for hit in hits(case, _SIGNS) if hit.sign.says != _RESENT or not _arrives(case)] + longer
    if found:
        made = finding(RULE, case, found, "connections stand, but data does not arrive", _STEPS)
        unheard = any(hit.sign.says == _RESENT and _unheard(hit.account) for hit in found)
        yield replace(made, compared=unheard or bool(longer))


# The size of frames that an interface sends (ip-link(8), ifconfig(8)), and what is said of the other end or of the way there.
_SENDS = regex(
    r"^\s*(?:\d{1,5}: )?(?P<card>(?!lo\b)[\w@.-]{1,20}):? [^\n]{0,60}<[A-Z0-9_,-]*\bUP\b[^\n]*\bmtu (?P<size>\d{4,5})\b",
    re.M,
)
_PASSES = regex(r"\bMTU\b(?: size)?(?: of| is|:| =|=)? ?(?P<size>\d{3,5})\b")
_LEAST = 500  # bytes of a frame


def _longer_than_the_way(case: Case) -> Iterator[Hit]:
    """An interface that is up sends larger frames than pass, by what somebody writes of the way or of the other end."""
    told = accounts(case)
    passes = [int(found["size"]) for one in told for found in _PASSES.finditer(one.text)]
    passes = [size for size in passes if size > _LEAST]
    if not passes or not any(one.find(HALTS + r"|\bstands?\b[^\n]{0,80}\btime out\b", prose=True) for one in told):
        return
    for one in told:
        for row in _SENDS.finditer(one.said):
            if int(row["size"]) > max(passes):
                says = f"an interface sends frames of {row['size']} bytes, and {max(passes)} pass"
                yield Hit(Sign("", says), one, row[0].strip())
                return


def _unheard(account: Account) -> bool:
    """Whether the kernel has sent the same bytes again and again on a connection that stands (``ss -o``, ``ss -i``): of a peer that
    merely does not read it would be told, and then it asks for room (``timer:(persist,…)``)."""
    return any(int(count) >= _AGAIN for row in _UNHEARD.findall(account.text) for count in row if count)


_AGAIN = 6  # times: the limit is doubled with each, from 0.2 s on (tcp(7)); two or three are a lost packet
# ss: `timer:(on,1min42sec,11)` has the retransmissions of the oldest segment; `backoff:` how often its limit was doubled, which
# it is as well while a peer has no room: then nothing is out to be sent again (`retrans:`).
_UNHEARD = regex(
    r"^ESTAB +\d+ +[1-9]\d{0,9} +\S+:\d+ +\S+:\d+[^\n]{0,200}timer:\(on,[^,)\n]{1,20},(\d{1,3})\)|"
    r"^ESTAB +\d+ +[1-9]\d{0,9} +\S+:\d+ +\S+:\d+[^\n]{0,200}\n[^\n]{0,400}\bbackoff:(\d{1,3})\b[^\n]{0,400}\bretrans:[1-9]",
    re.M,
)


def _arrives(case: Case) -> bool:
    """Whether a connection with data in its queues was looked at twice, and more had arrived the second time."""
    before: dict[str, int] = {}
    for one in accounts(case):
        for ends, arrived in _ARRIVED.findall(one.text):
            if int(arrived) > before.setdefault(ends, int(arrived)) + _SMALL:
                return True
    return False


_SMALL = 1 << 16  # bytes of a heartbeat or two

RULE = make_rule(__name__, __doc__, "network-blackhole", 58, check, yields_to=("master-out-of-reach",))
