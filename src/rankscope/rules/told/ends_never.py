"""The program is over but does not end.

## What it means
The work is done; what remains is tear-down: destructors of communicators in an order that differs between ranks, `atexit` handlers, threads and pools that
are joined, a tracker that uploads. One of them waits for a peer that is already gone, or for a thread that never ends.

## How it is recognised
Stacks in `Py_FinalizeEx`, `atexit`, `threading._shutdown`, `_python_exit`, `multiprocessing.util._exit_function`, `ncclCommAbort`, `ncclCommDestroy` or
`destroy_process_group`; the log's last words are that the run finished. Some ranks have ended, others have not.
A finalizer (`__del__`) at the root of a stack, which only a dying interpreter calls; a Java machine in `Threads::destroy_vm`.
A thread that is no daemon, where a program was told to end and its prompt does not come back; a wait after `main()` has returned.
The last words of a test runner (GoogleTest's tear-down of the environment, `[  PASSED  ]`). A shell's trace (`set -x`) that has passed `exit` and ends in a wait; ranks that disconnect from each other (UCX) while MPI is finalized.
Where the program only waits for its threads, for those of an executor (`asyncio.run()`), or for its children (multiprocessing), as every program does at its end that has some, it is possible at most; a note, where one may be at work. It stands against all that reads well where each of them waits to be given something, by a program that is over.
A program of one line (`python -c`) that has printed what its last statement prints; a destructor that joins threads, below the last line "done";
the end of a ZeroMQ context, which waits until what was sent is taken; a log that was told to end and whose last words are whom it waits for.
A service that agreed to end (`shutdown accepted`) and whose container is still up or whose page still answers `SHUTDOWN`.
`'NoneType' object is not callable` in a listener's or pool's thread, `sys.meta_path is None`: it still runs while the interpreter ends.

strace of a program that is to stop: it asks again and again whether a child has ended (`wait4(…, WNOHANG) = 0`), which is blocked in a call.
Of a server that nobody asked to end, words that it does not exit say nothing.
A finalizer (`__del__`) that joins a thread, below which no frame of the program stands.

## What to do
`rankscope stacks pid:PID --native` names what is joined. Call `dist.destroy_process_group()` on all ranks at the same point after a barrier; shut
pools down explicitly; daemon threads; abort, not destroy, after an error. As a last resort `os._exit(0)` after the last barrier.

## How to prevent it
Explicit tear-down with a time limit. Mechanism: https://github.com/pytorch/pytorch/issues/119215, https://github.com/pytorch/pytorch/issues/75097
"""

# ruff: noqa: E501  (a sign is one line)
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from ...analysis.accounts import accounts
from ...analysis.case import Case
from ...analysis.endings import TO_BE_ENDED
from ...analysis.frame_tables import WaitKind
from ...analysis.frames import WaitState, has, wait_of
from ...model.diagnosis import Finding, Kind, Reason
from ...model.patterns import regex
from .. import make_rule
from .._say import at
from ._findings import finding
from ._kept_alive import kept_by, nobody_feeds
from ._lines import events
from ._outcomes import BAD, cured_by
from ._signs import LIKELY, POSSIBLE, Hit, Sign, hits
from ._together import left_early
from ._wordings import HALTS

_ENDS = (
    r"Py_FinalizeEx|Py_Finalize\b|Py_Exit|__run_exit_handlers|_dl_fini|__cxa_finalize|(?<!thread_)atexit_\w+|"
    r"_run_exitfuncs|finalize_modules|"
    r"wait_for_thread_shutdown|_python_exit|_shutdown \((?:[^\n]*/)?threading|_exit_function|_run_finalizers|"
    r"_terminate_pool|ncclCommAbort|ncclCommDestroy|"
    r"ncclCommFinalize|~ProcessGroup\w*|ProcessGroupNCCL::(?:shutdown|abort|~)|destroy_process_group|_shutdown_backend|"
    r"Threads::destroy_vm|jni_DestroyJavaVM|shutdownJVM \(|JPContext::shutdownJVM|cuDevicePrimaryCtxRelease|"
    r"cudart::\S*~|globalState::~|_PyGC_CollectNoFail|PyImport_Cleanup|_teardown|_execute_onexit_table|"
    r"LdrShutdownProcess|RtlExitUserProcess|ExitProcess\w*|__(?:hip|cuda)UnregisterFatBinary|_cancel_all_tasks|"
    r"shutdown_default_executor|_do_shutdown \(|(?<!__cxa_)(?<!__internal_)(?<!pthread_)(?<!thread_)(?<!__new_)atexit|"
    r"_exitfunc \(|(?:_stop_locked|__del__|_stop) \((?:[^\n]*/)?multiprocessing/resource_tracker"
)
# A frame or a sentence: not a line of a listing, which is but the call. Ranks that others do not join in MPI_Finalize wait there,
# too, wherever the others are: only its frames tell that it was reached.
_END = rf"(?:{_ENDS})(?!\([^()\n]*\);?[ \t]*$)|(?<= in )[\w.]*(?:{_ENDS})|\b\w*MPI_Finalize\w*(?:\(\))? \([^()\n]*\)$"
_END_TOLD = rf"(?:{_ENDS}|rpc\.shutdown|(?<!without calling )(?<!completed )MPI_Finalize(?! was invoked))"
# A child that ends as forks do, a death, and who waits for the GIL stand in such frames too.
_NO_END = (
    r"_flush_std_streams|fork\w*_child|Out of memory|out of memory|exitcode: -9|PyGILState_Ensure|interpreter lock|"
    r"gil_scoped"
)
_DONE = (
    r"\b(?:done training|training (?:is )?(?:done|finished|complete\w*)|all (?:tests? )?(?:done|passed|finished)|(?:all|every|the last|its last) (?:tests?|epochs?|steps?|iterations?|jobs?|tasks?|rounds?|episodes?|items?|samples?|results?) (?:(?:is|are|was|were|has|have|been) ){0,2}(?:done|over|finished|complete[d]?|passed|written|printed|reported)|tests? (?:have )?pass(?:ed)?|\d+ passed\b|finished (?:training|successfully)|"
    r"Program ended successfully|End of program|Program (?:finished|completed)|Normal (?:end|termination)|W&B process to finish|wandb: Synced|Best val\b|(?:prints?|printed) (?:its|the) last|last (?:line|statement|print)\b[^\n]{0,30}\b(?:reached|printed|executed)|job (?:is )?done|work is done|(?:run|main|everything|script|program) (?:is )?(?:done|finished|complete[d]?|over))\b"
)
# The last line of many scripts.
_DONE_LINE = r"^\W{0,4}(?:all )?(?:done|finished|completed|the end|bye|exiting)\W{0,4}$"
_FINALIZED = r"\bMPI_Finalize(?:d\b| (?:done|complete\w*|returned))|\bcompleted MPI_Finalize"
# Who may be said to stay; a loss that stays at 2 and a check that found no hang do not count.
_WHO = (
    r"process(?:es)?|program|script|python|interpreter|job|run|ranks?|rank ?\d+|workers?|it|main|shell|command|"
    r"launcher|torchrun|memory|gpus?"
)
_LASTS = (
    rf"\b(?:no prompt|until (?:its|the) time limit|(?:squeue|qstat|kubectl)\b[^\n]{{0,40}}\b(?:R|Running|running)\b|"
    rf"keeps? (?:its|the|their) (?:nodes?|GPUs?|job|allocation)|prompt (?:does(?:n't| not)|never)|"
    rf"process (?:remains|stays)|stays allocated|(?:hours?|minutes?) old|occupies|does(?:n't| not) quit|"
    rf"needs? (?:an? )?(?:extra )?[`'\"]?(?:Ctrl|\^C|SIG(?:KILL|TERM|INT))|(?:minutes?|hours?|seconds?) later|"
    rf"never (?:exits?|ends?|returns?)|still (?:there|running|alive|in ps)|does(?:n't| not) (?:exit|end|return|quit)|"
    rf"(?:{_WHO})\b[^\n]{{0,40}}\b(?:stays?|remains?|hangs?|hung|stuck)|^[^\w\n]*(?:stays?|remains|hangs|hung|stuck)$|"
    rf"killed by hand|kill -9)\b"
)
# What its scheduler and its shell still hold of it.
_TAKEN = (
    r"\bno prompt\b|\b(?:squeue|qstat|kubectl)\b[^\n]{0,40}\b(?:R|Running|running)\b|"
    r"^[^\S\n]*(?:JOBID )?\d+(?:_\d+)? R +\d|keeps? (?:its|the|their) (?:nodes?|GPUs?|job|allocation)|"
    r"prompt (?:does(?:n't| not)|never)|stays allocated"
)
_STOPPED = r"|Ctrl-?C|KeyboardInterrupt"
# The innermost frames of what a library keeps beside the program: a listener, a feeder, a pool's manager, a finalizer.
_LIBRARY_THREAD = (
    r"(?:logging/handlers|multiprocessing/(?:queues|pool|managers|util|connection)|"
    r"concurrent/futures/(?:thread|process)|threading|queue|weakref|tempfile|asyncio/base_events)\.py|"
    r"Exception in thread|is likely shutting down|interpreter shutdown|after (?:interpreter )?shutdown"
)
_OVERTIME = (
    rf"{_LASTS}|\b(?:hang|hung|stuck|overtime)\b[^\n]{{0,12}}\d+ ?(?:s|seconds|min\w*|h|hours?|days?)\b|"
    rf"force[- ]killed|had to be killed"
)
_ASKED = r"\b(?:shut-?down|termination) (?:(?:was|is|has been|request|signal|task) ){0,2}(?:requested|accepted|received|initiated|completed?)\b|\b(?:received|got|handling) (?:a )?(?:shutdown|termination) (?:request|signal)|\blifecycle (?:ending|ended|stopped)\b"
# `docker ps` of a container that has run for longer than it takes to end, or a page of the service that tells its state.
_STILL_UP = r"\b(?:docker|podman|nerdctl|crictl) ps\b[^\n]*\n(?:[^\n]*\n){0,6}?[^\n]*\bUp (?:\d+|About an?|an?) (?:minute|hour|day|week|month)s?\b|\b(?:state|status)\b[^\n]*(?:\n[^\n]*)?\"(?:SHUTDOWN|SHUTTING_DOWN|STOPPING|TERMINATING|DRAINING)\""
# What is said of a server as well, which is to run until somebody ends it: it has said that it starts or serves.
_SAID, _NO_PROMPT = "somebody says that it does not exit", "the process does not come back to the shell"
_SERVER = (
    r"\bStarted (?:server|reloader|parent) process \[|\b(?:Uvicorn|Hypercorn|Daphne|Tornado|waitress)\b[^\n]{0,20}\b(?:running|serving|listening) (?:on|at)\b|"
    r"\bWaiting for application startup|\bApplication startup complete|\bStarting gunicorn \d|\bListening at: \w|"
    r"\* Running on (?:http|all addresses)|\bStarting development server at\b|\bServing (?:HTTP|Flask app)\b|"
    r"\bserver (?:is )?(?:now )?(?:listening|ready|started|up)\b"
)
_TO_END = (
    r"\bshut(?:s|ting)?[- ]?down\b|\bSIG(?:TERM|INT|QUIT|HUP)\b|Ctrl-?\+?C|\^C|KeyboardInterrupt|"
    r"\b(?:docker|podman|systemctl|supervisorctl|service|compose)\b[^\n]{0,40}\b(?:stop|down|restart)\b|\bkill(?:ed|ing|s)?\b|"
    r"\b(?:stopp|reload|restart|terminat)(?:ed|ing|s)?\b|\b(?:graceful|at exit|atexit|on exit)\b"
)
# threading._shutdown joins each thread that is no daemon, as the interpreter's own end does after a signal.
_KEPT_BY_A_THREAD = Sign(
    r"\bdaemon ?= ?False\b|\bnon-?daemon(?:ic)?\b[^\n]{0,12}\bthreads?\b|\bthreads?\b[^\n]{0,24}\bnot (?:a )?daemon(?:ic)?\b",
    "a thread that is no daemon keeps a program that is told to end",
    anywhere=(
        _TAKEN,
        r"\^C|Ctrl[-+ ]?C|\bSIG(?:INT|TERM)\b|KeyboardInterrupt|\b(?:told|asked) to (?:stop|end|exit|quit)",
    ),
    unless=(r"Watchdog caught|out of memory",),
)
# Somebody ended one thread of a program that was told to end, or closed what kept it, and with it the whole was over.
_ENDS_WITH_A_THREAD = (
    r"\b(?:after|once|when|as soon as|only if|if)\b[^\n]{0,60}\b(?:threads?|timers?|tid \d{1,9})\b[^\n]{0,24}\b(?:killed|stopped|ended|cancel+ed|closed|terminated|shut down|let go)\b"
    r"[^\n]{0,40}\b(?:process|program|worker|parent|main|server|service|it|script|interpreter|everything|command)\b[^\n]{0,16}\b(?:end(?:s|ed)?|exit(?:s|ed)?|terminate[sd]?|quit|go(?:es)? away|went away|is gone|stop(?:s|ped)?)\b"
)
_TOLD_TO_END = (
    r"\^C|Ctrl[-+ ]?C|\bSIG(?:INT|TERM|HUP|QUIT)\b|KeyboardInterrupt|\b(?:told|asked|is|supposed) to (?:stop|end|exit|quit|terminate)\b|"
    r"\b(?:restart|shut-?down|stop|reload)\b"
)
_ZMQ_END = r"\b(?:\w*(?:ctx|context)\w*\.(?:destroy|term)\(|zmq_(?:ctx_)?(?:term|destroy)\b|zmq::ctx_t::terminate\b)"
_SIGNS = (
    Sign(r"Exception ignored in:? <module 'threading'[^\n]*(?:\n[^\n]*){0,8}(?:_shutdown|KeyboardInterrupt)|Error in atexit\._run_exitfuncs", "the interpreter was interrupted while it ended"),
    # Python calls a finalizer from no frame of its own only where it takes itself down.
    Sign(r"^__del__ \([^\n]*\)\n\n", "a finalizer runs below no code of the program: the interpreter takes itself down", unless=(r"Watchdog caught|out of memory|fork\w*_child",)),
    Sign(_END, "the stack stands in the end of the program", unless=(_NO_END,), prose=True),
    Sign(_END_TOLD, "what ends the program is told or listed", POSSIBLE, unless=(_NO_END,), prose=True),
    # socketserver.BaseServer.shutdown waits until serve_forever comes round; without threads that thread serves its clients itself.
    Sign(r"^shutdown \((?:[^\n]*/)?socketserver\.py:\d+\)", "a server is told to end while its only thread is in a request", anywhere=(r"^finish_request \((?:[^\n]*/)?socketserver\.py:\d+\)\nprocess_request \((?:[^\n]*/)?socketserver\.py:\d+\)\n(?:[^\n]+\n){1,6}?serve_forever \(",)),
    # zmq_ctx_term(3) waits until what was sent has left, as long as the linger of its sockets allows: for ever by default.
    Sign(r"\b(?:destroy|terminat|clos)(?:ing|es|ed) (?:the |its )?(?:zmq |ZeroMQ |zeromq )?context\b|\b(?:zmq_)?(?:context|ctx)(?:\.|_)(?:destroy|term)\b(?! ?\(\w*linger ?= ?0)|\bzmq_term\b", "a context of ZeroMQ is taken down, which waits for messages that are not sent", anywhere=(r"\bzmq\b|\bpyzmq\b|ZeroMQ", r"\bdoes(?:n't| not) (?:end|exit|return|finish|come back)|\bhangs?\b|\bstuck\b|\bnever (?:ends?|exits?|returns?)|\bblocks\b"), unless=(r"\blinger\b\W{1,4}0\b|Watchdog caught|out of memory",)),
    # While the interpreter ends it sets the names of modules to None: who still runs calls nothing, imports nothing, starts nothing.
    Sign(r"^(?:\w+\.)?TypeError: 'NoneType' object is not callable|^ImportError: sys\.meta_path is None, Python is likely shutting down|^RuntimeError: can't (?:create|start) new thread at interpreter shutdown|^RuntimeError: cannot schedule new futures after (?:interpreter )?shutdown", "a thread is still at work while the interpreter ends", also=(_LIBRARY_THREAD,), anywhere=(_OVERTIME,), unless=(r"Watchdog caught|out of memory",)),
    Sign(r"at interpreter shutdown, possibly due to daemon threads|Python runtime state: finalizing", "a thread is still at work while the interpreter ends"),
    # A job step whose work is done and which its scheduler cannot clean up (slurmctld: CG is completing).
    Sign(r"^\s*\d+(?:_\d+)?\s+\S+\s+\S+(?:\s+\S+)?\s+CG\s|\bJobState=COMPLETING\b", "the scheduler says that the job is completing", anywhere=(_DONE + r"|^All done|^done\b|(?-i:Kill task failed)|JOB NOT ENDING WITH SIGNALS",), unless=(r"\b(?:nfs|lustre|gpfs)\b|Watchdog caught",)),
    Sign(r"^\S+ +Z[sN<+]*l[+]? |^\s*\d+ Z[sN<+]*l[+]? ", "the main thread of a process has ended, and others of its threads have not", unless=(r"Watchdog caught|out of memory",)),
    # Runners of CI jobs: what is left when a step is given up.
    Sign(r"Terminate orphan process: pid|##\[error\]The operation was canceled|(?:exceeded|reached) (?:the )?(?:maximum execution time|timeout of)|\bNo output has been received in the last\b|Job's log exceeded|execution took longer than", "the tests had passed, and their runner gave the job up", POSSIBLE, also=(r"={3,} (?:\d+ \w+,? ?)*\d+ passed\b[^\n]*={3,}|^OK(?: \(\w+=\d+\))?$|^\d+ passed\b|100% tests passed|\btest result: ok\b",), unless=(r"\b[1-9]\d* (?:failed|errors?)\b",)),
    # The last words of GoogleTest before it tells how it went, and of Catch2, doctest, unittest, CTest and cargo when all is well.
    Sign(r"^(?:\[-{10}\] )?Global test environment tear-?down", "the tests are over, and what they set up is taken down", anywhere=(HALTS,), unless=(r"^\[={10}\] \d+ tests? from [^\n]* ran\b",)),
    Sign(r"^\[  PASSED  \] \d+ tests?\b|^All tests passed \(|^\[doctest\] Status: SUCCESS|^100% tests passed|^test result: ok\.|^Ran \d+ tests? in [\d.]+s\s+OK\b", "all tests have passed", anywhere=(_LASTS,), unless=(r"Watchdog caught|out of memory",), passing=True),
    # UCX takes its connections down while MPI is finalized, and needs its peers for it.
    Sign(r"\bcommon_ucx\.c:\d+ +waiting for \d+ disconnect requests|\b(?:opal|mca)_common_ucx_(?:del_procs\w*|wait_all_requests|mca_pmix_fence\w*)", "ranks wait for each other while they take their connections down", anywhere=(r"\bdel_procs\w*|\bdisconnecting from rank\b",), unless=(_FINALIZED,)),
    Sign(r"\b(?:remaining|left-?over|surviving|lingering) (?:non-daemon )?threads?\b(?! (?:pool|count|limit))|\bthreads? (?:is|are|was|were) left (?:over|behind|alive|waiting)\b", "threads are left when the program is over", POSSIBLE, unless=(r"Watchdog caught|out of memory|\bfork(?:ed|s|ing)?\b",), prose=True),
    Sign(r"\bthreads?\b[^\n]{0,40}\b(?:is|are|was|were|remains?|stays?|keeps?) (?:still )?(?:alive|running|active|there)\b[^\n]{0,20}\b(?:after|when|once|although|though)\b[^\n]{0,30}\b(?:program|script|command|main|work|run|query|job|everything|test|process|it)\b[^\n]{0,30}\b(?:run|ran|done|over|ended?|ends|finish\w*|return\w*|complet\w*|exit\w*|closed)\b", "a thread lives on when the program is over", anywhere=(rf"{HALTS}|{_LASTS}",), unless=(r"Watchdog caught|out of memory|\bfork(?:ed|s|ing)?\b",), prose=True),
    Sign(r"\b(?:after|since|when) (?:its )?\W?main\b\W{0,3}(?:has |had |is )?(?:already )?(?:returned|ended|finished|over)\b|\bmain\b(?:\(\))?\W? (?:has|had) (?:already )?(?:returned|ended|come to its end)\b", "what is waited for is waited for after main()", anywhere=(r"join|wait|mutex|futex|\block",), unless=(r"Watchdog caught|out of memory|\bfork(?:ed|s|ing)?\b|\bmain thread (?:has|had)",), prose=True),
    _KEPT_BY_A_THREAD,
    # The watchdogs of groups that are still there when all is done and saved.
    Sign(r"\b(?:after|past|behind) (?:the |its )?(?:very )?(?:last|final) (?:training )?(?:step|iteration|epoch|batch|checkpoint|save)\b|\b(?:last|final) checkpoint (?:is |was |has been )?(?:saved|written)\b", "the work is done, and then watchdogs find that they stand", anywhere=(r"watchdog got stuck for \d|[Hh]eartbeat monitor timed out",), unless=(r"Watchdog caught|out of memory",), prose=True),
    Sign(_ENDS_WITH_A_THREAD, "it ended as soon as a thread of it was ended", anywhere=(_TOLD_TO_END, _LASTS), unless=(r"Watchdog caught|out of memory|dead-?lock|\bGIL\b",), prose=True),
    # Of a shell with -x the last line is what it has begun.
    Sign(r"^\++ exit \d+ *\n(?:[^\n]*\n){0,6}?\++ (?:sleep|wait)\b[^\n]*\n?\Z", "a script is past its exit and still waits", POSSIBLE),
    Sign(r"^[^\w\n]*\^C|KeyboardInterrupt|received signal SIGINT", "the work was done, and somebody had to interrupt it", POSSIBLE, also=(_DONE,), unless=(r"Watchdog caught|out of memory", TO_BE_ENDED.pattern)),
    Sign(r"\b(?:interpreter|process|script|program|python|shell|command|client|main)\b[^\n]{0,30}\b(?:does(?:n't| not)|never|will not|won't|fails? to|cannot) (?:exits?|terminates?|quits?)\b", _SAID, POSSIBLE, unless=(r"\b(?:child|subprocess|worker)\b[^\n]{0,40}\b(?:put|queue|pipe)|Watchdog caught|out of memory",), prose=True),
    # What its tracker of segments finds left over "to clean up at shutdown" it tells when a program is gone.
    # An error that the interpreter reports of itself while it ends, and ignores, is none that stays.
    Sign(r"^(?![^\n]*(?:\braise \w|Error: ))[^\n]*?(?:\b(?:interpreter|python) (?:shutdown|shut-down|finali[sz]ation|exit)\b|\b(?:during|(?<!to clean up )at|on) (?:shutdown|finali[sz]ation|interpreter exit|process exit)\b)", "it happens while the interpreter ends", anywhere=(BAD,), unless=(r"Watchdog caught|out of memory|\bsystemd\b[^\n]*\bshutdown\b",), prose=True),
    Sign(r"\b(?:worker|child|sub-?process|process|helper|target|function|loop|\w+_(?:fn|func|loop|main|worker))\b[^\n]{0,20}\b(?:has|have) (?:left its loop|returned(?! from\b)|come to its end|run to its end|reached its last line)|\bafter its last (?:line|statement|print)\b", "its work is done, and it is waited for", anywhere=(r"\bjoin\(?\)?|waitpid|Waiting (?:on|for)|" + _LASTS,), unless=(r"\b(?:put|queue|pipe)\b[^\n]{0,40}(?:MB|KB|large|full)|Watchdog caught|out of memory",), prose=True),
    Sign(cured_by(r"\.(?:finish|close|shutdown|stop|cleanup|quit|end|terminate|destroy\w*)\(\)"), "it ends when something is closed by hand", anywhere=(r"\bjoin\b|\bexit|\bend\b|never comes? back|" + _LASTS,), unless=(r"Watchdog caught|out of memory|\block\b",), prose=True),
    Sign(r"\bno prompt\b|\bprompt (?:does(?:n't| not)|never) (?:come|return|appear)|\bafter (?:its |the )?last (?:line|print|output)\b", "nothing is left to do, and it does not end", anywhere=(rf"{_DONE}|{_DONE_LINE}",), unless=(r"Watchdog caught|out of memory",), prose=True),
    Sign(r"^(?:(?=\S*pthread_\w*join)|std::(?:__1::)?thread::join)[^\n]*\n(?:[^\n]+\n){0,8}?[^\n]*(?:[Dd]e[Ii]nit|\b[Qq]uit\b|::quit|[Ss]hut[Dd]own|[Ff]inali[sz]e|[Tt]ear_?[Dd]own|[Cc]leanup|[Uu]ninit|_exit\b)", "threads are joined while a program or library is taken down", unless=(r"take_gil|PyGILState_Ensure|gil_scoped_acquire|\bfork\b|Watchdog caught",)),
    # A destructor that joins threads, in a program that has printed its last line.
    Sign(r"^(?:(?=\S*pthread_\w*join)|std::(?:__1::)?thread::join)[^\n]*\n(?:[^\n]+\n){0,5}?[^\n]*::~\w+", "a destructor joins threads, and the program has printed its last line", anywhere=(_DONE_LINE,), unless=(r"take_gil|PyGILState_Ensure|gil_scoped_acquire|\bfork\b|Watchdog caught",)),
    # The last word of what was told to end is whom it waits for: cherrypy's bus, servers, executors.
    Sign(r"\b(?:[Ww]aiting (?:for|on)|[Jj]oining) (?:[\w'-]+ ){0,3}(?:threads?|workers?|executors?|tasks?|child(?:ren)?|sub-?process(?:es)?)\b(?! (?:to (?:start|connect|register|join|be|come|init\w*|load)|input|output))[^\n]{0,120}\n?\Z", "the last words of what is to end tell whom it waits for", POSSIBLE, also=(r"\^C|\b(?:shut(?:ting)? ?down|STOPP(?:ING|ED)|EXIT(?:ING|ED)|SIG(?:INT|TERM)|Stopping|Exiting|Terminating|KeyboardInterrupt|Keyboard Interrupt)\b",), unless=(r"Watchdog caught|out of memory|all_?reduce|\brank\b", TO_BE_ENDED.pattern)),
    # ZeroMQ keeps what was sent and not taken, for ever unless LINGER is set (zmq_setsockopt(3), zmq_ctx_term(3)).
    Sign(rf"\b(?:hangs?|hung|stuck|blocks?|blocked|waits?|sits|stands?(?: still)?)\b[^\n]{{0,16}}\b(?:in|at|on)\b[^\n]{{0,24}}{_ZMQ_END}|{_ZMQ_END}[^\n]{{0,24}}\b(?:hangs?|blocks?|never returns|does(?:n't| not) (?:return|end))\b|^(?:term|destroy|__del__|__exit__) \((?:[^\n]*/)?zmq/(?:sugar|backend)/", "the end of a ZeroMQ context waits until what was sent is taken, or a socket is closed", anywhere=(r"(?i:zmq|zeromq)",), unless=(r"\b(?:linger|LINGER)\b[^\n]{0,8}\b0\b[^\n]{0,40}\b(?:too|no (?:change|difference|help)|also|as well)\b",), prose=True),
    # A program of one line, which is over when it has printed what its last statement prints.
    Sign(r"^[$#>% ]{0,4}python[\d.]{0,4} (?:-[\w=:]{1,40} (?:\w{1,40} )?){0,4}?-c ?(?P<quote>['\"])[^\n]{0,400}?\bprint\b ?\(? ?['\"](?P<out>[^'\"\n]{1,80})['\"]\)?;? ?(?P=quote)[^\n]{0,20}\n(?:(?!Traceback)[^\n]*\n){0,4}?(?P=out)[^\S\n]*\n(?:(?!Traceback)[^\n]*\n){0,3}?[^\n]{0,40}(?:\^C|\^\\|\^Z|\bQuit\b|\b[Hh]angs?\b|no prompt|\bKilled\b)", "a program of one line has printed its last word, and had to be interrupted"),
    Sign(_DONE, "the work is done, and the job or its prompt is still taken", anywhere=(_TAKEN,), unless=(r"Watchdog caught|out of memory",), passing=True),
    Sign(_DONE, "the work is done", POSSIBLE, anywhere=(_LASTS,), unless=(r"Watchdog caught|out of memory",), passing=True),
    Sign(r"^(?:\[[^\n]*\] |INFO:? +|\d[^\n]*INFO[^\n]{0,20})?(?:Worker exiting|Shutting down|Shutdown complete|Finished server process|Application shutdown complete|Exiting|Bye|Goodbye)\b|\b(?:passed|OK|succeeded)\b[^\n]{0,20} in \d[\d.]*s", "its last words are that it ends", anywhere=(_LASTS,), prose=True),
    # A service that was asked to end and agreed, and that is still there by what its container or its own page says.
    Sign(rf"(?:{_ASKED})", "it has been asked to end and has begun to, and is still there", POSSIBLE, anywhere=(_STILL_UP,), until=r"\bstart(?:ing|ed)\b(?! (?:to|the|its) (?:shut|stop|end))|\bstartup\b", unless=(r"Watchdog caught|out of memory|CrashLoopBackOff|Restarting \(\d",)),
    Sign(r"\b(?:hang|hung|stuck|stall|freez|never (?:exit|end|return|terminat)|does(?:n't| not) (?:exit|end|terminate|return|quit))\w*[^\n.]{0,60}(?:at|on|during|after|in)\b[^\n.]{0,30}(?:exit|shutdown|teardown|tear-down|interpreter (?:exit|shutdown)|finaliz\w+|the (?:very )?end(?! of (?:\w+ ){0,3}(?:epoch|step|batch|iteration|validation|evaluation|round|phase|loop|stage|block|function|call|section))|clean-?up|(?:training|program|script|test|run|job)\w* (?:finish|complet|end|is done|has finished))",
         "somebody says that it does not end", POSSIBLE, prose=True),
    Sign(r"\b(?:training|job|run|script|program|epochs|tests?|all (?:steps|work))\b[^\n]{0,60}(?:finished|complete[d]?|done|succeeded|passed)[^\n]{0,120}(?:but|then|and|yet|however)[^\n]{0,60}(?:hang|never exit|not exit|stuck|remain|still (?:running|alive)|does not (?:end|exit|return)|keeps? running)",
         "the work is done and the process stays", prose=True),
    Sign(r"process group has NOT been destroyed before", "the groups were not destroyed in order", POSSIBLE, anywhere=(_LASTS + _STOPPED,)),
    Sign(r"Exception ignored in:? <(?:module 'threading'|function _?(?:after|at)|bound method)[^\n]*", "something failed while the interpreter ended", POSSIBLE, also=(r"_shutdown|atexit|exit",)),
    Sign(r"\b(?:wandb|mlflow|neptune|comet|tensorboard)[^\n]{0,60}(?:finish|waiting for|uploading|sync\w*|shutdown|teardown)", "a tracker is being closed", POSSIBLE, anywhere=(_LASTS + _STOPPED,), prose=True),
    Sign(r"^(?:finish|_on_finish|teardown|_teardown|_atexit_\w+|close|shutdown|stop|flush|join_\w+|__exit__|_cleanup|remove) \((?:[^\n]*/)?(?:loguru|logging/handlers|wandb|mlflow|neptune|comet_ml|clearml|tensorboard\w*|torch/utils/tensorboard|aim|sentry_sdk|opentelemetry|posthog|ray|dask|distributed|pyspark|vllm|sglang|lightning|pytorch_lightning|tritonclient)/", "a tracker or client is being closed",
         anywhere=(r"\b(?:done|finished|complete[d]?|final|train_runtime|saved|summary|passed)\b|(?<![\d.])100 ?%|stopped: `|Training (?:is )?(?:over|done)",), unless=(r"Watchdog caught|out of memory|fork\w*_child",)),
    Sign(r"^(?:_?shutdown\w*|disconnect|_shutdown_\w+) \((?:[^\n]*/)?(?:ray/_private|ray/util|ray/actor|distributed/|vllm/|sglang/|opentelemetry/|grpc/|concurrent/futures/thread|tensorflow/|torch/distributed/rpc|pyspark/|jax/_src/distributed|asyncio/runners|lightning|pytorch_lightning|deepspeed/|horovod/|mpi4py/|wandb/|mlflow/|comet_ml/|neptune/|clearml/|azure/|google/cloud|botocore/|sentry_sdk/|prometheus_client/)", "a library is being taken down",
         unless=(r"Watchdog caught|out of memory|fork\w*_child|dead-?lock|\b\w*(?:all_?gather|all_?reduce|broadcast|barrier|psum|reduce_scatter)\w* \(",)),
    Sign(r"\bafter (?:the |its )?(?:very )?(?:last|final) (?:epoch|step|iteration|batch|result|test|round)\b[^\n]{0,60}\b(?:time limit|never (?:exits?|ends?|returns?)|hangs?|stays?|stuck|remains?|does not (?:end|exit|return|finish))\b", "the work is done and the process stays", prose=True),
    Sign(r"\bos\._exit\b|\bdaemon ?= ?True\b|\b(?:wandb\.finish|destroy_process_group|pool\.close|executor\.shutdown|ray\.shutdown|client\.close)\(\)[^\n]{0,24}\b(?:at the end|before|explicitly|by hand|last)", "it ends when it is made to end", unless=(r"Watchdog caught|out of memory",), cures=True),
    Sign(r"\b(?:does(?:n't| not)|never|not) (?:come|get|go|return)\w*(?: back)?\b[^\n]{0,12}\b(?:shell|prompt|command line)\b", _NO_PROMPT, POSSIBLE, prose=True),
    Sign(r"\b(?:final|last|best|total|overall)\b[^\n]{0,30}\b(?:and|but) then\b[^\n]{0,20}\b(?:sits?|stays?|hangs?|stops?|nothing|waits?|stands?)\b", "the work is done and the process stays", unless=(r"Watchdog caught|out of memory",), prose=True),
    Sign(r"^(?:close|_cleanup|__exit__|_cancel_all_tasks|shutdown_\w+|_do_shutdown) \((?:[^\n]*/)?asyncio/(?:runners|base_events)|^shutdown \((?:[^\n]*/)?logging/__init__|^(?:stop|join|close|__exit__) \((?:[^\n]*/)?(?:tensorflow/python/(?:training(?!/server_lib)|client)|tensorboardX?/|lightning\w*/\w*/?loggers|pytorch_lightning/loggers|joblib/externals/loky/backend/resource_tracker)", "the stack stands in the end of the program",
         unless=(r"Watchdog caught|out of memory|fork\w*_child|\b\w*(?:all_?gather|all_?reduce|broadcast|barrier|psum|reduce_scatter)\w* \(",)),
    Sign(r"\b(?:hangs?|stuck|blocks?|waits?|sits)\b[^\n]{0,12}\bin\b[^\n]{0,16}\b\w*(?:[Ss]hutdown|[Ff]inali[sz]e|teardown|destroy\w*|atexit)\b", "somebody says that it does not end", POSSIBLE, unless=(r"Watchdog caught|out of memory|\bfork\w*",), prose=True),
    Sign(r"\b(?:had|have|needed?) to\b[^\n]{0,16}\bos\._exit\b", "it ends when it is made to end", prose=True),
    Sign(r"`?Trainer\.fit`? stopped|Training (?:finished|completed|complete)|train_runtime", "the training is over", POSSIBLE, anywhere=(_LASTS,), unless=(r"Watchdog|timeout|Timed out|Error",)),
)  # fmt: skip

_STEPS = (
    "rankscope stacks pid:PID --native   # names what is joined",
    "dist.barrier(); dist.destroy_process_group()   # on all ranks, at the end of main",
)
_OTHERS_WAIT = "other ranks wait in a collective: this one may only have left before it"
_LATER = regex(
    r"\b\d+(?:\.\d+)? ?(?:h|hours?|hrs?|min(?:ute)?s?|days?) (?:later|after(?:wards)?\b|on\b)|\bnext (?:morning|day)\b",
    re.IGNORECASE,
)


def check(case: Case) -> Iterator[Finding]:
    found = [hit for hit in hits(case, _SIGNS) if not (hit.sign.says in (_SAID, _NO_PROMPT) and _serves(case))]
    found.extend(_child_stays(case))
    if found:
        made = finding(RULE, case, found, "the program is over but does not end", _STEPS)
        if made.certainty is LIKELY and not case.snapshot.live and left_early(case) is not None:
            made = replace(made, certainty=POSSIBLE, against=(*made.against, _OTHERS_WAIT))
        kept = any(hit.sign is _KEPT_BY_A_THREAD for hit in found) or _finalizer_joins(case)
        made = replace(made, compared=made.compared or kept or _still_there(case))
        yield _of_threads(case, made)


def _child_stays(case: Case) -> Iterator[Hit]:
    """A program that is to stop and asks again and again whether a child has ended, which is blocked in a call (strace)."""
    blocked = {event.pid: event for event in events(case, "strace.blocked") if event.fields.get("call") in _BLOCKS}
    for polls in events(case, "strace.polls_child") if blocked else ():
        child = blocked.get(cast("int", polls.fields["child"]))
        asked = any(_TO_STOP.search(f"{one.label}\n{one.said}") for one in accounts(case))
        if child is not None and child.pid != polls.pid and asked:
            says = "the parent asks in vain whether a child has ended, which waits in a call that does not return"
            yield from (Hit(Sign("", says), one, child.text) for one in accounts(case)[:1])
            return


_BLOCKS = {
    "read",
    "recvfrom",
    "recvmsg",
    "futex",
    "poll",
    "select",
    "flock",
    "fcntl",
    "restart_syscall",
    "write",
    "semop",
}
_TO_STOP = regex(
    r"\b(?:re-?start|stop|shut-?down|shutting down|terminat\w*|quit|exit)(?:s|ed|ing|ping|ped)?\b|\bSIGTERM\b",
    re.IGNORECASE,
)


# A finalizer that nobody called, and where it waits for a thread or child: the innermost frame is the first.
_JOINS_ONE = regex(
    r"^(?:join|_wait_for_tstate_lock|wait) \((?:[^\n]*/)?(?:threading|multiprocess(?:ing)?/(?:process|pool|popen_fork))\.py[^\n]*\n"
    r"(?:[^\n]+\n){0,12}?__del__ \([^\n]*\)\s*\Z",
    re.MULTILINE,
)


def _finalizer_joins(case: Case) -> bool:
    """Whether a finalizer below which no code of the program stands waits for another thread, which a dump shows as well."""
    return any(
        len(one.seen) > 1
        and any(_JOINS_ONE.search(seen.text) for seen in one.seen)
        and not one.find(r"\bfork\w*_child")
        for one in accounts(case)
    )


def _serves(case: Case) -> bool:
    """Whether a server has said that it starts or serves, and nothing tells that it was to end."""
    told = accounts(case)
    return any(one.find(_SERVER) for one in told) and not any(one.find(_TO_END, prose=True) for one in told)


def _of_threads(case: Case, made: Finding) -> Finding:
    """Where a dump shows that a program only waits for threads or children, as each does at its end that has some, what
    these do tells whether it hangs: of one at work it is a note, and where they wait for something it is possible at most."""
    if case.snapshot.live or _still_there(case):
        return made
    if any(_LASTING.search(one.said) for one in accounts(case)):
        return replace(made, compared=made.compared or nobody_feeds(case))
    doing = [(wait_of(seen.stack), seen.thread.active) for seen in kept_by(case)]
    if not doing:
        return made
    where = [f"what it waits for is in {wait.op}{_called_from(wait)}" for wait, _ in doing[:2]]
    works = any(wait.kind in _AT_WORK and active is not False for wait, active in doing)
    return replace(
        made, kind=Kind.NOTE if works else made.kind, certainty=POSSIBLE,
        compared=not works and (made.compared or nobody_feeds(case) or any(_UP.search(one.said) for one in accounts(case))),
        because=(*made.because, *(Reason(text, "python-stack") for text in where)),
        against=(*made.against, _AT_THEIRS if works else _WAITED_FOR),
    )  # fmt: skip


_AT_WORK = (WaitKind.USER, WaitKind.LIBRARY, WaitKind.UNKNOWN)
_AT_THEIRS = "a thread or child of the program may be at work: its end waits for it, as it should"
_WAITED_FOR = (
    "the program only waits for threads or children of its own: what hangs, if anything does, is what these wait for"
)
# A unit of systemd that runs one command and should have been over: it has not come to its end for minutes or longer.
_UP = regex(
    r"^\s*Active: (?:de)?activating \([^)\n]{1,20}\) since [^\n]{1,80}; [^\n]{0,30}?\d(?:min|h| days?| weeks?)\b[^\n]{0,30}\bago",
    re.MULTILINE,
)
_LASTING = regex(rf"{_LASTS}|{HALTS}", re.IGNORECASE | re.MULTILINE)


def _called_from(wait: WaitState) -> str:
    return f", called from {at(wait.user_frame)}" if wait.user_frame is not None else ""


def _still_there(case: Case) -> bool:
    """Whether somebody looked at the end of a program long after, and it still stood there."""
    if case.snapshot.live:
        return False
    return any(
        _LATER.search(one.label) and any(has(stack, WaitKind.EXIT) is not None for stack in one.stacks)
        for one in accounts(case)
    )


RULE = make_rule(__name__, __doc__, "exit-hang", 48, check, yields_to=("entered-again",))
