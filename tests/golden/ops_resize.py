"""Golden cases of resizing. Sizes are such that no place falls next to a step of "nearest"."""

import torch
import torch.nn.functional as F

from make_ops import Case, Ints


def cases():
    for shape, size in (((1, 2, 4, 4), (8, 12)), ((1, 1, 5, 7), (3, 4)), ((2, 1, 3, 2), (7, 5)),
                        ((1, 1, 4, 3), (4, 3)), ((1, 1, 6, 8), (1, 2)), ((1, 1, 1, 1), (3, 4))):
        x = torch.randn(shape)
        for mode, coordinates in (("nearest", "asymmetric"), ("nearest-exact", "half_pixel")):
            yield Case("resize2d", [x, Ints(size)], [F.interpolate(x, size, mode=mode)],
                       {"method": "nearest", "coordinates": coordinates})
        for corners, coordinates in ((True, "align_corners"), (False, "half_pixel")):
            out = F.interpolate(x.double(), size, mode="bilinear", align_corners=corners)
            yield Case("resize2d", [x, Ints(size)], [out],
                       {"method": "bilinear", "coordinates": coordinates}, ["f32"])
    x = torch.randint(0, 255, (1, 2, 3, 4), dtype=torch.uint8)
    yield Case("upsample2d", [x], [F.interpolate(x, scale_factor=(2, 3), mode="nearest")],
               {"scales": [2, 3], "method": "nearest", "coordinates": "asymmetric"})
    x = torch.randn(1, 2, 3, 4)
    out = F.interpolate(x.double(), scale_factor=(2, 3), mode="bilinear")
    yield Case("upsample2d", [x], [out], {"scales": [2, 3], "method": "bilinear"}, ["f32"])
