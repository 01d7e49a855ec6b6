// Writes packages of toy models for the tests of the Python package: toy_packages FOLDER. For the
// model with an encoder and for the one that takes embeddings it writes FOLDER/NAME/package and the
// rows of its input, f32 without a header; it prints the texts that the models generate.
// FOLDER/bert is a model folder of a golden encoder, and FOLDER/bert/rows its vectors of the
// printed texts.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "io/json.h"
#include "support/encoder_folder.h"
#include "support/toy_decoder.h"
#include "support/toy_models.h"
#include "support/toy_package.h"

namespace tapml::testing {
namespace {

const std::vector<int32_t> kPrompt = {3, 1, 4, 1, 5, 9};
constexpr int64_t kTokens = 6;
constexpr int64_t kFirst = 4;  // position of the embeddings

Json list_of(const std::vector<int32_t>& tokens) {
  std::vector<Json> items;
  for (const int32_t token : tokens) items.push_back(Json::integer(token));
  return Json::array(std::move(items));
}

void write_rows(const std::string& path, const HostTensor& rows) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(rows.bytes().data()), std::ssize(rows.bytes()));
}

Json write_all(const std::string& folder) {
  for (const char* name : {"/encoder", "/embeddings", "/bert"}) {
    std::filesystem::create_directories(folder + name);
  }
  const ToyModel encoder = toy_encoder_decoder(5);
  const HostTensor features = toy_features(11);
  write_toy_package(folder + "/encoder", encoder.module, encoder.weights);
  write_rows(folder + "/encoder/rows", features);
  const ToyDecoder decoder = toy_decoder(31, 0, true);
  const llm::PlacedEmbeddings placed = toy_embeddings(33, {kFirst, kFirst + 1});
  write_toy_package(folder + "/embeddings", decoder.module, decoder.weights);
  write_rows(folder + "/embeddings/rows", placed.rows);
  const GoldenModel bert = golden_encoder("bert", {});
  write_encoder(golden_config("bert"), bert, folder + "/bert");
  write_rows(folder + "/bert/rows", expected_embeddings(bert, {}));
  std::vector<Json> texts;
  for (const std::string& text : golden_words(bert)) texts.push_back(Json::string(text));
  return Json::object({{"prompt", list_of(kPrompt)},
                       {"texts", Json::array(std::move(texts))},
                       {"position", Json::integer(kFirst)},
                       {"encoder", list_of(encoder.greedy(kPrompt, kTokens, features))},
                       {"embeddings", list_of(decoder.greedy(kPrompt, kTokens, placed))},
                       {"plain", list_of(decoder.greedy(kPrompt, kTokens))}});
}

}  // namespace
}  // namespace tapml::testing

int main(int count, char** arguments) {
  if (count != 2) return 2;
  try {
    std::puts(tapml::testing::write_all(arguments[1]).dump().c_str());
    return 0;
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "%s\n", exception.what());
    return 1;
  }
}
