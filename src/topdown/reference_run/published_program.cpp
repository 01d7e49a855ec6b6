#include "topdown/reference_run/published_program.h"

namespace tapml::topdown {

const char* const kPublishedProgram =
    R"python("""Runs a model's published implementation once, and writes logits and hidden states.

An encoder's vector of the text is written as the logits of one token.

Usage: FILE REQUEST.json, an object with
  folder      the model directory
  tokens      token ids, run as one text without a cache
  paths       modules whose inputs and outputs are wanted, if the implementation has them
  parameters  number of elements of all weights
  pooling     of an encoder: "mode" ("mean" or "cls") and "normalized"; null for other models
  output      safetensors file to write: "logits", "PATH:input", "PATH:output:0", ...,
              "PATH:inv_freq" of rotations ("PATH:KIND_inv_freq", one for each kind of layer), all in f64
"""
import array
import collections.abc
import json
import os
import struct
import sys


def available_bytes():
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def load(torch, transformers, request):
    """The model in f64, or in f32 if that does not fit in memory."""
    memory = available_bytes()
    wide = memory is None or request["parameters"] * 8 * 1.25 < memory
    dtype = torch.float64 if wide else torch.float32
    named = "dtype" if int(transformers.__version__.split(".")[0]) >= 5 else "torch_dtype"
    kind = transformers.AutoModel if request["pooling"] else with_head(transformers, request["folder"])
    model, info = kind.from_pretrained(
        request["folder"], attn_implementation="eager", output_loading_info=True, **{named: dtype})
    if getattr(model, "_can_set_experts_implementation", bool)():
        # The fast one takes no f64.
        model.set_experts_implementation("eager")
    if wide:
        model.double()  # some classes keep weights in f32, whatever the dtype
        widen_tables(torch, model)
    sizes = {name: value.numel() for name, value in model.named_parameters()}
    missing = [name for name in sorted(info["missing_keys"]) if sizes.get(name, 1) > 0]
    if request["pooling"]:
        missing = [name for name in missing if not name.startswith("pooler.")]  # its output is not used
    return model.eval(), wide, missing


def with_head(transformers, folder):
    """The kind of class that has a head: of texts alone, or of images and texts (Mistral 3)."""
    alone = transformers.AutoModelForCausalLM
    both = getattr(transformers, "AutoModelForImageTextToText", None)
    if both is None:
        return alone
    with open(os.path.join(folder, "config.json")) as file:
        if "text_config" not in json.load(file):
            return alone
    config = transformers.AutoConfig.from_pretrained(folder)
    return alone if type(config) in alone._model_mapping else both


def pooled(torch, states, pooling):
    """[1, 1, d] of hidden states [1, n, d]."""
    vector = states.mean(1) if pooling["mode"] == "mean" else states[:, 0]
    if pooling["normalized"]:
        vector = torch.nn.functional.normalize(vector, dim=-1)
    return vector[:, None]


def widen_tables(torch, model):
    """Computes sines and cosines that are kept in a table (GPT-J) in f64, of frequencies in f32.

    That is how other rotations compute them here.
    """
    for _, module in model.named_modules():
        table = getattr(module, "embed_positions", None)
        if not isinstance(table, torch.Tensor) or table.dim() != 2 or table.shape[1] % 2:
            continue
        count, width = table.shape
        exponents = torch.arange(0, width, 2, dtype=torch.int64).to(torch.float32) / width
        frequencies = (1.0 / 10000 ** exponents).double()
        angles = torch.arange(count, dtype=torch.float64)[:, None] * frequencies
        exact = torch.cat((angles.sin(), angles.cos()), dim=1)
        if torch.allclose(table[:64].double(), exact[:64], rtol=0, atol=1e-5):
            module.embed_positions = exact


def in_f64(torch):
    """A mode in which steps that the implementation asks to do in f32 stay in f64.

    It rounds norms, softmax and rotations to f32, whatever the dtype of the weights, which would
    hide small faults.
    """
    from torch.utils._python_dispatch import TorchDispatchMode

    class InF64(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if kwargs.get("dtype") is torch.float32:
                kwargs["dtype"] = torch.float64
            return function(*args, **kwargs)

    return InF64()


class Recorder:
    def __init__(self, torch, model, paths, is_encoder):
        self.torch, self.tensors, self.calls, self.rotations = torch, {}, {}, {}
        paths = set(paths)
        # Paths are those of the class with a head.
        outer = model.base_model_prefix if is_encoder else ""
        for path, module in model.named_modules():
            path = ".".join(filter(None, (outer, path)))
            # A language model inside of one that also reads images or sound.
            path = path.replace("model.language_model", "model", 1)
            if path in paths:
                self.watch(path, module)
            elif path.rsplit(".", 1)[-1] == "rotary_emb":
                self.watch(path, module)
                self.rotations[path] = module

    def floats(self, x):
        if isinstance(x, self.torch.Tensor):
            return [x] if x.is_floating_point() else []
        if isinstance(x, collections.abc.Mapping):
            x = x.values()
        elif not isinstance(x, (list, tuple)):
            return []
        return [tensor for one in x for tensor in self.floats(one)]

    def watch(self, path, module):
        def before(_, args, kwargs):
            self.calls[path] = self.calls.get(path, 0) + 1
            for tensor in self.floats((args, kwargs))[:1]:
                self.tensors[path + ":input"] = content_of(tensor)

        def after(_, args, kwargs, result):
            for number, tensor in enumerate(self.floats(result)):
                self.tensors[f"{path}:output:{number}"] = content_of(tensor)

        module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(after, with_kwargs=True)

    def once(self):
        """What the modules that were called once read and wrote, and all frequencies."""
        # After the call, which may have changed them for a long text.
        for path, module in self.rotations.items():
            for name in dir(module):
                if name.endswith("inv_freq"):
                    for tensor in self.floats(getattr(module, name, None)):
                        self.tensors[path + ":" + name] = content_of(tensor)
        return {name: tensor for name, tensor in self.tensors.items()
                if name.endswith("inv_freq") or self.calls.get(name.split(":")[0]) == 1}


def content_of(tensor):
    """Shape and elements; a copy, because modules may write into their arguments."""
    return list(tensor.shape), array.array("d", tensor.detach().reshape(-1).tolist())


def write(path, tensors, metadata):
    header, at = {"__metadata__": metadata}, 0
    for name, (shape, data) in tensors.items():
        end = at + 8 * len(data)
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors.values():
            if sys.byteorder == "big":
                data.byteswap()
            file.write(data.tobytes())


def main():
    with open(sys.argv[1]) as file:
        request = json.load(file)
    # Everything is in the folder.
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import torch
        import transformers
    except ImportError as error:
        print(error)
        return 3
    model, wide, missing = load(torch, transformers, request)
    pooling = request["pooling"]
    recorder = Recorder(torch, model, request["paths"], bool(pooling))
    options = {} if pooling else {"use_cache": False}
    with torch.no_grad():
        tokens = torch.tensor([request["tokens"]])
        if wide:
            with in_f64(torch):
                result = model(tokens, **options)
        else:
            result = model(tokens, **options)
        logits = pooled(torch, result.last_hidden_state, pooling) if pooling else result.logits
    tensors = {"logits": content_of(logits), **recorder.once()}
    write(request["output"], tensors, {
        "implementation": f"transformers {transformers.__version__}, torch {torch.__version__}",
        "class": type(model).__name__, "dtype": "f64" if wide else "f32",
        "missing": json.dumps(missing)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
)python";

}  // namespace tapml::topdown
