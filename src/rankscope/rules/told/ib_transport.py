"""An InfiniBand or RoCE transfer fails.

## What it means
The card gave up on a transfer: the peer did not acknowledge (status 12), was not ready (13), refused access (10), or the port went down.
Status 5 (flush) only says that the connection had failed before.

## How it is recognised
NCCL's `Got completion with error 12 … vendor err 129` or the named form `IBV_WC_RETRY_EXC_ERR`; async events of the device; UCX or
libfabric errors on a transport. At the first transfer it is the GID index, MTU or routing; later it is the link or a dead peer.

## What to do
`ibstat; ibv_devinfo -v; show_gids; perfquery`; prove the path with `ib_write_bw -d mlx5_0 -x GID HOST` under the same settings.
`NCCL_IB_GID_INDEX=3` on RoCE v2, equal MTU, `NCCL_IB_HCA=` with the cards that are cabled, `NCCL_IB_TIMEOUT=22` for long paths.

## How to prevent it
Check all pairs before the run. Cases: https://github.com/NVIDIA/nccl/issues/426 and https://github.com/pytorch/pytorch/issues/81628
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Finding, Kind
from ...model.patterns import regex
from .. import make_rule
from ._drops import AFTER_BOOT
from ._findings import finding, simple
from ._lines import events
from ._signs import POSSIBLE, Hit, Sign, hits
from ._wordings import HALTS

_STEPS = (
    "ibstat; show_gids; perfquery -x",
    "ib_write_bw -d mlx5_0 -x 3 PEER   # with the job's own settings",
    "export NCCL_IB_GID_INDEX=3",
)
# Counters of the cards (rdma-statistic(8), perfquery(8)) that stay near 0 where nothing is lost.
_COUNTED = (
    r"local_ack_timeout_err|packet_seq_err|rnr_nak_retry_err|implied_nak_seq_err|roce_adp_retrans(?:_to)?|"
    r"req_cqe_error|resp_cqe_error|req_remote_\w+_errors|to_retransmits|seq_err_naks_rcvd|"
    r"max_retry_exceeded|symbol_error|link_error_recovery|port_rcv_errors|SymbolErrorCounter|LinkErrorRecoveryCounter|"
    r"PortRcvErrors|LocalLinkIntegrityErrors"
)
_FEW_LOCKED = r"(?:memlock|locked memory)\b[^\n]{0,60}?[\s=:(](?:64|8192|65536)\b|\bulimit -l\b[^\n]{0,200}\n(?:[^\n]{0,200}\n){0,3}?\s*64\s*\n"
_SIGNS = (
    # CANN's fault code of a port of the device's own network card.
    Sign(r"\bEJ0002\b[^\n]*|\bThe network port is down\b", "the port of a card is down", speaker=False),
    Sign(r"ibv_open_device failed|Unable to open device (?:mlx|erdma|bnxt|irdma|efa)\w*|libibverbs: (?:Warning(?!: (?:RLIMIT_MEMLOCK|fork\(\)))|Could)[^\n]*", "the card cannot be opened", POSSIBLE),
    Sign(r"Got completion[^\n]*(?:error |status=)(?!5\b|IBV_WC_WR_FLUSH)\S*", "a transfer failed in the card"),
    Sign(r"IBV_WC_(?!WR_FLUSH|SUCCESS)\w+|transport retry counter exceeded|RNR retry (?:counter )?exceeded|local (?:QP operation|protection|length) error|remote (?:access|operation|invalid request) error|work request flushed error",
         "a transfer failed in the card"),
    Sign(r"Got async (?:fatal )?event(?!\W+(?:GID table change|client reregistration|SM change|LID change|P_Key table change|port active)\b)|IBV_EVENT_\w+|\b(?:port|QP) (?:error|fatal)\b|local catastrophic error", "the card reports an event"),
    Sign(AFTER_BOOT + r"\b(?:mlx[45]|bnxt|irdma|roce|rdma|ib)\w*[^\n]{0,80}(?:link (?:is )?down(?! count)|port (?:is )?down|(?:Port module event[^\n]{0,30}|Cable )(?:unplug\w*|error|fault\w*|missing|stuck|shorted|High temperature)|flapp\w+|symbol error)", "a link of the fabric is down"),
    Sign(r"ibv_(?:modify_qp|create_ah|post_send|poll_cq|query_\w)[^\n]*(?:fail|error|Invalid argument|timed out|No route|(?:\b(?:errno|rc|ret\w*|status|err|code)\b\W{1,4}|= ?)-?(?:110|22|61)\b(?![,)]))|Call to ibv_(?!reg_)\w+ failed", "the verbs library refuses",
         unless=(r"ibv_(?:reg|create)[^\n]*Cannot allocate memory",)),
    # Memory that may not be locked cannot be registered with the card.
    Sign(r"Call to ibv_reg_\w{1,40} failed", "the verbs library refuses", unless=(r"ibv_(?:reg|create)[^\n]*Cannot allocate memory", _FEW_LOCKED)),
    Sign(r"[Ff]ailed to modify (?:the |HW )?QP|\bbnxt_(?:re|qplib|en)\b[^\n]*(?:cmdq|fail|error|timed? ?out)|modify[_ ]qp\w{0,20}[^\n]{0,60}(?:fail|errno|error|timed out|unreachable)|\bQP\b[^\n]{0,20}\bto (?:INIT|RTR|RTS)\b[^\n]{0,40}(?:fail|error|timed out)|(?:fail|unable|cannot|could not)\w{0,20}[^\n]{0,30}\bto (?-i:INIT|RTR|RTS)\b", "a queue pair cannot be connected: the peer's address is not reached by the card"),
    Sign(r"RDMA_CM_EVENT_(?:UNREACHABLE|ADDR_ERROR|ROUTE_ERROR|REJECTED|CONNECT_ERROR)|\brdma_(?:resolve_(?:addr|route)|connect|bind_addr)\w*[^\n]{0,40}(?:fail|error|timed out|unreachable|errno)|(?:RDMA|rdma_cm)[^\n]{0,40}(?:address|route) resolution failed", "a connection over the cards cannot be made"),
    Sign(r"\b(?:err(?:or)?|bad)[ _]cqe\b|polling (?:\w+ )?CQ with status|InfiniBand retry count|retry count between two MPI processes|\bvendor[ _]?(?:err(?:or)?|code|syndrome)\b\W{0,3}(?:0x)?[1-9a-f]\d*|Process failed for slice|transfer (?:failed|error)[^\n]{0,60}(?:RDMA|rkey|qp)", "a transfer failed in the card"),
    Sign(r"\b(?:UCX|ucp|uct)\b[^\n]*(?:Endpoint timeout|Connection reset|Transport retry|unreachable destination|(?<!on component rdmacm with status )Input/output error)|fi_cq_readerr|(?:OFI poll failed|\w{0,40}handle_cq_error\b)(?![^\n]*\bCANCELED\b)|\b(?:EFA|ofi|libfabric)[^\n]*(?:Unresponsive|unreachable|RNR|completion with error)",
         "the transport library reports a failed transfer"),
    Sign(r"Transport retry count exceeded|RNR retry count exceeded|[Ll]ocal (?:access|protection) violation|Remote (?:access|operation|invalid request) (?:error )?on (?:mlx|rocep|bnxt)|NET/OFI[^\n]*completed with error|NET/(?:IB|OFI|UCX)[^\n]{0,200}WARN[^\n]*(?:fail|error)|unresponsive receiver|nvshmem(?![^\n]*building transport map)[^\n]{0,200}(?:ibrc|ibgda|ibdevx|transport)[^\n]*(?:fail|error)",
         "the transport reports a failed transfer", unless=(r"Unable to register memory|ibv_(?:reg|create)[^\n]*Cannot allocate memory",)),
    Sign(r"\bcqe\b[^\n]*(?:status|syndrome)\W{0,4}(?:0x)?(?:12|15|0?c|81)\b|" + AFTER_BOOT + r"mlx5_core[^\n]*Link down|mlx5_core[^\n]*(?:device's health compromised|firmware internal error|command failed|timeout)|hfi1[^\n]*(?:link (?:down|width)|error)|roce[^\n]*(?:PFC storm|pause storm)", "the adapter's driver reports an error"),
    Sign(r"\bState:\s*(?:Down|Init(?:ializing)?)\b(?!\s+Physical state:\s*Disabled)|Physical state:\s*(?:Polling|LinkErrorRecovery|Sleep)|\bport state\b[^\n]{0,20}\b(?:DOWN|INIT)\b|PORT_DOWN", "a port of the fabric is down", also=(r"ibstat|\bCA \W|mlx\d|hca_id|link_layer|Link layer|infiniband|rdma|\broce",)),
    Sign(r"\bNCCL_IB_(?:GID_INDEX|HCA|TIMEOUT|RETRY_CNT|TC|SL|DISABLE|QPS_PER_CONNECTION|ADAPTIVE_ROUTING|PCI_RELAXED_ORDERING)\b|\bNCCL_CROSS_NIC\b|\bNCCL_NET(?:_PLUGIN)?=(?:Socket|none)|\bNCCL_NET_GDR_LEVEL\b|\bUCX_TLS=|\bUCX_IB_\w+|\bFI_PROVIDER=tcp|--mca (?:pml ob1|btl \^openib|mtl \^)|\b(?:without|over sockets instead of) (?:InfiniBand|IB|RoCE|RDMA)\b", "a setting of the fabric cures it", cures=True),
    Sign(r"no response from remote LID|\b(?:PSM2?|psm3|opa|hfi\w*)\b[^\n]{0,80}(?:no response|unreachable|link (?:is )?(?:down|not active)|timed out|Endpoint (?:timeout|could not be reached)|context sharing)|rdma_(?:create_ep|accept)[^\n]{0,30}(?:fail|error)|SYNDROME[_ ]\w*RETRY|TRANSPORT_RETRY_EXC", "the fabric's library gets no answer"),
    # Open MPI says so wherever its openib transport leaves a card to another one (UCX, OFI), and goes on.
    Sign(r"initializing an OpenFabrics device|No OpenFabrics connection schemes", "the card could not be used", POSSIBLE, passing=True),
    Sign(r"[Aa]sync fatal event|work queue catastrophic|catastrophic error", "the card reports an event"),
    Sign(r"fi_getinfo\b[^\n]*(?:-61\b|No data available|providers 0|fail)|[Nn]o (?:eligible|optimal|usable|suitable) (?:libfabric )?providers?|(?:NET/OFI|libfabric|OFI|ATL)[^\n]*(?:no provider|providers? (?:were |was )?not found|could not find any[^\n]*provider)|failed to initialize ATL", "libfabric finds no provider for the card"),
    Sign(r"\b(?:HCA|port|link|cable|NIC|rail|mlx\w*|optic\w*|transceiver)s?\b[^\n]{0,20}\bflap\w*|(?<!undefined )(?<!\b0 )\bsymbol errors?\b(?! ?[:=]? ?0\b)", "a link of the fabric is down", prose=True),
    Sign(r"\bonly (?:over|with|on|via) (?:the )?(?:RoCE|InfiniBand|IB|RDMA|EFA|verbs|GDR\w*|Slingshot|Omni-?Path)\b|\bover (?:TCP|sockets|ethernet|IPoIB)\b[^\n]{0,24}\b(?:fine|works?|ok|runs?|pass\w*)\b", "it works over sockets", prose=True),
    Sign(r"\b(?:ib_(?:write|read|send)_(?:bw|lat)|perftest|rping|ibping|ucx_perftest|fi_pingpong|fi_rdm_\w+|osu_(?:bw|latency))\b[^\n]{0,60}\b(?:hangs?|fails?|errors?|stuck|time[sd]? ?out|never|no result)\b", "a test of the fabric fails as well", POSSIBLE, prose=True),
    Sign(r"\b(?:subnet manager|opensm|fabric manager of the switch)\b[^\n]{0,30}\b(?:down|not running|dead|missing|restart\w*|fail\w*|off|died)\b", "the subnet manager was away", prose=True),
    Sign(r"\b(?:mlx\w*|ib\d|HCA|rail|hfi\w*|bnxt\w*|IB link|IB port)\b[^\n]{0,20}\b(?:goes|went|was|is|comes?|keeps going) (?:down|up and down)\b", "a link of the fabric is down", prose=True),
    Sign(r"\b(?:PFC|ECN|DCQCN|lossless (?:class|queue|ethernet)|pause frames?)\b[^\n]{0,40}\b(?:not|wrong\w*|missing|disabled|off|storms?|mis-?\w+)\b|\b(?:wrong|bad|different|mixed)\b[^\n]{0,10}\bGIDs?\b|\bRoCE ?v1\b[^\n]{0,12}\b(?:instead|rather|but|not|where)\b", "the fabric is not set up as RoCE needs it", prose=True),
    Sign(r"\bcxi[pl]?_\w+[^\n]*(?:error|fail|UNDELIVERABLE)|\bNO_MATCHING_CONN\b|\bUNDELIVERABLE\b|\bhealth compromised\b|\bhns_roce\w*[^\n]*(?:CQE|error|fail)", "the card or its driver reports a failed transfer"),
    Sign(r"\b(?:transceiver|optic\w*|AOC|DAC|(?:IB|InfiniBand|network|fibre|fiber) cable|switch port|leaf switch|HCA)\b[^\n]{0,24}\b(?:bad|broken|faulty|defective|dirty|replaced|unplugged|loose)\b", "a part of the fabric is said to be bad", prose=True),
    Sign(r"UD endpoint[^\n]*unhandled timeout|\bCQ error\b[^\n]*prov_err|Remote QP bad state|Unreachable remote\b|PSM[23]?\b[^\n]*(?:[Cc]ould not|[Tt]rouble|unreachable|no response)|psm3: [^\n]*(?:Trouble|unreachable|timed? ?out)|\bEI0013\b|RO?CE CQE[^\n]*abnormal", "the transport library reports a failed transfer"),
    Sign(r"\bib\d+: transmit timeout|\bcxi\d+\b[^\n]{0,40}[Ll]ink (?:is )?[Dd]own|\bhsn\d+\b[^\n]{0,40}[Ll]ink (?:is )?[Dd]own|\befa \d{4}:[^\n]*(?:Failed to process command|[Kk]eep ?alive)(?![^\n]*err -12\b)", "the adapter's driver reports an error"),
    Sign(r"\blink \w+/\d+ state (?:DOWN|INIT|ARMED) physical_state (?!DISABLED)|ports/\d+/state: *[12]: (?:DOWN|INIT)", "a port of the fabric is down", POSSIBLE),
    Sign(r"pause_storm_(?:error|warning)_events\W+[1-9]", "the switch or card saw a storm of pause frames"),
    Sign(rf"\b(?:{_COUNTED})\b[\s:.=]+[1-9]\d\d+\b", "the card counts errors", POSSIBLE, anywhere=(HALTS + r"|\w \([^()\s]+\.pyx?:\d+\)",)),
    Sign(r"failed to create a queue pair|run out of queue pairs", "the card makes no more connections"),
    Sign(r"\bGID\b[^\n]{0,60}(?:index|mismatch|wrong|not found)", "the GID index decides", prose=True),
    Sign(r"\bmlx\d_\d+:\S+: got completion with error:|_do_madrpc failed|\biberror: failed: ", "the driver of the card, or a tool of the fabric, reports an error"),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    found = [*hits(case, _SIGNS), *_growing(case)]
    if found:
        yield finding(RULE, case, found, "an InfiniBand or RoCE transfer failed", _STEPS)
        return
    flushed = [event for event in events(case, "nccl.ib_completion") if event.fields.get("status") == 5]
    if flushed:
        title = "transfers were flushed: the connection had failed before, and the first failure is not shown"
        yield simple(
            RULE,
            title,
            POSSIBLE,
            [flushed[0].text],
            ("look for the first error on this connection, on the other side too",),
            kind=Kind.CAUSE,
        )


_VALUE = regex(rf"\b({_COUNTED}|LinkDownedCounter|link_downed)\b[\s:.=]+(\d+)\b")
_GROWN = 5  # errors between two looks
# A heading under which the same was asked once more.
_AGAIN = regex(r"\b(?:same|again|later|second|after|next)\b", re.I)


def _growing(case: Case) -> Iterator[Hit]:
    """A counter of errors that was read twice and has grown meanwhile."""
    before: dict[str, int] = {}
    for one in accounts(case):
        if not (one.who.later or _AGAIN.search(one.label)):
            before = {}
        for name, number in _VALUE.findall(one.text):
            if int(number) >= before.setdefault(name, int(number)) + _GROWN:
                said = f"{name} {before[name]}, then {number}"
                yield Hit(Sign("", "the card's errors grow while the job stands"), one, said)
                return


RULE = make_rule(__name__, __doc__, "ib-transport-error", 27, check)
