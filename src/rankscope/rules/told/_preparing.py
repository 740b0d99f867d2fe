"""Stacks of ranks that compile, save, or work through files while others wait for them in a call."""

from __future__ import annotations

from collections.abc import Iterator

from ...analysis.accounts import Account
from ...analysis.case import Case
from ...analysis.doings import Doing, doings, in_kind, of_ranks
from ...analysis.frame_tables import WaitKind
from ...model.patterns import regex
from ._lines import events


def preparing(case: Case) -> Iterator[tuple[Account, str]]:
    """Ranks that compile or save while others wait for them in a call."""
    if case.snapshot.live:
        return
    known = [doing for doing in doings(case) if doing.account is not None and of_ranks(doing)]
    waiting = in_kind(
        known, WaitKind.COLLECTIVE.value, WaitKind.P2P.value, WaitKind.STORE.value, WaitKind.RENDEZVOUS.value
    )
    inside = set(map(id, waiting))
    waits = bool(waiting) or bool(events(case, "torch.watchdog_timeout", "gloo.op_timeout"))
    at_work = [
        doing
        for doing in known
        if id(doing) not in inside and not _imports(doing) and _WORK_FRAMES.search(" ".join(_paths(doing)))
    ]
    for doing in (*in_kind(known, WaitKind.COMPILE.value, WaitKind.CHECKPOINT.value), *at_work):
        told = any(one.account is doing.account and one.ranks != doing.ranks for one in waiting)
        if (
            waits
            and doing.account is not None
            and not _loads(doing)
            and (doing.account.stacks or (told and doing.ranks))
        ):
            yield doing.account, doing.site


# Files in which a process works for minutes when there is much to do.
_WORK_FRAMES = regex(
    r"(?:^| )(?:\S*/)?(?:safetensors/|huggingface_hub/|"
    r"datasets/(?:arrow_dataset|arrow_writer|builder|fingerprint|iterable_dataset|table|formatting)|tokenizers/|"
    r"transformers/(?:tokenization|modeling_utils|modeling_tf_utils)|pyarrow/|pandas/(?:io|core)|"
    r"numpy/lib/(?:npyio|_npyio|format)|h5py/|tarfile\.py|zipfile|gzip\.py|bz2\.py|shutil\.py|"
    r"json/(?:encoder|decoder|__init__)|pickle\.py|_?pickle|dill/|cloudpickle/|torch/serialization\.py|PIL/|"
    r"matplotlib/|sklearn/|scipy/|pycocotools/|faiss/|nltk/|sacrebleu/|rouge\w*/|"
    r"evaluate/|megatron/\S*(?:indexed_dataset|gpt_dataset|blended\w*dataset|helpers)|hashlib\.py|ijson|orjson|yaml/|sentencepiece/|librosa/|soundfile|cv2/|torchvision/datasets|xxhash|zstandard|lm_eval/|seqeval/|jiwer/|tensorstore|orbax/|zarr/|fsspec/implementations/local|smart_open|csv\.py|linecache)"
)


# Triton's and CUTLASS's calls that load what was compiled: they wait for the device, and are no work of their own.
_LOADING = {"_init_handles", "_load_cuda_library"}


def _loads(doing: Doing) -> bool:
    """Whether a subject loads onto its device what is compiled already."""
    main = doing.main
    return main is not None and bool(main.stack) and main.stack[-1].function in _LOADING


def _imports(doing: Doing) -> bool:
    """Whether a subject only loads the modules whose files it stands in."""
    main = doing.main
    return main is not None and any(frame.file.startswith("<frozen importlib") for frame in main.stack)


def _paths(doing: Doing) -> list[str]:
    """The files of the deepest frames of a subject."""
    main = doing.main
    return [frame.file for frame in main.stack[-4:]] if main is not None else []
