import math

import pytest

from inference.draws import best, draw, softmax, uniform


def test_numbers_of_a_stream_are_a_function_of_seed_and_index_and_spread_evenly():
    assert uniform(7, 3) == uniform(7, 3) != uniform(7, 4)
    assert uniform(7, 3) != uniform(8, 3)
    numbers = [uniform(1, i) for i in range(4000)]
    assert all(0 <= number < 1 for number in numbers)
    assert sum(numbers) / len(numbers) == pytest.approx(0.5, abs=0.02)
    assert uniform(0, 0) == 0.8336885269740499, "recorded games depend on these numbers"


@pytest.mark.parametrize("temperature", [1.0, 0.5, 3.0])
def test_draws_follow_the_probabilities_at_a_temperature(temperature):
    logprobs = [math.log(0.5), math.log(0.3), math.log(0.2), -math.inf]
    weights = [math.exp(value / temperature) for value in logprobs]
    probabilities = softmax(logprobs, temperature)
    assert probabilities == pytest.approx([weight / sum(weights) for weight in weights])
    picks = [draw(probabilities, (i + 0.5) / 4000) for i in range(4000)]
    assert [picks.count(index) / 4000 for index in range(4)] == pytest.approx(probabilities, abs=1e-3)


@pytest.mark.parametrize("temperature", [1e-3, 1e-300, 5e-324])
def test_the_smallest_temperature_leaves_the_best_alone(temperature):
    assert softmax([1.0, 2.0, -1.0], temperature) == [0, 1, 0]


def test_a_draw_never_lands_on_what_has_no_probability():
    probabilities = [0.0, 0.3, 0.7 - 1e-16, 0.0]
    assert draw(probabilities, 0.0) == 1
    assert draw(probabilities, 1 - 2**-53) == 2


def test_the_first_of_the_best_is_the_best():
    assert best([0.2, 0.4, 0.4]) == 1
