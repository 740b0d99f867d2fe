"""Versions that must be equal differ between ranks, hosts or components.

## What it means
One node has another image, or one library was loaded from another place (`LD_LIBRARY_PATH`, a system package). Protocols, message sizes or defaults then
differ, and ranks hang or fail although each is right by itself.

## How it is recognised
Logs of different hosts or ranks name different versions of one library, a client and its workers different minor releases of Python; messages such as `Version mismatch: The cluster was started with`, `Mismatched …
version`, `message truncated : receiving N bytes instead of M`, `undefined symbol`.

## What to do
Ask every node with the job's own environment and look for the odd one:

    srun --ntasks-per-node=1 bash -c 'echo $(hostname) $(python -c "import torch; print(torch.__version__, torch.cuda.nccl.version())") $(cat /proc/driver/nvidia/version | head -1)' | sort -k2
    srun --ntasks-per-node=1 pip freeze | sort | uniq -c | sort -n | head

One image for all; empty `LD_LIBRARY_PATH`; check `ldd libtorch_cuda.so | grep nccl`.

## How to prevent it
Start all ranks from one image by digest; compare versions before the run (`srun pip freeze | sort | uniq -c`).
Case: https://github.com/NVIDIA/nccl/issues/1267
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...model.diagnosis import Certainty, Finding
from ...model.patterns import regex
from ...model.ranks import RankSet
from ...model.repeated import of_texts
from .. import make_rule
from ._findings import finding, simple
from ._lines import events
from ._outcomes import SERVES
from ._signs import POSSIBLE, Sign, hits
from ._wordings import HALTS, halted

_STEPS = (
    'python -c "import torch; print(torch.__version__, torch.cuda.nccl.version())"   # on every node',
    "ldd $(python -c 'import torch,os;print(os.path.dirname(torch.__file__))')/lib/libtorch_cuda.so | grep nccl",
)
# Labels that stand for one machine or rank, and libraries that must be of one version on all of them.
_PLACE = regex(
    r"(?<![a-z])(?:node|host|rank|worker|machine|master|head|driver|pod|vm|server)s?(?![a-z])", re.IGNORECASE
)
_MUST_AGREE = {"nccl", "rccl", "torch", "ray", "openmpi", "ucx", "efa", "libfabric", "dask", "horovod"}
_LIB = (
    r"(?:nccl|torch|pytorch|cuda|driver|python|ray|mpi|openmpi|ucx|libfabric|ofed|firmware|gloo|image|container|"
    r"package|library|protobuf|transformers|vllm|glibc|cudnn|release|build|numpy|pandas|cloudpickle|pyarrow|jax|"
    r"tensorflow|horovod|deepspeed|open ?mpi|mpich|aws-ofi-nccl|ofi)"
)
# Where an interface was forced, an address of no known family is none at all: there is no such interface.
_FORCED = r"NCCL_SOCKET_IFNAME(?: set| ?=)"
# Rank and size of a world of one, bare or as programs greet with them, before or behind the name of the host.
_ALONE = r"0 ?(?:of|/|,|;|out of)? ?(?:(?:world[ _])?size\W*)?1"
_OF_ONE = rf"[\w ,:!.-]{{0,80}}\b(?:rank|process|task)\W*{_ALONE}(?: (?:process|rank|proc|task|processor)(?:e?s)?)?\W*(?:(?:on|from|at|in) \S{{1,80}})?\W*"
_OF_ANOTHER_CPU = "what was compiled on one kind of processor is loaded on another"
_SIGNS = (
    # What is compiled for the processor at hand (-march=native) runs on no other kind.
    Sign(r"\b(?:compiled|built|made|JIT[- ]?\w*)\b[^\n]{0,40}\b(?:on|for) (?:an? |the )?(?:Intel|AMD|ARM|aarch64|x86\w*|Graviton|Zen ?\d?|EPYC|Xeon|Skylake|Ice ?Lake|Sapphire Rapids)\b", _OF_ANOTHER_CPU, anywhere=(r"\.so\b|\bextensions?\b|\bcpu_adam\b|\bkernels?\b|\bwheel\b|march=native", r"\b(?:one|another|other|only|different|mixed)\b[^\n]{0,40}\b(?:AMD|Intel|ARM|EPYC|Xeon|Zen|CPU type|processors?)\b", r"\b(?:cache|shared|copied|once)\b", HALTS + r"|\bfails?\b|\bdies?\b|\bstops? at\b|Illegal instruction|SIGILL|without any error"), prose=True),
    # torch.distributed.launch passes --local-rank since 2.0, --local_rank before (its documentation).
    Sign(r"error: unrecognized arguments: --local[-_]rank\b", "the launcher is of another PyTorch than the script was written for: it passes the rank in another way"),
    Sign(r"Distributed package doesn't have NCCL built[- ]?in", "this build of PyTorch has no NCCL (that for Windows, or for CPUs)"),
    Sign(rf"\b{_LIB}\b[ =v:]{{1,3}}\d+\.\d+[^\n]{{0,60}}\b(?:others?|rest|while|but|whereas|vs\.?|and (?:the )?(?:node|rank|host|other))\b[^\n]{{0,40}}\d+\.\d+", "one node has another version than the others", also=(r"node|host|rank|machine|pod|container",), unless=(r"\b(?:fixed|works?|fine|passes|downgrad\w+|upgrad\w+)\b",), prose=True),
    Sign(r"API call is not supported in the installed CUDA driver|CUDA driver version is insufficient|unsupported PTX|NCCL (?:library )?version (?:mismatch|does not match)|compiled with (?:a different|another) (?:version|NCCL|CUDA)", "driver and library are of different age", until=SERVES),
    Sign(r"Version mismatch: The cluster was started with|version mismatch|\b(?:PMIX|PRTE|PMI|OPAL|ORTE)_ERR\w*VERSION_MISMATCH|mismatch\w* versions?|versions? (?:do(?:es)? not|don't) match|incompatible (?:protocol|version|peer)|differing versions?", "a version mismatch is reported"),
    Sign(r"\b(?:the )?(?:host|node|machine|cluster|system)'?s? (?:own )?(?:\w+ )?(?:MPI|NCCL|PMIx|UCX|libfabric|driver)\b[^\n]{0,20}\bin the (?:image|container)\b|\b(?:MPI|NCCL|PMIx|UCX|libfabric|driver|release|version) of the (?:host|node|machine|cluster|system)\b[^\n]{0,20}\bin the (?:image|container)\b", "the release of the host, in the container as well, cures it", cures=True),
    Sign(rf"^(?![^\n]*(?:\b(?:all )?alike|\bthe same (?:everywhere|on all|too|again)|\blikewise)\b)(?![^\n]*\b(?:did not|didn\'t|does not|doesn\'t|no|neither|tried|trying)\b[^\n]*\b(?:help|change|differ|matter|work|using)\w*)[^\n]*\b(?:different|differing|two|mixed|unequal|inconsistent|mismatch\w*)[^\n]{{0,24}}\b{_LIB}\b[^\n]{{0,20}}\bversions?|versions? of {_LIB}[^\n]{{0,40}}(?:differ|different|not the same)|\b{_LIB}\b[^\n]{{0,30}}versions?[^\n]{{0,30}}(?:differ|different|not (?:the same|equal|identical)|mismatch)", "somebody says that versions differ", prose=True),
    Sign(r"bootstrap\.cc[^\n]*Message truncated", "two ranks introduce themselves with messages of different size", anywhere=(r"NCCL version|torch==|torch\.cuda\.nccl|\bnccl\b",), unless=(r"ncclInvalidUsage|Duplicate GPU",)),
    # The library of another MPI than the launcher's finds none of its messages, and begins a world of one.
    Sign(rf"^(?P<alone>{_ALONE}\W*)\n(?P=alone)$|^(?P<word>\w+){_OF_ONE}\n(?P=word){_OF_ONE}$", "each process believes that it is alone", anywhere=(r"\b(?:(?:mpi|[apj]s?)run\w*|orterun|mpiexec\S*|srun|flux run|mpi4py)\b",)),
    Sign(r"mismatch in info from procs, nranks (\d+) vs \1, nroots (\d+) vs \2,", "two ranks introduce themselves in different shapes: another release speaks there"),
    Sign(r"API mismatch: the client has the version|Mismatched PJRT plugin PJRT API version|cuDNN version incompatibility|compiled against (?:ABI|API) version|jaxlib (?:is )?version [^\n]*(?:requires|incompatible)|was not built with\s+SLURM'?s?\s+PMI|can ?not load PMIx library|PMI version mismatch|InvalidClassException|serialVersionUID|Protocol version has changed|hipErrorNoBinaryForGpu|Unable to find code object for all current devices|PYTHON_VERSION_MISMATCH|Python in worker has different version|Inconsistent version of", "what one side brings does not fit the other side's release"),
    Sign(r"version [`']GLIBC_[\d.]+' not found|(?:ImportError|OSError|NotFoundError)[^\n]*undefined symbol: _Z", "libraries of different builds are mixed"),
    Sign(r"Can't get attribute '_\w+' on <module '(?:cloudpickle|dill|ray|pyspark|distributed)|\bcode\(\) (?:argument \d+|takes (?:at most|exactly|at least))|code expected at (?:most|least) \d+ arguments|SystemError: unknown opcode|XXX lineno: \d+, opcode: \d+|unsupported pickle protocol: \d|bad magic number in '", "what one Python wrote another release cannot read"),
    Sign(r"compiled using NumPy 1\.x cannot be run in", "an extension was built for another release of NumPy", POSSIBLE),
    Sign(r"mismatch(?:es)? in versions?|mismatch between [^\n]{0,40}versions", "a version mismatch is reported"),
    Sign(r"\b(?:message truncated|truncated)[^\n]*receiv\w+ (?P<a>\d+) bytes instead of \d+", "two ranks expect messages of different size", POSSIBLE),
    Sign(r"undefined symbol: _?_?(?:nccl|cu[a-z]{2,}|cudnn|nvJitLink|hip|rccl|ucp?_|fi_|MPI_)\w*|^(?!.*dlvsym).*version [`'](?:FABRIC|EFA|UCX?|MLX5|IBVERBS|GLIBCXX|CXXABI|OMPI|libcudart\w*)_?[\d.]+' not found", "libraries of different builds are mixed"),
    Sign(r"connecting to address[^\n]*with family \d+ is neither AF_INET", "a peer's first message makes no sense: another release speaks there", unless=(_FORCED,)),
    Sign(r"(?:bootstrap|socket|proxy)[^\n]*(?:wrong (?:magic|type|version)(?! (?:[2-7][0-9a-f]){6,8}\b)|magic[^\n]{0,20}mismatch)|NCCL WARN[^\n]*[Mm]ismatch(?:ed)? (?:NCCL )?version", "a peer's first message makes no sense: another release speaks there"),
    Sign(r"unsupported pickle protocol|PYTHON_VERSION_MISMATCH|Python in worker has different version|Mismatched versions found|were compiled with different CUDA versions|Descriptors cannot (?:not )?be created directly|(?:PMIx|PMI2?|ORTE|ABI|API|protocol|plugin|wire)[- ](?:server )?versions?[^\n]{0,40}(?:mismatch|not compatible|incompatible|differ|unsupported)", "a version mismatch is reported"),
    Sign(r"Data unpack (?:would read past end of buffer|had inadequate space)|unpack(?:ing)? (?:failure|error)[^\n]*(?:orte|prte|pmix|ess)|(?:ORTE|PRTE)_ERROR_LOG: (?:Unpack|Data unpack)|compiled for (?:a different|another) (?:version|Open MPI)|component version does not match|unrecognized (?:PMI )?version|PMI version mismatch", "daemons of different releases do not understand each other"),
    Sign(r"\bUNPACK-(?:PAST-END|INADEQUATE-SPACE|FAILURE|READ-PAST)\w*|PMIX_ERR_UNPACK\w*|PMIx_Init failed[^\n]*(?:version|compat)", "daemons of different releases do not understand each other"),
    Sign(rf"\b(?:node|host|machine|rank|worker|pod|server|head|client|scheduler|login|master)s?\b[^\n]{{0,60}}\b{_LIB}\b ?v?\d+[\d.]*[^\n]{{0,30}}\b(?:others?|rest|remaining|workers?|clients?|server|nodes)\b[^\n]{{0,20}}\b\d+[\d.]*\b(?! ?(?:GPUs?|nodes?|ranks?|machines?|hosts?|processes|cards?)\b)", "one side has another version than the others", unless=(r"\b(?:fixed|works?|fine|passes|downgrad\w+|upgrad\w+)\b",), prose=True),
    Sign(r"\b(?:two|2|several|both|second)\b[^\n]{0,16}\b(?:different |copies of |versions of )?(?:lib)?(?:nccl|rccl|cudart|cudnn|mpi|torch|protobuf|ucx)\w*(?:\.so)?\b[^\n]{0,24}\b(?:loaded|linked|mapped|in one process)|\b(?:mpirun|mpiexec|launcher)\b[^\n]{0,30}\b(?:Open ?MPI|MPICH|Intel MPI|MVAPICH)\b[^\n]{0,60}\b(?:built|compiled|linked)\b[^\n]{0,12}\b(?:with|against|for)\b", "libraries of different builds are mixed", prose=True),
    Sign(r"\b(?:image|container|driver|version|environment|wheel|build|release|firmware)s?\b on [^\n]{0,20}?\b(?:is|are|has)\b[^\n]{0,12}\d[\d.]+[^\n]{0,12}\b(?:and|but|while)\b[^\n]{0,6}\bon\b[^\n]{0,20}\d[\d.]+", "one node has another version than the others", prose=True),
    Sign(r"\b(?:driver|nccl|image|container|firmware|version|library|torch|pytorch|cuda|release)s?\b[^\n]{0,20}\b(?:on|of|in)\b[^\n]{0,30}\b(?:nodes?|hosts?|machines?|ranks?|workers?|pods?)\b[^\n]{0,12}\b(?:is|are|was|were)\b(?:(?!\bnot (?!the same)|n.t\b)[^\n]){0,8}\b(?:older|newer|different|outdated|another one|not the same)\b", "somebody says that versions differ", prose=True),
    Sign(r"\b(?:built|compiled|linked)\b (?:against|with|for)\b[^\n]{0,30}\d[\d.]*[^\n]{0,30}\b(?:but|and|while|yet)\b[^\n]{0,12}\b(?:loads?|finds?|uses?|runs?|gets?|sees?)\b[^\n]{0,24}\d", "libraries of different builds are mixed", prose=True),
    Sign(r"\b(?:one|a|another|some|two|second|third|last|new)\b[^\n]{0,16}\b(?:node|host|machine|worker|pod|server|rank)s?\b[^\n]{0,16}\b(?:had|has|have|runs?|ran|uses?|used|got)\b[^\n]{0,16}\b(?:old|older|newer|different|other|another|wrong|previous|outdated)\b[^\n]{0,12}\b(?:image|version|driver|env\w*|release|container|build|nccl|torch|library|firmware)s?\b", "somebody says that versions differ", prose=True),
    Sign(r"incompatible Protobuf Gencode/Runtime versions|Protobuf[^\n]{0,40}versions? when loading", "a library was generated for another release of protobuf"),
    Sign(r"No module named 'numpy\._core|Can't get attribute '_(?:function_setstate|make_skeleton_class)'|is required for a normal functioning of this module, but found|CUDA version \([\d.]+\) mismatches the version", "what one side wrote or needs is of another release than what the other side has"),
    Sign(r"^(?![^\n]*mca_base_component_repository_open)[^\n]*?\blib(?:cudart|cublas\w*|cudnn\w*|nccl|nvrtc|hip\w*|rccl|mpi|fabric|uc[pt]|efa|ibverbs)\.so[\d.]*: cannot open shared object file", "a library of another release is not there", also=(r"node|host|machine|rank|worker|pod|container",)),
    Sign(r"does not support the kernel ABI of|kernel ABI version mismatch", "user library and kernel module of the cards are of different age"),
    Sign(r"\b(?:same|identical|one|equal|uniform)\b (?:\w+ ){0,2}?(?:image|version|release|environment|env|container|build|driver|nccl|torch|pytorch|python)s?\b[^\n]{0,40}\b(?:(?:all|both|every|each) (?:\w+ ){0,2}?(?:hosts?|nodes?|ranks?|machines?|workers?|pods?|sides?|servers?|containers?|of them)|everywhere)\b|\b(?:all|both|every|each)\b[^\n]{0,40}\b(?:the )?(?:same|identical) (?:\w+ ){0,2}?(?:image|version|release|environment|env|container|build|driver|nccl|torch|pytorch|python)s?\b", "one version on all hosts cures it", cures=True),
    Sign(r"^(?!.*(?:NCCL INFO|dlvsym)).*(?:undefined symbol|symbol lookup error|version `?\w+_[\d.]+' not found)", "libraries of different builds are mixed", POSSIBLE),
    Sign(r"driver version is insufficient|forward compatibility was attempted|NVIDIA driver on your system is too old|PTX was compiled with an unsupported toolchain|no kernel image is available", "driver, toolkit and GPU do not fit each other", until=SERVES),
    Sign(r"kernel version [\d.]+ does not match DSO version [\d.]+", "the driver and its library are of different releases"),
)  # fmt: skip


def check(case: Case) -> Iterator[Finding]:
    found = list(hits(case, _SIGNS))
    if found:
        made = finding(RULE, case, found, "versions that must be equal differ", _STEPS)
        yield replace(made, compared=any(hit.sign.says == _OF_ANOTHER_CPU for hit in found))
        return
    told = next(_of_sentences(case), None)
    if told is not None:
        yield simple(RULE, told, Certainty.LIKELY, [told], _STEPS)
        return
    yield from itertools.islice(itertools.chain(_of_pods(case), _of_hosts(case), _of_two_sides(case)), 1)
    by_version: dict[str, list[str]] = {}
    ranks: dict[str, set[int]] = {}
    for event in events(case, "nccl.version"):
        version = str(event.fields.get("version"))
        by_version.setdefault(version, []).append(event.text)
        if event.rank is not None:
            ranks.setdefault(version, set()).add(event.rank)
    if len(by_version) > 1:
        odd = min(by_version, key=lambda version: len(by_version[version]))
        title = f"ranks run NCCL {' and '.join(sorted(by_version))}"
        because = [lines[0] for lines in by_version.values()]
        yield simple(RULE, title, Certainty.LIKELY, because, _STEPS, RankSet(ranks.get(odd, ())))


_AT = regex(
    r"\b(?:nodes?|hosts?|ranks?|workers?|machines?|head|master|server|client|login|driver node|pods?|containers?)\b[ -]?(?:node|[A-Z]\b|\d[\d,-]*|\w{0,12}\d)?",
    re.I,
)
_HAS = regex(
    rf"\b(?P<library>{_LIB})\b[^\d\n;,]{{0,12}}(?P<version>\d+\.\d+[\w.]*|(?<=driver )\d{{3}}\b|(?<=numpy )\d\b|(?<=cuda )\d\d\b)",
    re.I,
)


def _of_sentences(case: Case) -> Iterator[str]:
    """Lines that name one library in two versions, each with a place of its own: node A: nccl 2.18, node B: nccl 2.19."""
    for one in accounts(case):
        yield from (line.strip()[:200] for line in one.prose.splitlines() if _names_two(line[:1000]))


@of_texts
def _names_two(line: str) -> bool:
    named: dict[str, dict[str, str]] = {}
    for part in re.split(r"[;,|]|\band\b|\bbut\b|\bwhile\b", line):
        place, has = _AT.search(part), _HAS.search(part)
        if place and has:
            named.setdefault(has["library"].lower(), {})[place.group().strip().lower()] = has["version"]
    return any(len(set(places.values())) > 1 for places in named.values())


def _of_hosts(case: Case) -> Iterator[Finding]:
    """What is installed on hosts or ranks whose lists were saved one by one: the same library in two versions."""
    named: dict[str, dict[str, set[str]]] = {}
    for one in accounts(case):
        for event in one.named("text.version") if _PLACE.search(one.label) else ():
            library, version = str(event.fields.get("name")), str(event.fields.get("version"))
            if library in _MUST_AGREE:
                named.setdefault(library, {}).setdefault(one.label, set()).add(version)
    for library, places in named.items():
        (first, here), *others = places.items()
        for place, there in others:
            if not here & there:
                title = f"{library} is {_list(here)} in {first!r} and {_list(there)} in {place!r}"
                yield simple(RULE, title, Certainty.LIKELY, [title], _STEPS)
                return


# Who hands out code and data, and who works on them: what one Python pickles another minor release need not understand.
_HANDS_OUT = regex(
    r"(?<![a-z])(?:client|driver|notebook|laptop|login|submit\w*|local(?: machine)?|scheduler)(?![a-z])", re.I
)
_WORKS = regex(r"(?<![a-z])(?:workers?|executors?|cluster|remote|engines?|slaves?|servers?|scheduler)(?![a-z])", re.I)
_MINOR = regex(r"\d{1,3}\.\d{1,3}")


def _of_two_sides(case: Case) -> Iterator[Finding]:
    """A client and the workers of a cluster that run Pythons of different minor releases."""
    pythons: dict[str, set[str]] = {}
    for one in accounts(case):
        for event in one.named("text.version"):
            if event.fields.get("name") == "python" and (minor := _MINOR.match(str(event.fields.get("version")))):
                pythons.setdefault(one.label, set()).add(minor.group())
    for place, here in pythons.items():
        for other, there in pythons.items():
            if _HANDS_OUT.search(place) and _WORKS.search(other) and not _WORKS.search(place) and not here & there:
                title = f"Python is {_list(here)} in {place!r} and {_list(there)} in {other!r}"
                sure = (
                    Certainty.LIKELY if halted(case) or any(one.find(_STOPPED) for one in accounts(case)) else POSSIBLE
                )
                yield simple(RULE, title, sure, [title], _STEPS)
                return


_STOPPED = r"KeyboardInterrupt|\^C|Ctrl[-+ ]?C|\bError\b"


# Rows of a table of pods: NAME IMAGE.
_POD = regex(r"^(?P<job>[a-z][\w.-]*?)-(?P<pod>\d+)\s+(?P<image>[\w./-]+):(?P<tag>[\w.-]+)\s*$", re.M)


def _of_pods(case: Case) -> Iterator[Finding]:
    """Pods of one job that run two releases of one image."""
    for one in accounts(case) if halted(case) else ():
        tags: dict[tuple[str, str], dict[str, str]] = {}
        for row in _POD.finditer(one.text):
            tags.setdefault((row["job"], row["image"]), {}).setdefault(row["tag"], row["pod"])
        for (job, image), pods in tags.items():
            if len(pods) > 1:
                title = f"pods of {job} run {image} in {_list(set(pods))}"
                yield simple(RULE, title, Certainty.LIKELY, [title], _STEPS)
                return


def _list(versions: set[str]) -> str:
    return " and ".join(sorted(versions)[:3])


RULE = make_rule(__name__, __doc__, "version-mismatch", 18, check)
