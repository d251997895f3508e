"""One process at a time plays a run."""

import os
import signal
import subprocess
import sys

import pytest

from arena.errors import UsageError
from arena.store.claim import claimed

HOLD = """
import sys, time
from arena.store.claim import claimed
from arena.store.database import Database
with Database.open(sys.argv[1], create=False) as database, claimed(database, 1):
    print("held", flush=True)
    time.sleep(600)
"""


def locks(db_path):
    return [path.name for path in db_path.parent.glob("*.lock")]


def test_second_claim_of_a_run_is_refused_with_the_holder(scribe, database, db_path):
    scribe()
    with claimed(database, 1) as run_id:
        assert run_id == 1
        with pytest.raises(UsageError, match=f"run 1 is being played by process {os.getpid()} at this moment"):
            claimed(database, 1).__enter__()
        with claimed(database, 2):
            pass
    assert locks(db_path) == []
    with claimed(database, 1):
        pass


def test_claim_ends_with_a_killed_holder(scribe, database, db_path):
    scribe()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, db_path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(UsageError, match=f"process {holder.pid}"):
        claimed(database, 1).__enter__()
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with claimed(database, 1):
        pass
    assert locks(db_path) == []


def test_two_names_of_one_file_are_one_record(scribe, database, db_path, tmp_path):
    from arena.store.database import Database

    scribe()
    link = tmp_path / "link.db"
    link.symlink_to(db_path)
    with Database.open(link, create=False) as same, claimed(database, 1), pytest.raises(UsageError):
        claimed(same, 1).__enter__()
