"""A short random play beside pyffish; `make janggi-differential` is the long one."""

import pytest

from games.janggi import differential
from games.janggi.differential import DisagreementError, compare

PLIES = 200
ENDS = {
    "janggi": ("bikjang-points", "double-pass-points", "move-limit-points", "repetition-points", "perpetual-check"),
    "janggitraditional": ("bikjang", "double-pass", "move-limit", "repetition", "perpetual-check"),
    "janggimodern": ("double-pass-points", "move-limit-points", "repetition-points", "repeated-move"),
    "janggicasual": ("double-pass", "move-limit", "repetition", "perpetual-check"),
}
SEED = {"janggi": 74, "janggitraditional": 93, "janggimodern": 38, "janggicasual": 54}  # these see every event so soon


@pytest.mark.parametrize("rule_set", ENDS)
def test_random_games_agree_with_fairy_stockfish(rule_set):
    pytest.importorskip("pyffish")
    seen = compare(rule_set, PLIES, SEED[rule_set], every=4)
    assert seen["plies"] >= PLIES
    for event in ("check", "passed", "checkmate", *ENDS[rule_set]):
        assert seen[event] > 0, event
    if "bikjang" in "".join(ENDS[rule_set]):
        assert seen["bikjang"] > seen["pass is legal in check"] > 0


def test_a_difference_is_reported_with_what_it_takes_to_see_it(monkeypatch):
    pytest.importorskip("pyffish")
    monkeypatch.setattr(differential.JanggiPosition, "legal_moves", lambda self: ("a1a2",))
    with pytest.raises(DisagreementError, match=r"janggi: legal moves differ after no move from .* - - ") as caught:
        compare("janggi", 1, seed=1)
    assert "ours:   ['a1a2']" in str(caught.value)
