"""Reports of small runs whose figures can be counted by hand."""

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from arena.report.collect import collect
from arena.report.html import to_html
from arena.report.markdown import to_markdown
from arena.report.svg import axis
from arena.report.tables import crosstable_csv, standings_csv, to_json
from arena.store.records import NewAgent, NewGame

HOSTILE = "<script>alert('x')</script> | **bold**"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Page(HTMLParser):
    """Checks nesting as it reads; keeps tags with their attributes, and the text."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def players(*names):
    return tuple(NewAgent(name, "random") for name in names)


def schedule(*pairings):
    return tuple(
        NewGame(index, white, black, "chess", index, 200, "threefold", pair=index // 2, opening=f"line {index // 2}")
        for index, (white, black) in enumerate(pairings)
    )


@pytest.fixture
def tournament(scribe):
    """Ann beats everybody; Bob and Cy share two games, one of them a forfeit. The first games repeat each other."""
    pairings = [
        ("ann", "bob"),
        ("bob", "ann"),
        ("ann", "cy"),
        ("cy", "ann"),
        ("bob", "cy"),
        ("cy", "bob"),
        ("bob", "cy"),
    ]
    scribe = scribe(agents=players("ann", "bob", "cy"), schedule=schedule(*pairings), name="trio")
    results = ["1-0", "0-1", "1-0", "0-1", "1-0", "1-0"]
    for game, result in zip(scribe.run.games, results, strict=False):
        scribe.start(game.game_id, ("e2e4", "e7e5", "g1f3")[: 3 if game.game_id == 1 else 2])
        forfeit = game.game_id == 6
        scribe.write(scribe.ended(game.game_id, result, "forfeit-illegal" if forfeit else "checkmate"))
    return scribe


def report_of(scribe, **options):
    return collect(scribe.db, scribe.run.run_id, **options)


def test_the_figures_are_those_of_the_games(tournament):
    report = report_of(tournament)
    assert [agent.name for agent in report.agents] == ["ann", "bob", "cy"]
    assert [agent.tally.points for agent in report.agents] == [4, 1, 1]
    assert [agent.tally.forfeited for agent in report.agents] == [0, 1, 0]
    assert (report.games, report.unfinished, report.forfeits, report.duplicates) == (6, 1, 1, 4)
    assert (report.first_wins, report.draws, report.second_wins) == (4, 0, 2)
    assert report.terminations == {"checkmate": (3, 0, 2), "forfeit-illegal": (1, 0, 0)}
    assert [(one.name, one.games, one.score) for one in report.openings] == [
        ("line 0", 2, 0.5), ("line 1", 2, 0.5), ("line 2", 2, 1.0)
    ]  # fmt: skip
    assert report.moves == 13
    assert report.agents[1].manners.forfeits == {"forfeit-illegal": 1}
    ann = report.agents[0].cost
    assert (ann.moves, ann.forwarded_tokens, ann.tokens_per_move, ann.hit_rate) == (5, 70, 14.0, 0.75)
    assert report.agents[0].manners.entropy_bits == pytest.approx(1.6897, abs=1e-4)  # -log2 of 0.31


def test_tables_agree_with_the_games(tournament):
    report = report_of(tournament)
    standings = list(csv.DictReader(io.StringIO(standings_csv(report))))
    assert [(row["agent"], row["points"], row["wins"], row["losses"]) for row in standings] == [
        ("ann", "4.0", "4", "0"), ("bob", "1.0", "1", "3"), ("cy", "1.0", "1", "3")
    ]  # fmt: skip
    cross = {
        (row["agent"], row["opponent"]): row["points"] for row in csv.DictReader(io.StringIO(crosstable_csv(report)))
    }
    assert cross == {
        ("ann", "bob"): "2.0", ("bob", "ann"): "0.0", ("ann", "cy"): "2.0",
        ("cy", "ann"): "0.0", ("bob", "cy"): "1.0", ("cy", "bob"): "1.0",
    }  # fmt: skip
    value = json.loads(to_json(report))
    assert [agent["points"] for agent in value["agents"]] == [4, 1, 1]
    assert value["agents"][0]["elo"]["value"] is None


def test_who_won_everything_has_a_bound_and_no_infinity_is_written(tournament):
    report = report_of(tournament)
    low = report.agents[0].elo.low
    assert report.agents[0].elo.value is None
    assert report.agents[0].elo.high is None
    for text in (to_html(report), to_markdown(report)):
        assert f"at least {low:+.0f}" in text
    for text in (to_html(report), to_markdown(report), standings_csv(report), to_json(report)):
        assert not {"nan", "inf", "Infinity", "NaN"} & set(text.replace(",", " ").replace(">", " ").split())
        assert "± 0 " not in text


def test_the_page_is_well_formed_and_needs_nothing_beside_it(tournament):
    page = Page(to_html(report_of(tournament)))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"standings", "crosstable", "games", "cost", "play", "agents"} <= set(ids)
    links = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert links
    assert all(link.removeprefix("#") in ids for link in links)
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    pictures = [attributes for tag, attributes in page.tags if tag == "svg"]
    assert len(pictures) >= 12
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in pictures)
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")


def test_names_are_text_and_never_markup(scribe):
    scribe = scribe(agents=players(HOSTILE, "bob"), schedule=schedule((HOSTILE, "bob")))
    scribe.play_out(1)
    report = report_of(scribe, title=HOSTILE)
    page = Page(to_html(report))
    assert "script" not in {tag for tag, _ in page.tags}
    assert any(HOSTILE in text for text in page.texts)
    markdown = to_markdown(report)
    assert HOSTILE not in markdown
    assert r"\<script\>alert\('x'\)\</script\> \| \*\*bold\*\*" in markdown


def test_a_run_without_a_finished_game_can_be_reported(scribe):
    report = report_of(scribe(games=2))
    assert (report.games, report.unfinished, report.moves) == (0, 2, 0)
    assert "No game has been finished yet." in to_html(report)
    Page(to_html(report))
    assert "no games" in to_markdown(report)


def test_one_game_makes_a_report(scribe):
    scribe = scribe()
    scribe.play_out(1)
    report = report_of(scribe)
    Page(to_html(report))
    assert [(agent.name, agent.tally.points) for agent in report.agents] == [("bob", 1), ("alice", 0)]


def test_void_games_do_not_count(scribe):
    scribe = scribe(games=2)
    scribe.play_out(1)
    scribe.play_out(2, result="*", termination="crash", void=True)
    assert (report_of(scribe).games, report_of(scribe).void) == (1, 1)


def test_the_command_writes_all_files(arena, tournament, tmp_path):
    folder = tmp_path / "deep" / "out"
    code, out, _ = arena("report", "trio", folder)
    assert code == 0
    assert "3 agents, 6 games" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        "crosstable.csv", "report.html", "report.json", "report.md", "standings.csv"
    ]  # fmt: skip


def test_a_folder_that_cannot_be_is_refused(arena, tournament, tmp_path):
    (tmp_path / "file").touch()
    code, _, err = arena("report", "trio", tmp_path / "file")
    assert code == 2
    assert "cannot write a report to" in err
    assert arena("report", "nobody", tmp_path / "x")[0] == 2


def test_a_logarithmic_axis_has_round_values_however_short_it_is():
    assert axis([1, 1000], 0, 100, log=True).ticks(5) == [1, 10, 100, 1000]
    short = axis([9.0, 11.9], 0, 100, log=True)
    assert short.ticks(5) == [9, 10, 11, 12]
    assert all(short.left <= short.at(tick) <= short.right for tick in short.ticks(5))
