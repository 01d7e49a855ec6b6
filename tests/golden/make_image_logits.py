#!/usr/bin/env python3
"""Writes the golden logits of models that read images: PyTorch with transformers in f32, eager attention.

Makes images/<name>/{config.json, preprocessor_config.json, tokenizer.json, golden.safetensors} for random
configurations. README.md names the tensors. Reads pictures/ (make_pictures.py).

Usage: make_image_logits.py [name ...]     (all without a name)
Needs torch, transformers, tokenizers, safetensors, pillow, numpy.
"""

import json
import pathlib
import sys

import numpy as np
import torch
from PIL import Image
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import BPE
from transformers import AutoConfig, AutoModelForImageTextToText
from transformers.models.smolvlm.processing_smolvlm import get_image_prompt_string

import rng
from images_configurations import CONFIGURATIONS, PROCESSORS
from make_logits import save, write_atomic

HERE = pathlib.Path(__file__).resolve().parent

# Larger than of models of text alone: attention over a dozen patches is else almost even.
SCALE = 0.35


def weight_name(name):
    """Of a tensor in memory: that of the language model alone, as tapml has it."""
    return name.replace("model.language_model.", "model.").replace("model.text_model.", "model.")


def reference(folder, seed):
    config = AutoConfig.from_pretrained(folder)
    config.dtype = torch.float32
    config._attn_implementation = "eager"
    model = AutoModelForImageTextToText.from_config(config).to(torch.float32).eval()
    head = ["lm_head.weight"] if config.tie_word_embeddings else []
    state = {name: torch.from_numpy(rng.weight(seed, weight_name(name), tuple(tensor.shape), SCALE))
             for name, tensor in model.state_dict().items() if name not in head}
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert missing == head and not unexpected, (missing, unexpected)
    model.tie_weights()
    return model


# Of the text that a processor and a tokenizer make the tokens of.
PROMPT, PICTURE = "Look:{image}What,is,it?", "progressive.jpg"


# What stands for an image in a prompt, and what its processor makes of that, by model_type.
PLACEHOLDERS = {"gemma3": "<start_of_image>"}


def image_text(model, rows, tile_rows, columns):
    tokens = "<image>" * rows
    if hasattr(model.config, "scale_factor"):
        return get_image_prompt_string(tile_rows, columns, rows, "<fake_token_around_image>", "<image>", "<global-img>")
    if model.config.model_type == "gemma3":
        return f"\n\n<start_of_image>{tokens}<end_of_image>\n\n"
    return tokens


def side_of(vision):
    """Height and width of an image; of Qwen3-VL of one that has a patch for each position."""
    if hasattr(vision, "image_size"):
        return vision.image_size
    return int(vision.num_position_embeddings ** 0.5) * vision.patch_size


def in_patches(pixels, vision):
    """Images [n, 3, side, side] as Qwen's processor has them: a row for each patch, square by square, and sizes."""
    count, side, merge = len(pixels), side_of(vision) // vision.patch_size, vision.spatial_merge_size
    cut = pixels.reshape(count, 3, side // merge, merge, vision.patch_size, side // merge, merge, vision.patch_size)
    rows = cut.permute(0, 2, 5, 3, 6, 1, 4, 7)[..., None, :, :].expand(
        *(-1,) * 6, vision.temporal_patch_size, -1, -1)
    return rows.reshape(count * side * side, -1), torch.tensor([[1, side, side]] * count)


def given_images(model, pixels):
    """The model's arguments for images [n, 3, side, side]."""
    if model.config.model_type == "qwen3_vl":
        rows, sizes = in_patches(pixels, model.config.vision_config)
        return {"pixel_values": rows, "image_grid_thw": sizes}
    # Idefics 3 reads the images of several texts.
    return {"pixel_values": pixels[None] if hasattr(model.config, "scale_factor") else pixels}


def logits_of(model, tokens, images):
    """Of a text with images, whose tokens some models must be told."""
    ids = torch.tensor([tokens])
    name = {"gemma3": "token_type_ids", "qwen3_vl": "mm_token_type_ids"}.get(model.config.model_type)
    more = {name: (ids == model.config.image_token_id).long()} if name else {}
    return model(input_ids=ids, use_cache=False, **images, **more).logits[0]


def tokenizer_of(image_token):
    """A token for each printable character and the end of a line, and that of images."""
    texts = [chr(ord("!") + i) for i in range(94)] + ["\n"]
    vocabulary = {text: i for i, text in enumerate(texts) if i != image_token}
    vocabulary["<image>"] = image_token
    tokenizer = Tokenizer(BPE(vocabulary, []))
    tokenizer.add_special_tokens([AddedToken("<image>", normalized=False)])
    return tokenizer


def prepared(fields, side):
    """The model's arguments for the picture, in parts, and the numbers of rows and columns of its tiles."""
    import make_pictures
    classes = {name: one for one, name in ((c, c.__name__.removesuffix("Pil")) for c in (
        make_pictures.CLIPImageProcessorPil, make_pictures.SiglipImageProcessorPil,
        make_pictures.Idefics3ImageProcessorPil, make_pictures.SmolVLMImageProcessorPil,
        make_pictures.Gemma3ImageProcessorPil, make_pictures.Qwen2VLImageProcessorPil))}
    processor = classes[fields["image_processor_type"].removesuffix("Fast")](**{k: v for k, v in fields.items() if not k.endswith("_type")})
    extra = {"return_row_col_info": True} if "max_image_size" in fields else {}
    picture = Image.open(HERE / "pictures" / PICTURE)
    if "merge_size" in fields:
        # Of the size that the model reads in tapml, which the processor then keeps.
        made = processor(picture.resize((side, side), Image.Resampling.BICUBIC), return_tensors="pt")
        return {"pixel_values": made["pixel_values"].float(), "image_grid_thw": made["image_grid_thw"]}, 0, 0
    made = processor(picture, return_tensors="pt", **extra)
    pixels = made["pixel_values"][0].float()
    if not extra:
        return {"pixel_values": pixels[None]}, 0, 0
    return {"pixel_values": pixels[None]}, int(made["rows"][0][0]), int(made["cols"][0][0])


def rows_of(model, images, count):
    """The number of embeddings of each of `count` images."""
    features = model.model.get_image_features(**images, return_dict=True).pooler_output
    return sum(one.shape[-2] for one in features) // count


@torch.no_grad()
def make(name):
    config, seed, images = CONFIGURATIONS[name]
    folder = HERE / "images" / name
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "config.json", json.dumps(config, indent=2) + "\n")
    model = reference(folder, seed)
    vision = model.config.vision_config
    side = side_of(vision)
    shape = (images, 3, side, side)
    pixels = torch.from_numpy((2 * rng.unit(seed, "pixels", int(np.prod(shape)))).reshape(shape))
    given = given_images(model, pixels)
    rows = rows_of(model, given, images)
    token, vocabulary = model.config.image_token_id, model.config.text_config.vocab_size
    words = (rng.words(seed, "tokens", 24) % np.uint32(vocabulary)).astype(np.int32)
    words[words == token] = 1
    # Images in the middle of a text, with a few words between them.
    tokens, positions = words[:5].tolist(), []
    for image in range(images):
        positions.append(len(tokens))
        tokens += [token] * rows + words[5 + 3 * image:8 + 3 * image].tolist()
    tokens += words[14:20].tolist()
    logits = logits_of(model, tokens, given)
    alone = logits_of(model, tokens, given | {"pixel_values": given["pixel_values"] * 0.5})
    assert logits.std() >= 1 and (logits - alone).abs().max() > 0.1, name
    write_atomic(folder / "preprocessor_config.json", json.dumps(PROCESSORS[name], indent=2) + "\n")
    tokenizer = tokenizer_of(token)
    write_atomic(folder / "tokenizer.json", tokenizer.to_str(pretty=True) + "\n")
    parts, tile_rows, columns = prepared(PROCESSORS[name], side)
    run_tokens = tokenizer.encode(PROMPT.format(image=image_text(model, rows, tile_rows, columns))).ids
    run_logits = logits_of(model, run_tokens, parts)
    placeholder = PLACEHOLDERS.get(model.config.model_type, "<image>")
    save(folder / "golden.safetensors", {
        "run_tokens": torch.tensor(run_tokens, dtype=torch.int32),
        "run_logits": run_logits,
        "seed": torch.tensor([seed], dtype=torch.int32),
        "scale": torch.tensor([SCALE], dtype=torch.float32),
        "tokens": torch.tensor(tokens, dtype=torch.int32),
        "positions": torch.tensor(positions, dtype=torch.int32),
        "pixels": pixels,
        "logits": logits,
    }, {"seed": str(seed), "prompt": PROMPT.format(image=placeholder), "picture": PICTURE})
    print(f"{name}: {list(logits.shape)}, {rows} rows, deviation of logits {logits.std():.2f}, "
          f"effect of the pixels {(logits - alone).abs().max():.2f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for one in sys.argv[1:] or CONFIGURATIONS:
        make(one)
