// The embedder of the C interface: vectors of texts with packages of encoders.
#include "llm/embedder.h"

#include <tapml/embedder.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/impl.h"
#include "io/host/mapped_ranges.h"
#include "llm/package.h"

using namespace tapml;  // NOLINT: names of the C interface have a prefix of their own

struct tapml_embedder {
  Tokenizer tokenizer;
  std::map<std::string, HostTensor> weights;  // which the device may use in place
  std::unique_ptr<llm::Embedder> embedder;    // destroyed first
  HostTensor vectors;                         // of the last call
};

namespace {

Result<std::unique_ptr<tapml_embedder>> load(runtime::Session& session, const char* folder) {
  TAPML_ASSIGN(llm::Package package, llm::read_package(folder));
  TAPML_TRY(llm::check_embeds(package.file.executable.model, folder));
  TAPML_TRY(api::check_platform(package.file.executable, session, folder));
  TAPML_ASSIGN(
      auto vm,
      runtime::LocalVirtualMachine::create(
          session, std::make_shared<const Executable>(std::move(package.file.executable))));
  auto loaded = std::make_unique<tapml_embedder>(
      tapml_embedder{std::move(package.tokenizer), std::move(package.weights), nullptr, {}});
  TAPML_ASSIGN(loaded->embedder,
               llm::Embedder::create(std::move(vm), loaded->weights, {.weights_in_place = true}));
  return loaded;
}

Result<HostTensor> embed(tapml_embedder& embedder, const char* const* texts, const size_t* bytes,
                         int64_t count) {
  std::vector<std::vector<int32_t>> tokens;
  for (int64_t i = 0; i < count; ++i) {
    const std::string where = "text " + std::to_string(i);
    if (!texts[i] && (!bytes || bytes[i] > 0)) {
      return fail(user_error("the text is null", where, "UTF-8", "nothing"));
    }
    const size_t size = bytes ? bytes[i] : std::strlen(texts[i]);
    auto encoded = embedder.tokenizer.encode(size == 0 ? std::string_view()
                                                       : std::string_view(texts[i], size));
    if (!encoded) {
      Error error = encoded.error();
      error.where = where + ", " + error.where;
      return fail(std::move(error));
    }
    tokens.push_back(std::move(*encoded));
  }
  return embedder.embedder->embed(tokens);
}

}  // namespace

using api::failed;
using api::missing;

tapml_status tapml_embedder_load(tapml_session* session, const char* folder,
                                 tapml_embedder** embedder) {
  if (!session || !folder || !embedder) return missing("an argument");
  return api::guarded("tapml_embedder_load", [&] {
    auto loaded = load(*session->session, folder);
    if (Status files = check_lost_files(); !files) return failed(files.error());
    if (!loaded) return failed(loaded.error());
    *embedder = loaded->release();
    return TAPML_OK;
  });
}

void tapml_embedder_free(tapml_embedder* embedder) { delete embedder; }

int64_t tapml_embedder_context(const tapml_embedder* embedder) {
  return embedder ? embedder->embedder->model().context : 0;
}

tapml_status tapml_embedder_embed(tapml_embedder* embedder, const char* const* texts,
                                  const size_t* bytes, int64_t count, const float** vectors,
                                  int64_t* width) {
  if (!embedder || (!texts && count > 0) || !vectors || !width) return missing("an argument");
  return api::guarded("tapml_embedder_embed", [&] {
    auto made = embed(*embedder, texts, bytes, count);
    if (!made) return failed(made.error());
    embedder->vectors = std::move(*made);
    *vectors = embedder->vectors.values<float>().data();
    *width = embedder->vectors.shape()[1];
    return TAPML_OK;
  });
}
