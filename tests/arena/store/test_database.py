import os
import sqlite3
import subprocess
import sys
import tempfile

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from arena.errors import StoreError
from arena.events import now
from arena.store import sqlite
from arena.store.database import Database
from arena.store.migrate import HEAD, SCRIPTS, VERSION_TABLE, upgrade
from arena.store.models import Base, RunRow
from arena.store.queries import list_runs
from arena.store.runs import create_run


def test_new_file_gets_write_ahead_log_full_durability_and_foreign_keys(database, db_path):
    with database.reading() as session:
        pragma = {
            name: session.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        }
    assert pragma == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000}


def test_migrations_build_exactly_the_models(database, db_path):
    engine = create_engine(f"sqlite:///{db_path}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE, "compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_head_is_the_newest_migration():
    assert ScriptDirectory(str(SCRIPTS)).get_current_head() == HEAD


def test_database_of_the_first_revision_is_brought_up_to_date(db_path, new_run):
    engine = sqlite.sqlite_engine(db_path, create=True).execution_options(writes=True)
    with engine.begin() as connection:
        upgrade(connection, "0001")
    engine.dispose()
    with Database.open(db_path, create=False) as database:
        run = create_run(database, new_run())
        assert [line.name for line in list_runs(database)] == [run.name]


def test_database_of_a_newer_version_is_refused(database, db_path):
    with database.writing() as session:
        session.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    for create in (True, False):
        with pytest.raises(StoreError, match="newer version of arena") as error:
            Database.open(db_path, create=create)
        assert str(db_path) in str(error.value)


def test_another_applications_database_is_left_alone(db_path):
    with sqlite3.connect(db_path) as other:
        other.execute("CREATE TABLE recipes (id INTEGER)")
    for create in (True, False):
        with pytest.raises(StoreError, match=r"another application \(recipes\)"):
            Database.open(db_path, create=create)
    with sqlite3.connect(db_path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]


def test_missing_database_is_named_and_not_made(db_path):
    with pytest.raises(StoreError, match="arena play") as error:
        Database.open(db_path, create=False)
    assert str(db_path) in str(error.value)
    assert not db_path.exists()


def test_empty_file_is_no_record_until_it_may_be_made_one(db_path):
    db_path.touch()
    with pytest.raises(StoreError, match="empty"):
        Database.open(db_path, create=False)
    with Database.open(db_path, create=True) as database:
        assert list_runs(database) == []


@pytest.mark.parametrize("create", [True, False])
def test_what_cannot_be_a_database_is_one_clear_sentence(tmp_path, create):
    text_file = tmp_path / "notes.txt"
    text_file.write_text("not a database, but long enough to be looked at as one" * 40)
    faults = {
        text_file: "not an SQLite database",
        tmp_path: "it is a folder",
        tmp_path / "missing" / "arena.db": "there is no folder",
        "mongodb://host/x": "not installed|driver",
        "://": "not a database URL",
        "sqlite://": "in memory",
        "sqlite:///:memory:": "in memory",
        "sqlite:///a.db?mode=ro": "give the plain path",
    }
    for where, fault in faults.items():
        with pytest.raises(StoreError, match=fault) as error:
            Database.open(where, create=create)
        assert "\n" not in str(error.value)
    assert text_file.read_text().startswith("not a database")


@pytest.mark.parametrize("name", ["plain.db", "odd ?#%41 name.db", "한국.db"])
def test_path_and_url_of_a_path_open_the_same_file(tmp_path, name, new_run):
    path = tmp_path / name
    with Database.open(path, create=True) as database:
        run = create_run(database, new_run())
    assert path.exists()
    with Database.open(str(path), create=False) as database:
        assert [line.name for line in list_runs(database)] == [run.name]
    if "?" not in name:
        with Database.open(f"sqlite:///{path}", create=False) as database:
            assert [line.name for line in list_runs(database)] == [run.name]


def test_failed_transaction_leaves_nothing(database, new_run):
    def write_half(session):
        session.add(RunRow(name="half", status="running", seed=1, config={}, environment={}, created_at=now()))
        session.flush()
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"), database.writing() as session:
        write_half(session)
    assert list_runs(database) == []


def test_reader_works_while_a_writer_holds_the_file(database, db_path, new_run):
    run = create_run(database, new_run())
    with database.writing() as session:
        session.execute(text("UPDATE runs SET detail = 'not yet'"))
        with Database.open(db_path, create=False) as reader:
            assert [(line.name, line.detail) for line in list_runs(reader)] == [(run.name, "")]


def test_locked_database_gives_up_after_the_busy_timeout(monkeypatch, db_path, new_run):
    Database.open(db_path, create=True).close()
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.1)
    holder = sqlite3.connect(db_path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"), Database.open(db_path, create=False) as database:
        create_run(database, new_run())
    holder.close()


OPEN = """
import sys, time
from pathlib import Path
from arena.store.database import Database
print("ready", flush=True)
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
Database.open(sys.argv[1], create=True).close()
print("opened", flush=True)
"""


def test_processes_that_open_a_new_file_at_once_all_succeed(db_path, tmp_path):
    go = tmp_path / "go"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(db_path), str(go)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(3)
    ]
    assert [child.stdout.readline() for child in children] == ["ready\n"] * 3
    go.touch()
    assert [child.communicate(timeout=120) for child in children] == [("opened\n", "")] * 3
    with Database.open(db_path, create=False) as database:
        assert list_runs(database) == []


READ = """
import os, sys
from arena.errors import StoreError
from arena.store.database import Database
from arena.store.queries import list_runs
from sqlalchemy import text
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
with Database.open(sys.argv[1], create=False) as database:
    print([run.name for run in list_runs(database)])
    try:
        with database.writing() as session:
            session.execute(text("UPDATE runs SET detail = 'changed'"))
    except StoreError as error:
        print(error)
"""


def test_write_protected_record_can_be_read_and_says_so_when_written(new_run):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        path = os.path.join(folder, "arena.db")
        with Database.open(path, create=True) as database:
            run = create_run(database, new_run())
        os.chmod(path, 0o444)
        os.chmod(folder, 0o555)
        try:
            done = subprocess.run(
                [sys.executable, "-c", READ, path],
                capture_output=True,
                text=True,
                timeout=120,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            assert sorted(os.listdir(folder)) == ["arena.db"]
        finally:
            os.chmod(folder, 0o755)
    assert done.stderr == ""
    names, refusal = done.stdout.splitlines()
    assert names == str([run.name])
    assert refusal == f"database {path}: it is write-protected"
