"""llama.cpp's logits of a GGUF file, by the C interface of its library, in f32 on the CPU.

The structures are those of llama.h of VERSION, the release in the npm package node-llama-cpp 3.22. Their defaults
are checked, because another release may have other members.
"""

import ctypes
import pathlib

import numpy as np

VERSION = "v0.5.0"
F16, F32 = 1, 0  # enum ggml_type
NO_FLASH_ATTENTION = 0

_i8, _i32, _u32, _f32, _ptr, _bool = (ctypes.c_int8, ctypes.c_int32, ctypes.c_uint32, ctypes.c_float, ctypes.c_void_p,
                                      ctypes.c_bool)


class ModelParams(ctypes.Structure):
    _fields_ = [
        ("devices", _ptr), ("tensor_buft_overrides", _ptr), ("n_gpu_layers", _i32), ("split_mode", _i32),
        ("load_mode", _i32), ("lazy_mode", _i32), ("main_gpu", _i32), ("tensor_split", _ptr),
        ("progress_callback", _ptr), ("progress_callback_user_data", _ptr), ("kv_overrides", _ptr),
        ("vocab_only", _bool), ("check_tensors", _bool), ("use_extra_bufts", _bool), ("no_host", _bool),
        ("no_alloc", _bool), ("load_mtp", _bool)]


class ContextParams(ctypes.Structure):
    _fields_ = [
        ("n_ctx", _u32), ("n_batch", _u32), ("n_ubatch", _u32), ("n_seq_max", _u32), ("n_rs_seq", _u32),
        ("n_outputs_max", _u32), ("n_outputs_max_per_seq", _u32), ("n_threads", _i32), ("n_threads_batch", _i32),
        ("ctx_type", _i32), ("rope_scaling_type", _i32), ("pooling_type", _i32), ("attention_type", _i32),
        ("flash_attn_type", _i32), ("rope_freq_base", _f32), ("rope_freq_scale", _f32), ("yarn_ext_factor", _f32),
        ("yarn_attn_factor", _f32), ("yarn_beta_fast", _f32), ("yarn_beta_slow", _f32), ("yarn_orig_ctx", _u32),
        ("defrag_thold", _f32), ("cb_eval", _ptr), ("cb_eval_user_data", _ptr), ("type_k", _i32), ("type_v", _i32),
        ("abort_callback", _ptr), ("abort_callback_data", _ptr), ("embeddings", _bool), ("offload_kqv", _bool),
        ("no_perf", _bool), ("op_offload", _bool), ("swa_full", _bool), ("kv_unified", _bool), ("samplers", _ptr),
        ("n_samplers", ctypes.c_size_t), ("ctx_other", _ptr)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", _i32), ("token", ctypes.POINTER(_i32)), ("embd", _ptr), ("pos", ctypes.POINTER(_i32)),
                ("n_seq_id", ctypes.POINTER(_i32)), ("seq_id", ctypes.POINTER(ctypes.POINTER(_i32))),
                ("logits", ctypes.POINTER(_i8))]


def only(folder, pattern):
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder} has {len(found)} files {pattern}; expected one, of llama.cpp {VERSION}")
    return str(found[0])


class LlamaCpp:
    """The library in `folder`, which also has the shared objects that it needs."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        ctypes.CDLL(only(folder, "libggml-base*.so"), mode=ctypes.RTLD_GLOBAL)
        backends = ctypes.CDLL(only(folder, "libggml.*so"), mode=ctypes.RTLD_GLOBAL)
        self.lib = lib = ctypes.CDLL(only(folder, "libllama.*so"), mode=ctypes.RTLD_GLOBAL)
        for name, result, arguments in (
                ("llama_model_default_params", ModelParams, []),
                ("llama_context_default_params", ContextParams, []),
                ("llama_model_load_from_file", _ptr, [ctypes.c_char_p, ModelParams]),
                ("llama_init_from_model", _ptr, [_ptr, ContextParams]),
                ("llama_batch_init", Batch, [_i32, _i32, _i32]),
                ("llama_batch_free", None, [Batch]),
                ("llama_decode", _i32, [_ptr, Batch]),
                ("llama_get_logits_ith", ctypes.POINTER(_f32), [_ptr, _i32]),
                ("llama_free", None, [_ptr]),
                ("llama_model_free", None, [_ptr]),
                ("llama_log_set", None, [_ptr, _ptr])):
            getattr(lib, name).restype, getattr(lib, name).argtypes = result, arguments
        self._log = ctypes.CFUNCTYPE(None, _i32, ctypes.c_char_p, _ptr)(self._keep)
        self.lines = []
        lib.llama_log_set(ctypes.cast(self._log, _ptr), None)
        backends.ggml_backend_load_all_from_path(str(folder).encode())
        lib.llama_backend_init()
        defaults = lib.llama_context_default_params()
        found = (defaults.n_ctx, defaults.n_batch, defaults.n_ubatch, defaults.type_k, defaults.type_v,
                 defaults.embeddings, defaults.offload_kqv, defaults.no_perf, defaults.n_samplers)
        if found != (512, 2048, 512, F16, F16, False, True, True, 0):
            raise SystemExit(f"{folder} is not llama.cpp {VERSION}: its defaults are {found}")

    def _keep(self, level, text, _):
        self.lines.append(text.decode(errors="replace"))

    def logits(self, path, tokens, vocabulary):
        """f32 [tokens, vocabulary], of all tokens in one batch."""
        lib, self.lines = self.lib, []
        params = lib.llama_model_default_params()
        params.n_gpu_layers, params.use_extra_bufts = 0, False
        model = lib.llama_model_load_from_file(str(path).encode(), params)
        if not model:
            raise SystemExit("llama.cpp does not load the model:\n" + "".join(self.lines[-8:]))
        params = lib.llama_context_default_params()
        params.n_ctx, params.n_threads, params.n_threads_batch = 128, 1, 1
        params.type_k = params.type_v = F32
        params.flash_attn_type = NO_FLASH_ATTENTION
        context = lib.llama_init_from_model(model, params)
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = int(token), i, 1, 1
            batch.seq_id[i][0] = 0
        if lib.llama_decode(context, batch) != 0:
            raise SystemExit("llama.cpp does not run the model:\n" + "".join(self.lines[-8:]))
        rows = [np.ctypeslib.as_array(lib.llama_get_logits_ith(context, i), (vocabulary,)).copy()
                for i in range(len(tokens))]
        lib.llama_batch_free(batch)
        lib.llama_free(context)
        lib.llama_model_free(model)
        return np.stack(rows)
