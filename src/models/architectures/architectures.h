// The architectures without a header of their own. `read` makes a model of a config.json; UserError
// for everything that the architecture cannot express, at the field.
#pragma once

#include "models/config_fields.h"

namespace tapml::models {

namespace apertus {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace arcee {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace baichuan {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace bert {
EncoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace mpnet {
EncoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace roberta {
EncoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
EncoderModel read_xlm(const JsonObjectReader& json, ConfigNotes& notes);
EncoderModel read_camembert(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace roberta
namespace modernbert {
EncoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace bamba {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace chatglm {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace cohere {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace cohere2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace ernie4_5 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_moe(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace ernie4_5
namespace exaone4 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace falcon_h1 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gemma {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gemma2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_vaultgemma(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace gemma2
namespace gemma3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gemma3n {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gemma4 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace glm4 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_glm(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace glm4
namespace bloom {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace mpt {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gpt2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gpt_bigcode {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gpt_neox {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gptj {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace granite {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace granitemoe {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_shared(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace granitemoe
namespace granitemoehybrid {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace helium {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace hunyuan_v1_dense {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace internlm {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace internlm2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace lfm2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace lfm2_moe {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace mamba2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace minicpm {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace minimax_m2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace mistral {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_cwm(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_ministral(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_ministral3(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace mistral
namespace mixtral {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace nanochat {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace nemotron {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_jais2(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace nemotron
namespace nemotron_h {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace olmo {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace olmo2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace olmo3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace olmo_hybrid {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace olmoe {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace orion {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace phi {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace phi3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace qwen {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace qwen2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace qwen3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace qwen3_5 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace qwen3_5_moe {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace qwen3_moe {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace qwen3_next {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace rwkv5 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace rwkv6 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace rwkv7 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace seed_oss {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace smollm3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace stablelm {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace starcoder2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace deepseek_v2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace deepseek_v3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace glm4_moe_lite {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace glm4_moe {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_dots1(const JsonObjectReader& json, ConfigNotes& notes);
}  // namespace glm4_moe
namespace gpt_oss {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace llama4 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace minicpm3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace youtu {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace zamba2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace whisper {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}

}  // namespace tapml::models
