"""Options as engines declare them and as people want them."""

import pytest

from agents.uci.options import checked_options, read_option, uci_value
from agents.uci.process import EngineStartError

DECLARED = [
    read_option(line)
    for line in (
        "option name Hash type spin default 16 min 1 max 64",
        "option name Skill Level type spin default 20 min -5 max 20",
        "option name Style type combo default Calm var Calm var Wild Side",
        "option name Fast type check default false",
        "option name Clear Hash type button",
        "option name Book type string default <empty>",
        "option name UCI_Chess960 type check default false",
    )
]


def test_declarations_are_read():
    hash_size, skill, style, fast, clear, book, _ = DECLARED
    assert (hash_size.name, hash_size.type, hash_size.default, hash_size.min, hash_size.max) == (
        "Hash", "spin", "16", 1, 64,
    )  # fmt: skip
    assert (skill.name, skill.min) == ("Skill Level", -5)
    assert (style.default, style.var) == ("Calm", ["Calm", "Wild Side"])
    assert (fast.type, clear.type, clear.default, book.default) == ("check", "button", None, "<empty>")


@pytest.mark.parametrize("line", ["", "id name X", "option", "option name X", "option type spin", "info option name"])
def test_other_lines_declare_nothing(line):
    assert read_option(line) is None


def test_names_match_in_any_case_and_values_are_read():
    wanted = [("hash", "32"), ("FAST", "True"), ("style", "Wild Side"), ("Book", "a b.bin"), ("clear hash", "x")]
    checked = checked_options(wanted, DECLARED, "X")
    assert {name: uci_value(value) for name, value in checked.items() if value is not None} == {
        "Hash": "32", "Fast": "true", "Style": "Wild Side", "Book": "a b.bin",
    }  # fmt: skip
    assert checked["Clear Hash"] is None


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("Hsh", "1", "no option 'Hsh'; did you mean Hash"),
        ("Contempt", "1", "it has Hash, Skill Level"),
        ("Hash", "65", "at most 64, got: 65"),
        ("Hash", "big", "got: 'big'"),
        ("Style", "Odd", "Calm, Wild Side"),
        ("Fast", "yes", "true or false, not 'yes'"),
        ("UCI_Chess960", "true", "set by the arena"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(name, value, words):
    with pytest.raises(EngineStartError, match=words):
        checked_options([(name, value)], DECLARED, "X")
