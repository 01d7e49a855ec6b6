// The experts of gpt-oss in MXFP4 (OCP Microscaling Formats): a matrix [outputs, inputs] of each is
//   <name>_blocks u8[experts, outputs, inputs / 32, 16], <name>_scales u8[experts, outputs, inputs
//   / 32]
#include "frontend/quantized/float4.h"
#include "frontend/quantized/methods.h"

namespace tapml::frontend {

namespace {

CodedMatrix read_blocks_and_scales(LayerTensors& tensors) {
  const HostTensor blocks = tensors.take("_blocks", {"U8"}).tensor;
  Shape shape = blocks.shape();
  if (shape.size() < 3 || shape.back() != kMxfp4Group / 2 || blocks.size() == 0) {
    tensors.refuse("_blocks", "does not consist of blocks of 16 bytes",
                   "[experts, outputs, inputs / 32, 16]", shape_to_string(shape));
  }
  shape.pop_back();
  const HostTensor scales = tensors.take("_scales", {"U8"}, shape).tensor;
  shape.back() *= kMxfp4Group;
  return mxfp4_matrix(blocks, std::move(shape), scales);
}

}  // namespace

std::vector<QuantizedLayers> parse_mxfp4(const JsonObjectReader&) {
  return {{"_blocks", "", read_blocks_and_scales}};
}

}  // namespace tapml::frontend
