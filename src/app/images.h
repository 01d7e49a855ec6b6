// Images in the texts of a model that reads images, as options have them.
#pragma once

#include <string>
#include <vector>

#include "abi/model_interface.h"
#include "ir/module.h"
#include "llm/text_inputs.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml::app {

// The same for all texts of a command, in the order of their placeholders.
struct ImageOptions {
  std::vector<std::string> files;  // PNG or JPEG

  bool given() const { return !files.empty(); }
  // Whether some are given. UserError if the model reads none then.
  bool are_read_by(const ModelInterface& model) const;
  // The images as the files of the model's folder say to prepare them; their positions follow from
  // a prompt. UserError as above, for files that are no images, and for a preparation that does not
  // give what the model's `embed_image` takes.
  std::vector<llm::TextImage> load(const Module& module, const std::string& folder) const;
};

// Sets the positions of the inputs' images by their tokens in a text. UserError for tokens that do
// not match the images, and for images that an earlier text has elsewhere.
void place_images(const ModelInterface& model, const std::vector<int32_t>& tokens,
                  llm::TextInputs& inputs);

// The token ids of a prompt, in which each placeholder stands for one of the images, whose
// positions this sets. UserError as encode_prompt(), as above, and for an embedding that is after
// the prompt. A rendered chat (`is_chat`) has its special tokens.
std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, const ModelInterface& model,
                                   const std::string& prompt, llm::TextInputs& inputs,
                                   bool is_chat = false);

}  // namespace tapml::app
