"""Defects of releases of the interpreter, the C library, drivers and runtimes of containers."""

# ruff: noqa: E501  (a defect is one row)
from __future__ import annotations

from ._defects import GITHUB as _GH
from ._defects import HANGS, Defect

_WAKEUP = r"\bwakeup \(?(?:[^\n]*/)?concurrent/futures/process|_ThreadWakeup"
_CLEARS = r"interpreter_clear|_PyThreadState_DeleteExcept|PyInterpreterState_(?:Clear|Delete)"

SYSTEM = (
    Defect("python", "3.7", "3.11.6", (_WAKEUP,), "ProcessPoolExecutor blocks in its own wake-up pipe when much is submitted", "Python 3.11.6, 3.12.1 or later", _GH + "python/cpython/issues/105829"),
    Defect("python", "3.12.0", "3.12.1", (_WAKEUP,), "ProcessPoolExecutor blocks in its own wake-up pipe when much is submitted", "Python 3.12.1 or later", _GH + "python/cpython/issues/105829"),
    Defect("python", "3.9", "3.10.11", (_CLEARS, r"Finalize|EndInterpreter"), "the end of an interpreter takes a lock twice", "Python 3.10.11, 3.11.3 or later", _GH + "python/cpython/issues/102126"),
    Defect("python", "3.11.0", "3.11.3", (_CLEARS, r"Finalize|EndInterpreter"), "the end of an interpreter takes a lock twice", "Python 3.11.3 or later", _GH + "python/cpython/issues/102126"),
    Defect("python", "3.9", "3.12", (r"PicklingError|Can't pickle|unpicklable", r"concurrent[./]futures|ProcessPoolExecutor", r"shutdown|cancel_futures|" + HANGS), "ProcessPoolExecutor does not end after a task that cannot be pickled", "Python 3.12 or later", _GH + "python/cpython/issues/116685"),
    Defect("python", "3.11.0", "3.11.12", (r"_PyThread_Current(?:Frames|Exceptions)|sys\._current_frames", r"take_gil|HEAD_LOCK|new_threadstate|PyThreadState_New|" + HANGS), "looking at the frames of all threads may collect garbage with the interpreter's lock held", "Python 3.11.12, 3.12 or later", _GH + "python/cpython/pull/117332", weak=True),
    Defect("glibc", "2.25", "2.41", (r"pthread_cond_(?:wait|signal|broadcast)[^\n]*\n(?:[^\n]+\n){0,40}?[^\n]*pthread_cond", r"lost wake-?up|missed (?:signal|wake)|__condvar|G1|cond_signal|\b25847\b|gil(?:->|\.)locked = 0"),
           "condition variables can lose a wake-up", "glibc 2.41 or a distribution's fix", "https://sourceware.org/bugzilla/show_bug.cgi?id=25847"),
    Defect("glibc", "2.35", "2.37", (r"\bdlmopen\b", HANGS + r"|_dl_\w+"), "loading a library into a name space of its own does not end", "glibc 2.37 or a distribution's fix", "https://sourceware.org/bugzilla/show_bug.cgi?id=29600"),
    Defect("kernel", "3.14", "3.18", (r"futex\w*|pthread_cond_\w*wait|pthread_mutex_lock|lll_lock_wait", HANGS), "a wake-up of a futex can get lost", "Linux 3.18 or a distribution's fix", _GH + "biod/sambamba/issues/189", weak=True),
    Defect("driver", "361.0", "375.0", (r"Titan X|\bNCCL|nccl", HANGS), "copies between two GPUs hang with this driver", "a newer driver", _GH + "PaddlePaddle/Paddle/issues/246", weak=True),
    Defect("driver", "465.19", "465.24", (r"cupti|kineto|torch\.profiler|\bprofil(?:er|ing|e\()", r"futex|pthread_\w+wait|pthread_rwlock|lll_lock_wait|sem_\w*wait|" + HANGS), "it and CUPTI wait for each other where profiling begins after the first work on the GPU", "another driver; an empty torch.profiler.profile() before the first use of CUDA until then", _GH + "pytorch/pytorch/issues/60158"),
    Defect("driver", "555.42", "555.43", (r"\b(?:wait_for_everyone|barrier|all_?reduce|all_?gather|broadcast)\b|\bnccl", HANGS), "the first collective of several GPUs does not end with this driver", "a driver of the 550 or a later branch", _GH + "huggingface/accelerate/issues/2942", weak=True),
    Defect("driver", "560.0", "570.0", (r"P2P|peer[- ]to[- ]peer|NCCL_P2P_DISABLE", r"nccl", HANGS), "direct transfers between GPUs hang with this driver", "driver 570 or later; NCCL_P2P_DISABLE=1 until then", _GH + "dmlc/xgboost/issues/11242", weak=True),
    Defect("", "", "", (r"(?:pthread_create|clone3?|spawn a new \w+ ?thread|start new thread)[^\n]*(?:\n[^\n]*){0,2}?Operation not permitted", ), "the seccomp filter of the container runtime does not know clone3, which newer systems make threads with", "Docker 20.10.10, Podman 3.4, runc 1.0.2 or later; --security-opt seccomp=unconfined until then", _GH + "podman-container-tools/podman/issues/11862"),
    # hwloc's GL component asks the displays :0 to :9, by TCP where there is no socket of X (topology-gl.c), and waits for whoever answers there.
    Defect("", "", "", (r"\bhwloc_gl\b|\bXOpenDisplay\b|\blstopo\b|\bhwloc\b[^\n]{0,60}\b(?:X11|displays?|600\d)\b", r"(?:127\.0\.0\.1|localhost|\[?::1\]?|0\.0\.0\.0|\*|_|\binet_addr\(\"127\.0\.0\.1\"\)):?600\d\b|\bports? 600\d\b|\bhtons\(600\d\)", HANGS + r"|\bwaits?\b|\bwaiting\b|\bpoll\("), "hwloc looks for displays at the ports 6000 to 6009 and waits for a server there that speaks no X11", "HWLOC_COMPONENTS=-gl, or another port for what listens there", _GH + "open-mpi/hwloc/issues/621"),
)  # fmt: skip
