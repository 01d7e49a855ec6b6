"""pytest --tapml-suite SUITE --tapml-target T: every carved test is a test item.

A suite is collected from its suite.json. An item's id is ``SUITE/suite.json::KERNEL[CALL]`` with
the call's number in the suite, or ``SUITE/suite.json::KERNEL+KERNEL[group NUMBER]`` for a group of
kernels, so that ``-k KERNEL`` and ids select tests as usual. A suite that is incomplete, or that
lacks kernels of its model, has a failing item ``coverage``. If the command line names no other
tests, only the suites' tests run.
"""

from __future__ import annotations

import pathlib
from typing import Any, Callable, Iterator

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tapml", "carved kernel tests")
    group.addoption("--tapml-suite", action="append", default=[], metavar="SUITE",
                    help="folder of a carved suite (repeatable)")
    group.addoption("--tapml-target", default="cpu", metavar="T",
                    help="kind[:key=value,...][@endpoint] to run the suites on (default: cpu)")
    group.addoption("--tapml-model", default=None, metavar="DIR",
                    help="model folder of suites with weights by reference, if it has moved")
    group.addoption("--tapml-tolerance", default=None, metavar="FILE",
                    help="JSON file that widens the bounds of kernels, each with a reason")
    group.addoption("--tapml-custom-kernels", "--tapml-kernels", default=None, metavar="DIR",
                    help="folder of custom kernels that replace the target's")
    group.addoption("--tapml-token-file", default=None, metavar="FILE",
                    help="token of the target's server")


def pytest_configure(config: pytest.Config) -> None:
    suites = [pathlib.Path(suite) for suite in config.getoption("--tapml-suite")]
    if not suites:
        return
    for suite in suites:
        if not (suite / "suite.json").is_file():
            raise pytest.UsageError(f"--tapml-suite {suite}: not a folder with a suite.json")
    files = [str((suite / "suite.json").absolute()) for suite in suites]
    source = getattr(config, "args_source", None)
    named = source is None or source == type(source).ARGS
    config.args = (list(config.args) if named else []) + files


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> Any:
    if file_path.name != "suite.json":
        return None
    wanted = {pathlib.Path(suite).resolve() for suite in parent.config.getoption("--tapml-suite")}
    if file_path.parent.resolve() not in wanted:
        return None
    return SuiteFile.from_parent(parent, path=file_path)


class SuiteFile(pytest.File):
    """A suite, compiled for the target when its first test runs."""

    _replayer = None

    def collect(self) -> Iterator[pytest.Item]:
        import tapml

        try:
            self.suite = tapml.Suite.load(str(self.path.parent),
                                          model=self.config.getoption("--tapml-model") or "")
        except tapml.Error as error:
            raise self.CollectError(str(error)) from None
        if not self.suite.complete or self.suite.untested:
            yield CoverageTest.from_parent(self, name="coverage")
        for call in self.suite.calls:
            yield CarvedTest.from_parent(self, name=f"{call.kernel}[{call.index}]",
                                         run=lambda replayer, index=call.index: replayer.call(index))
        for group in self.suite.groups:
            yield CarvedTest.from_parent(self, name=f"{'+'.join(group.kernels)}[group {group.index}]",
                                         run=lambda replayer, index=group.index: replayer.group(index))

    def replayer(self) -> Any:
        import tapml

        if self._replayer is None:
            token_file = self.config.getoption("--tapml-token-file")
            self._device = tapml.device(self.config.getoption("--tapml-target"),
                                        token_file=token_file)
            self._replayer = tapml.replayer(
                self.suite, self._device, custom_kernels=self.config.getoption("--tapml-custom-kernels"),
                tolerance=self.config.getoption("--tapml-tolerance"))
        return self._replayer

    def teardown(self) -> None:
        if self._replayer is not None:
            self._replayer = None
            self._device.close()


class Differs(Exception):
    """A kernel's output exceeds its bound, or the kernel cannot run."""


class CoverageTest(pytest.Item):
    """Fails for a suite that is incomplete or lacks kernels: passing its tests proves nothing."""

    def runtest(self) -> None:
        suite = self.parent.suite
        missing = [f"the suite is incomplete: {suite.reason}"] if not suite.complete else []
        if suite.untested:
            missing.append("untested kernels: " + ", ".join(suite.untested))
        raise Differs("NOT PROVEN: " + "; ".join(missing))

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        if excinfo.errisinstance(Differs):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name


class CarvedTest(pytest.Item):
    """One call t = (F, I, O) of a kernel, or one group."""

    def __init__(self, *, run: Callable[[Any], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run = run

    def runtest(self) -> None:
        verdict = self.run(self.parent.replayer())
        self.user_properties += [("kernel", verdict.kernel), ("max_abs", verdict.max_abs),
                                 ("allowed", verdict.allowed)]
        if verdict.tolerated:
            reason = verdict.to_dict()["tolerance"]["reason"]
            self.user_properties.append(("tolerance", reason))
        if verdict.source_wrong:
            self.user_properties.append(("source", "outside of its own bound"))
        if not verdict.passed:
            raise Differs(str(verdict))
        if not verdict.proven:
            pytest.skip(f"not proven: {verdict.open} of {verdict.compared} elements have no bound")

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        import tapml

        if excinfo.errisinstance((Differs, tapml.Error)):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, self.name
