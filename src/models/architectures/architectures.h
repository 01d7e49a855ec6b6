// The architectures without a header of their own. `read` makes a model of a config.json; UserError
// for everything that the architecture cannot express, at the field.
#pragma once

#include "models/config_fields.h"

namespace tapml::models {

namespace arcee {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace baichuan {
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
}
namespace exaone4 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gemma {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gemma2 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gemma3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace glm4 {
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
namespace minicpm {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace ministral {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace mistral {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace mixtral {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace nemotron {
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
namespace glm4_moe {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
DecoderModel read_dots1(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace gpt_oss {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace llama4 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}
namespace minicpm3 {
DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes);
}

}  // namespace tapml::models
