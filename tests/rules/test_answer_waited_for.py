"""A step of an event loop that waits for an answer keeps the loop; a thread beside it and a loop that rests do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis import order
from rankscope.formats.gather import gather
from rankscope.pipeline import judge

HEAD = 'Process 41: uvicorn main:app\nPython v3.11.7 (python)\n\nThread 41 (idle): "MainThread"\n'
ASKS = (
    "    readinto (socket.py:706)\n    getresponse (http/client.py:1386)\n    urlopen (urllib3/connectionpool.py:787)\n"
    "    get (requests/api.py:73)\n    features (work.py:22)\n"
)
STEP = "    app (fastapi/routing.py:30)\n    run_asgi (uvicorn/protocols/http/h11_impl.py:403)\n    _run (asyncio/events.py:80)\n"
LOOP = (
    "    _run_once (asyncio/base_events.py:1922)\n    run_forever (asyncio/base_events.py:607)\n"
    "    run_until_complete (asyncio/base_events.py:640)\n    run (uvicorn/server.py:66)\n"
)
BESIDE = 'Thread 42 (idle): "AnyIO worker thread"\n' + ASKS + "    run (anyio/_backends/_asyncio.py:957)\n"
PROBED = (
    '  Warning  Unhealthy  3m (x14 over 9m)  kubelet  Readiness probe failed: Get "http://10.0.3.19:8802/healthz": '
    "context deadline exceeded (Client.Timeout exceeded while awaiting headers)\n"
)
ANSWERS = 'INFO:     10.0.3.1:34036 - "GET /healthz HTTP/1.1" 200 OK\n'
KEPT = HEAD + ASKS + STEP + LOOP
RESTS = HEAD + "    select (selectors.py:468)\n" + LOOP + BESIDE


@pytest.mark.parametrize(
    ("dump", "beside", "cls"),
    [(KEPT, PROBED, "rank-stuck-in-user-code"), (KEPT, ANSWERS, None), (RESTS, PROBED, None)],
    ids=["keeps its loop", "answers", "beside the loop"],
)
def test_a_step_of_a_loop_that_waits_for_an_answer_keeps_its_server(
    dump: str, beside: str, cls: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    (tmp_path / "py-spy dump.txt").write_text(dump)
    (tmp_path / "beside.txt").write_text(beside)
    found = judge(gather([tmp_path])).verdict
    assert (found.cls if found is not None else None) == cls
