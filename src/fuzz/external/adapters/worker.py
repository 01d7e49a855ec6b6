"""The process in which another compiler compiles and runs the programs of `tapml fuzz external`.

Usage: worker.py MEMORY_BYTES. Reads a JSON document a line, and answers with lines; the first line that it writes
says which compiler it has. The adapter, adapter.py, has:

    version()               its name and version; imports it
    FORMS                   names of ways to compile a program, the least optimized first
    source(program)         the program as Python source that defines run(form), which returns NumPy arrays;
                            raises Inexpressible for what the compiler has not
    MAY_REFUSE              optional: the forms whose refusal is no finding, and goes on with the next form
"""

import json
import os
import resource
import sys


def limit_memory(count):
    limit = int(count)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Worker:
    def __init__(self, adapter, reply):
        self.adapter = adapter
        self.reply = reply
        self.ended = set()  # kinds of steps that ended an earlier process
        self.alone = {}  # a kind of step -> None if the compiler takes it alone, or why not

    def run_source(self, program, form):
        scope = {"__name__": "program"}
        exec(compile(self.adapter.source(program), "program", "exec"), scope)
        return scope["run"](form)

    def try_alone(self, program, step):
        """Why the compiler does not take the step alone; None if it does."""
        try:
            alone = program.alone(step)
            self.adapter.source(alone)
        except Inexpressible as reason:
            return f"{step['op']}: {reason}"
        except Exception as error:
            return f"{step['op']}: the adapter fails ({first_line(error)})"
        key = step_key(alone, step)
        if key not in self.alone:
            if key in self.ended:
                return f"{step['op']}: ends the process alone"
            self.reply({"part": step["name"], "kind": key})
            try:
                self.run_source(alone, self.adapter.FORMS[0])
                self.alone[key] = None
            except Exception as error:  # whatever the compiler raises
                self.alone[key] = f"{step['op']}: refused ({first_line(error)})"
            self.reply({"part": ""})
        return self.alone[key]

    def express(self, program, ended):
        self.ended.update(ended)
        cut = {}
        for step in program.calls():
            reason = self.try_alone(program, step)
            if reason:
                cut[step["name"]] = reason
        return {"cut": cut}

    def run(self, program):
        for form in self.adapter.FORMS:
            self.reply({"part": form})
            try:
                outputs = self.run_source(program, form)
            except Exception as error:  # whatever the compiler raises
                if form in getattr(self.adapter, "MAY_REFUSE", []):
                    continue
                self.reply({"form": form, "refused": first_line(error)})
                break
            self.reply({"form": form, "outputs": [Program.tensor_json(output) for output in outputs]})
        return {"done": True}

    def answer(self, request):
        program = Program(request["program"])
        if request["do"] == "express":
            return self.express(program, request["ended"])
        if request["do"] == "run":
            return self.run(program)
        return {"script": script_text(self.adapter, program, request["expected"], request["problem"])}


def first_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    text = lines[-1] if type(error).__module__.startswith("tvm") and lines else (lines or [""])[0]
    return f"{type(error).__name__}: {text.strip()}"[:300]


def main():
    # What the compiler prints is dropped: its errors come as exceptions.
    out = os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)

    def reply(document):
        out.write(json.dumps(document) + "\n")
        out.flush()

    try:
        global Inexpressible, Program, script_text, step_key
        import adapter
        from source import Inexpressible, Program, script_text, step_key

        version = adapter.version()
    except ImportError as error:
        reply({"missing": str(error)})
        return
    limit_memory(sys.argv[1])
    worker = Worker(adapter, reply)
    reply({"version": version})
    for line in sys.stdin:
        try:
            answer = worker.answer(json.loads(line))
        except Exception as error:  # a defect of the adapter
            answer = {"error": f"{type(error).__name__}: {error}"}
        reply(answer)


if __name__ == "__main__":
    main()
