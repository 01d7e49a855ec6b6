#!/usr/bin/env python3
"""Writes image files and what Pillow and the image processors of transformers make of them.

Makes pictures/*.png and *.jpg, pictures/decoded.safetensors (RGB of each file, u8 [height, width, 3]),
pictures/preparations.json (texts of preprocessor_config.json by name) and pictures/prepared.safetensors
("<name>/<file>": pixels f32 [parts, 3, height, width], of the processors without torchvision).

Needs pillow, transformers, torch, safetensors, numpy.
"""

import json
import pathlib

import numpy as np
import torch
from PIL import Image, ImageOps
from safetensors.torch import save_file
from transformers.image_transforms import convert_to_rgb
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

import rng

FOLDER = pathlib.Path(__file__).resolve().parent / "pictures"

WIDTH, HEIGHT = 53, 38
CLIP = {"image_processor_type": "CLIPImageProcessor", "do_center_crop": True, "do_convert_rgb": True,
        "do_normalize": True, "do_rescale": True, "do_resize": True,
        "image_mean": [0.48145466, 0.4578275, 0.40821073], "image_std": [0.26862954, 0.26130258, 0.27577711],
        "resample": 3, "rescale_factor": 0.00392156862745098}
# By name: the class, and the file's text.
PREPARATIONS = {
    "clip": (CLIPImageProcessorPil, CLIP | {"crop_size": {"height": 21, "width": 21}, "size": {"shortest_edge": 21}}),
    # The first releases' form; larger than the picture, which becomes black around it.
    "clip_numbers": (CLIPImageProcessorPil, {"feature_extractor_type": "CLIPFeatureExtractor", "crop_size": 45,
                                             "size": 40, "resample": 2}),
    "clip_exact": (CLIPImageProcessorPil, CLIP | {"crop_size": {"height": 30, "width": 80},
                                                  "size": {"height": 50, "width": 33}, "resample": 1}),
    "llava_square": (LlavaImageProcessorPil, {"image_processor_type": "LlavaImageProcessorFast", "do_pad": True,
                                              "size": {"shortest_edge": 24}, "crop_size": {"height": 24, "width": 24},
                                              "resample": 5}),
    "siglip": (SiglipImageProcessorPil, {"image_processor_type": "SiglipImageProcessor", "do_convert_rgb": None,
                                         "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
                                         "resample": 3, "rescale_factor": 0.00392156862745098,
                                         "size": {"height": 20, "width": 24}}),
    # Two rows and three columns of tiles, or the other way round, and the whole.
    "smolvlm": (SmolVLMImageProcessorPil, {"image_processor_type": "SmolVLMImageProcessor", "do_image_splitting": True,
                                           "do_pad": True, "max_image_size": {"longest_edge": 14}, "resample": 1,
                                           "size": {"longest_edge": 37}}),
    "idefics3_whole": (Idefics3ImageProcessorPil, {"image_processor_type": "Idefics3ImageProcessor",
                                                   "do_image_splitting": False, "max_image_size": {"longest_edge": 16},
                                                   "size": {"longest_edge": 44}, "resample": 3}),
    # No larger than a tile.
    "smolvlm_small": (SmolVLMImageProcessorPil, {"image_processor_type": "SmolVLMImageProcessor",
                                                 "max_image_size": {"longest_edge": 24}, "size": {"longest_edge": 20}}),
    "gemma3": (Gemma3ImageProcessorPil, {"image_processor_type": "Gemma3ImageProcessor", "do_pan_and_scan": None,
                                         "size": {"height": 28, "width": 21}}),
    "siglip_plain": (SiglipImageProcessorPil, {"image_processor_type": "SiglipImageProcessor", "do_normalize": False,
                                               "resample": 4, "size": {"height": 16, "width": 16}}),
}


def picture(width, height):
    """Smooth shapes with an edge and some noise, RGB."""
    y, x = np.mgrid[0:height, 0:width]
    noise = (rng.words(7, "picture", width * height * 3) % np.uint32(23)).reshape(height, width, 3)
    colors = np.stack([3 * x + y, 255 * ((x // 9 + y // 7) % 2), 2 * np.abs(x - 2 * y)], -1)
    return (np.clip(colors, 0, 232) + noise).astype(np.uint8)


def files():
    rgb = Image.fromarray(picture(WIDTH, HEIGHT))
    alpha = Image.fromarray((np.mgrid[0:HEIGHT, 0:WIDTH][1] * 255 // (WIDTH - 1)).astype(np.uint8))
    transparent = rgb.copy()
    transparent.putalpha(alpha)
    wide = rgb.resize((3 * WIDTH, 2 * HEIGHT), 2)
    palette = rgb.quantize(17)
    made = {
        "rgb.png": (rgb, {}),
        "rgba.png": (transparent, {}),
        "gray.png": (rgb.convert("L"), {}),
        "gray_alpha.png": (transparent.convert("LA"), {}),
        "palette.png": (palette, {}),
        "palette_transparent.png": (palette, {"transparency": 3}),
        "rgb_transparent.png": (rgb, {"transparency": rgb.getpixel((4, 4))}),
        "two_colors.png": (rgb.convert("1"), {}),
        "rgb.jpg": (rgb, {"quality": 85}),
        "progressive.jpg": (wide, {"quality": 70, "progressive": True}),
        "gray.jpg": (rgb.convert("L"), {"quality": 90}),
        "cmyk.jpg": (rgb.convert("CMYK"), {"quality": 90}),
        "narrow.png": (rgb.crop((0, 0, 3, HEIGHT)), {}),
    }
    for orientation in range(2, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        form = "png" if orientation == 6 else "jpg"
        made[f"orientation_{orientation}.{form}"] = (rgb, {"exif": exif} | ({"quality": 85} if form == "jpg" else {}))
    return made


def main():
    FOLDER.mkdir(exist_ok=True)
    decoded, prepared = {}, {}
    for name, (image, options) in files().items():
        image.save(FOLDER / name, **options)
    for name in files():
        upright = ImageOps.exif_transpose(Image.open(FOLDER / name))
        decoded[name] = torch.from_numpy(np.array(convert_to_rgb(upright, return_numpy=True)))
    for name, (processor, fields) in PREPARATIONS.items():
        for file in ("rgb.png", "progressive.jpg", "orientation_6.png", "narrow.png"):
            if file == "narrow.png" and name == "clip":
                continue
            one = processor(**{k: v for k, v in fields.items() if not k.endswith("_type")})
            image = Image.fromarray(decoded[file].numpy())
            pixels = one(image, return_tensors="pt")["pixel_values"][0].float().contiguous()
            prepared[f"{name}/{file}"] = pixels if pixels.ndim == 4 else pixels[None]
    texts = {name: fields for name, (_, fields) in PREPARATIONS.items()}
    (FOLDER / "preparations.json").write_text(json.dumps(texts, indent=1) + "\n")
    save_file(decoded, FOLDER / "decoded.safetensors")
    save_file(prepared, FOLDER / "prepared.safetensors")
    for name in ("decoded.safetensors", "prepared.safetensors"):
        (FOLDER / name).chmod(0o644)
    print(len(decoded), "files,", len(prepared), "preparations")


if __name__ == "__main__":
    main()
