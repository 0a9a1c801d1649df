"""Ctrl-C as a callback."""

import signal

import pytest

from hmem.runs.callbacks import CtrlC


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_the_second_ctrl_c_ends_at_once(first: signal.Signals) -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with CtrlC() as ctrl_c:
        assert not ctrl_c.should_stop()
        signal.raise_signal(first)
        assert ctrl_c.should_stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before
