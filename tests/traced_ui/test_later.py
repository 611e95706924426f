"""What a server puts off: an application until it is asked, other work until nobody waits."""

import threading

from fastapi import FastAPI
from fastapi.testclient import TestClient

from traced_ui import later
from traced_ui.later import LateApp, QuietMoments


def test_an_application_is_made_once_for_its_first_requests() -> None:
    inner, outer, times = FastAPI(), FastAPI(), []
    inner.get("/")(lambda: "here")

    def make() -> FastAPI:
        times.append(threading.get_ident())
        return inner

    outer.mount("/late", LateApp(make))
    with TestClient(outer) as client:
        assert times == []
        answers: list[str] = []

        def ask() -> None:
            answers.append(client.get("/late/").json())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == ["here"] * 4
    assert len(times) == 1


def test_other_work_waits_for_a_first_answer_and_a_quiet_moment() -> None:
    now = [100.0]
    inner = FastAPI()
    inner.get("/")(lambda: "here")
    app = QuietMoments(inner, clock=lambda: now[0])
    over = threading.Event()
    waiting = threading.Thread(target=lambda: (app.wait(), over.set()), daemon=True)
    waiting.start()
    assert not over.wait(0.05)
    TestClient(app).get("/")
    assert not over.wait(0.05)
    now[0] += later.QUIET / 2
    TestClient(app).get("/")
    now[0] += later.QUIET
    assert over.wait(20)
