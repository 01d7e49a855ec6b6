"""``tapml-farm fuzz``: campaigns of `tapml fuzz run` on a Ray cluster, one range of seeds a task.

A task runs in a scratch folder of its machine and returns its findings and counts, so that machines share nothing but
the program. A range counts when its folder FOLDER/ranges/FIRST-LAST is complete; one whose worker is lost runs again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

INSTALL = "pip install 'tapml[farm]', or pip install ray"
DONE, DIFFERENCE, WRONG_INPUT, DEFECT, INTERRUPTED = 0, 1, 2, 3, 130
MOST_TRIES = 5


class FarmError(Exception):
    """What the user can mend."""


def ranges_of(first, count, size):
    """The ranges (first, last) of `count` seeds, `size` in each but perhaps the last."""
    return [(at, min(at + size, first + count) - 1) for at in range(first, first + count, size)]


def run_range(program, first, last, options):
    """Runs the campaigns of the seeds first to last; their counts, and a tar of their findings."""
    with tempfile.TemporaryDirectory(prefix="tapml-farm-") as scratch:
        seeds = []
        for seed in range(first, last + 1):
            folder = pathlib.Path(scratch, f"seed-{seed}")
            command = [program, "fuzz", "run", "--seed", str(seed), "--corpus", str(folder), "--json", *options]
            ended = subprocess.run(command, capture_output=True, text=True)
            if ended.returncode not in (DONE, DIFFERENCE, DEFECT):
                return {"failed": f"{' '.join(command)}: exit code {ended.returncode}: {ended.stderr[-2000:]}"}
            counts = json.loads(ended.stdout)
            seeds.append({"seed": seed, "code": ended.returncode, "tests": counts["tests"],
                          "findings": len(counts["findings"])})
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for findings in sorted(pathlib.Path(scratch).glob("seed-*/findings")):
                archive.add(findings, str(findings.relative_to(scratch)))
        return {"seeds": seeds, "findings": packed.getvalue()}


class Farm:
    """The folder of a farm: what is asked for, and the ranges that are complete."""

    def __init__(self, folder, wanted):
        self.folder = pathlib.Path(folder)
        self.ranges = self.folder / "ranges"
        self.ranges.mkdir(parents=True, exist_ok=True)
        kept = self.folder / "farm.json"
        if kept.exists() and json.loads(kept.read_text()) != wanted:
            raise FarmError(f"{folder} belongs to another farm: {kept.read_text().strip()}")
        partial = kept.with_suffix(".partial")
        partial.write_text(json.dumps(wanted) + "\n")
        partial.replace(kept)

    def place(self, first, last):
        return self.ranges / f"{first}-{last}"

    def keep(self, first, last, result):
        partial = self.ranges / f"{first}-{last}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        with tarfile.open(fileobj=io.BytesIO(result["findings"])) as archive:
            archive.extractall(partial, filter="data")
        (partial / "range.json").write_text(json.dumps(result["seeds"]) + "\n")
        partial.rename(self.place(first, last))

    def seeds(self):
        return [seed for kept in sorted(self.ranges.glob("*/range.json")) if kept.parent.suffix != ".partial"
                for seed in json.loads(kept.read_text())]


def run_all(ray, farm, program, waiting, options):
    """Runs the ranges that wait; a lost worker's again."""
    task = ray.remote(max_retries=0, num_cpus=1)(run_range)
    tries = dict.fromkeys(waiting, 0)
    running = {task.remote(program, *seeds, options): seeds for seeds in waiting}
    total = len(running)
    while running:
        [ready], _ = ray.wait(list(running), num_returns=1)
        first, last = seeds = running.pop(ready)
        try:
            result = ray.get(ready)
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.OutOfMemoryError,
                ray.exceptions.ObjectLostError) as error:
            tries[seeds] += 1
            if tries[seeds] == MOST_TRIES:
                raise FarmError(f"seeds {first} to {last}: {MOST_TRIES} workers were lost: {error}") from error
            print(f"seeds {first} to {last}: the worker is lost, again", file=sys.stderr, flush=True)
            running[task.remote(program, *seeds, options)] = seeds
            continue
        if "failed" in result:
            raise FarmError(f"seeds {first} to {last}: {result['failed']}")
        farm.keep(first, last, result)
        found = sum(seed["findings"] for seed in result["seeds"])
        print(f"[{total - len(running)}/{total}] seeds {first} to {last}: "
              f"{sum(seed['tests'] for seed in result['seeds'])} tests, {found} findings", file=sys.stderr, flush=True)


@contextlib.contextmanager
def cluster(ray, args):
    """A Ray cluster, whose own messages do not mix with what the farm prints."""
    with contextlib.redirect_stdout(sys.stderr):
        try:
            own = {} if args.address else {"num_cpus": args.workers, "include_dashboard": False}
            ray.init(address=args.address, log_to_driver=False, logging_level="ERROR", **own)
            yield
        finally:
            ray.shutdown()


def triage(program, farm):
    """The findings of all ranges, those that are the same once."""
    ended = subprocess.run([program, "fuzz", "triage", str(farm.folder), "--json"], stdout=subprocess.PIPE, text=True)
    if ended.returncode not in (DONE, DIFFERENCE):
        raise FarmError(f"tapml fuzz triage: exit code {ended.returncode}")
    return json.loads(ended.stdout)


def fuzz(args, options):
    try:
        import ray
    except ImportError as error:
        raise FarmError(f"Ray is not installed: {INSTALL}") from error
    wanted = {"first": args.seed, "seeds": args.seeds, "range": args.range, "tests": args.tests, "options": options}
    farm = Farm(args.corpus or f"farm-{args.seed}", wanted)
    waiting = [seeds for seeds in ranges_of(args.seed, args.seeds, args.range) if not farm.place(*seeds).exists()]
    options = ["--tests", str(args.tests), "--for", "10000h", *options]
    try:
        if waiting:
            with cluster(ray, args):
                run_all(ray, farm, args.program, waiting, options)
    except KeyboardInterrupt:
        print(f"interrupted; the same command continues {farm.folder}", file=sys.stderr)
        return INTERRUPTED
    seeds = farm.seeds()
    found = triage(args.program, farm) if any(seed["findings"] for seed in seeds) else {"findings": []}
    document = {"seeds": len(seeds), "tests": sum(seed["tests"] for seed in seeds), "findings": found["findings"]}
    if args.json:
        print(json.dumps(document, indent=2))
    else:
        print(f"{document['tests']} tests of {len(seeds)} seeds, {len(document['findings'])} findings that differ")
        if document["findings"]:
            print(f"{farm.folder}/triage.json lists them")
    if any(seed["code"] == DEFECT for seed in seeds):
        return DEFECT
    return DIFFERENCE if document["findings"] else DONE


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    options = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, options = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(prog="tapml-farm", description="Runs tapml on a Ray cluster")
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("fuzz", help="fuzzing campaigns over ranges of seeds",
                                  epilog="Options after -- go to tapml fuzz run, such as -- --native 0.2")
    command.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    command.add_argument("--seeds", type=int, default=16, help="number of seeds (16)")
    command.add_argument("--range", type=int, default=1, help="seeds of one task (1)")
    command.add_argument("--tests", type=int, default=1000, help="programs of one seed (1000)")
    command.add_argument("--corpus", help="folder of the farm, which continues there (farm-SEED)")
    command.add_argument("--address", help="a running Ray cluster, such as auto; without it, one is started here")
    command.add_argument("--workers", type=int, help="tasks at once on a cluster that is started here (all processors)")
    command.add_argument("--program", default=os.environ.get("TAPML_PROGRAM", "tapml"),
                         help="tapml on the machines of the cluster (tapml)")
    command.add_argument("--json", action="store_true", help="print one JSON document")
    command.set_defaults(run=fuzz)
    args = parser.parse_args(arguments)
    try:
        if min(args.seeds, args.range, args.tests) < 1:
            raise FarmError("--seeds, --range and --tests are at least 1")
        return args.run(args, options)
    except FarmError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_INPUT


if __name__ == "__main__":
    sys.exit(main())
