"""How a program ends when what it is given is bad."""

import pytest

from preprocessing.errors import InputError, errors_reported


@pytest.mark.parametrize("error", [InputError, ArithmeticError])
def test_a_program_ends_with_status_2_and_one_line(error, capsys):
    with pytest.raises(SystemExit) as ended, errors_reported(ArithmeticError):
        raise error("corpus.txt:3: not UTF-8")
    assert ended.value.code == 2
    assert capsys.readouterr() == ("", "error: corpus.txt:3: not UTF-8\n")


def test_an_error_of_ours_is_not_hidden():
    with pytest.raises(ArithmeticError), errors_reported():
        raise ArithmeticError("not the user's")
