"""Tests of scripts/random_model: the folder that it writes is one that the program reads and runs.

    random_model_test.py PROGRAM    # the built tapml
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "random_model"
PROGRAM = sys.argv.pop() if len(sys.argv) > 1 and not sys.argv[-1].startswith("-") else None

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "bos_token_id": 1,
    "dtype": "bfloat16",
    "eos_token_id": 2,
    "hidden_act": "silu",
    "hidden_size": 32,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "model_type": "llama",
    "num_attention_heads": 4,
    "num_hidden_layers": 1,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-05,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "tie_word_embeddings": True,
    "vocab_size": 2048,
}


def rwkv(version):
    return {"architectures": [f"Rwkv{version}ForCausalLM"], "dtype": "bfloat16", "eos_token_id": 0,
            "head_size": 16, "hidden_size": 32, "intermediate_size": None,
            "model_type": f"rwkv{version}", "num_hidden_layers": 2, "tie_word_embeddings": False,
            "vocab_size": 2048}


class RandomModel(unittest.TestCase):
    def write(self, folder, *options, config=CONFIG):
        (folder / "config.json").write_text(json.dumps(config))
        return subprocess.run(
            [sys.executable, SCRIPT, folder / "config.json", folder / "model", *options],
            capture_output=True, text=True)

    def test_the_weights_are_those_of_the_shape_and_finite(self):
        for dtype, name, width in (("bfloat16", "BF16", 2), ("float32", "F32", 4)):
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                self.assertEqual(self.write(folder, "--dtype", dtype).returncode, 0)
                data = (folder / "model" / "model.safetensors").read_bytes()
                (length,) = struct.unpack("<Q", data[:8])
                header = json.loads(data[8 : 8 + length])
                self.assertEqual(len(header), 2 + 9)
                self.assertEqual(header["model.layers.0.self_attn.k_proj.weight"]["shape"], [16, 32])
                self.assertEqual({entry["dtype"] for entry in header.values()}, {name})
                values = data[8 + length :]
                self.assertEqual(len(values), max(e["data_offsets"][1] for e in header.values()))
                # No exponent is that of an infinity or NaN: every high byte is one of three.
                self.assertLessEqual(set(values[width - 1 :: width]), {0x3C, 0xBC, 0x3F})
                self.assertGreater(len(set(values[0::width])), 200)

    def test_the_same_seed_gives_the_same_bytes(self):
        written = []
        for seed in ("1", "1", "2"):
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                self.write(folder, "--seed", seed)
                written.append((folder / "model" / "model.safetensors").read_bytes())
        self.assertEqual(written[0], written[1])
        self.assertNotEqual(written[0], written[2])

    def test_an_unknown_dtype_is_refused(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            (folder / "config.json").write_text(json.dumps({**CONFIG, "dtype": "float64"}))
            result = subprocess.run(
                [sys.executable, SCRIPT, folder / "config.json", folder / "model"],
                capture_output=True, text=True)
            self.assertEqual(result.returncode, 1)
            self.assertIn("dtype float64: expected one of", result.stderr)

    @unittest.skipUnless(PROGRAM, "no program is named")
    def test_the_program_runs_it(self):
        for config in (CONFIG, rwkv(5), rwkv(6)):
            with self.subTest(config["model_type"]), tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                self.write(folder, config=config)
                result = subprocess.run(
                    [PROGRAM, "run", folder / "model", "--prompt", "a", "--max-tokens", "3",
                     "--no-cache"], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
