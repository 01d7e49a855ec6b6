#include "topdown/suite/suite_weights.h"

#include <filesystem>

#include "frontend/gguf/model.h"
#include "frontend/huggingface/model.h"
#include "ir/exceptions.h"
#include "models/quantization.h"

namespace tapml::topdown {

namespace {

Error missing_model(const Suite& suite, const std::string& file,
                    const std::map<std::string, std::string>& wanted) {
  const auto& [hash, name] = *wanted.begin();
  const std::string others =
      wanted.size() > 1 ? " and " + std::to_string(wanted.size() - 1) + " others" : "";
  return user_error(
      "the model with this suite's weights was not found", file,
      "a model directory with weight " + name + " (content hash " + hash + ")" + others,
      suite.model_folder.empty() ? "no directory" : "nothing at " + suite.model_folder,
      "give the model's folder with --model DIR");
}

}  // namespace

Result<std::map<std::string, HostTensor>> weights_by_reference(const Suite& suite,
                                                               const std::string& file) {
  std::map<std::string, std::string> wanted;
  for (const std::string& hash : named_tensors(suite)) {
    auto weight = suite.weights.find(hash);
    if (weight != suite.weights.end()) wanted.insert(*weight);
  }
  std::map<std::string, HostTensor> found;
  if (wanted.empty()) return found;
  std::error_code ignored;
  const std::string& folder = suite.model_folder;
  if (!std::filesystem::is_directory(folder, ignored) && !frontend::is_gguf_model(folder)) {
    return fail(missing_model(suite, file, wanted));
  }
  TAPML_ASSIGN(auto model, guard([&] {
                 const std::string& name = suite.quantization;
                 return frontend::read_model(
                     folder, name.empty() ? nullptr : models::Quantization::parse(name));
               }));
  for (const auto& [hash, name] : wanted) {
    auto weight = model.weights.find(name);
    if (weight == model.weights.end()) {
      return fail(user_error("the model has no weight " + name + ", which the suite names", folder,
                             "the model that " + file + " was carved from", "another one",
                             "give the model's folder with --model DIR, or carve the suite again"));
    }
    if (std::string own = content_hash(weight->second); own != hash) {
      return fail(user_error("weight " + name + " of the model is not the suite's", folder,
                             "content hash " + hash, own,
                             "give the model's folder with --model DIR, or carve the suite again"));
    }
    found.emplace(hash, weight->second);
  }
  return found;
}

}  // namespace tapml::topdown
