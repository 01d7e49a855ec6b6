// Youtu-LLM: the latent attention of DeepSeek V3, and no experts (Tencent 2025; the layout and
// names of Hugging Face's YoutuForCausalLM).
#include "ir/exceptions.h"
#include "models/architectures/architectures.h"
#include "models/architectures/deepseek.h"

namespace tapml::models::youtu {

DecoderModel read(const JsonObjectReader& json, ConfigNotes& notes) {
  // From transformers' YoutuConfig.
  constexpr DecoderDefaults kDefaults = {.vocabulary = 128256,
                                         .hidden = 2048,
                                         .layers = 32,
                                         .heads = 16,
                                         .head_dim = 64,
                                         .context = 131072,
                                         .intermediate = 6144,
                                         .head_dim_key = "qk_rope_head_dim",
                                         .tied_embeddings = true};
  DeepseekConfig c;
  read_decoder(json, kDefaults, c, notes);
  c.rope.interleaved = unwrap(json.bool_or("rope_interleave", true));
  c.latent = read_latent_attention(json, {}, c, notes);
  c.experts.first = c.layers;  // no layer has experts
  return deepseek_model("youtu", c);
}

}  // namespace tapml::models::youtu
