#include "frontend/gguf/pre_tokenizers.h"

#include <algorithm>
#include <ranges>

#include "base/strings.h"

namespace tapml::frontend {

namespace {

constexpr std::string_view kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kLettersOfWords = R"( ?[^(\s|.,!?…。，、।۔،)]+)";

constexpr std::string_view kGpt2Splits[] = {kGpt2Words};
constexpr std::string_view kDigitsAndGpt2[] = {kDigit, kGpt2Words};
constexpr std::string_view kDefaultWords[] = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Words, R"(\p{N}+)",
                                              kThreeDigits};
constexpr std::string_view kFalconSplits[] = {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Words, kThreeDigits};
constexpr std::string_view kLlama3Splits[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kQwen2Splits[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kQwen35Splits[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kTekkenSplits[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kO200k[] = {
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kDeepSeekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                               "[一-龥ࠀ-一가-퟿]+", kDigit};
constexpr std::string_view kDeepSeekV3[] = {
    R"(\p{N}{1,3})", "[一-龥぀-ゟ゠-ヿ]+",
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kSeedCoder[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kBailing[] = {
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr std::string_view kPoro[] = {kLettersOfWords};
constexpr std::string_view kViking[] = {kLettersOfWords, kDigit};

constexpr PreTokenizer kPreTokenizers[] = {
    {"default", kDefaultWords},
    {"llama-bpe", kLlama3Splits, false, true, true},
    {"llama3", kLlama3Splits, false, true, true},
    {"llama-v3", kLlama3Splits, false, true, true},
    {"falcon3", kLlama3Splits, false, true, true},
    {"falcon-h1", kLlama3Splits, false, true, true},
    {"pixtral", kLlama3Splits, false, true, true},
    {"midm-2.0", kLlama3Splits, false, true, true},
    {"lfm2", kLlama3Splits, false, true, true},
    {"dbrx", kLlama3Splits},
    {"smaug-bpe", kLlama3Splits},
    {"glm4", kLlama3Splits},
    {"chatglm-bpe", kLlama3Splits},
    {"qwen2", kQwen2Splits, true},
    {"deepseek-r1-qwen", kQwen2Splits, true},
    {"stablelm2", kQwen2Splits},
    {"megrez", kQwen2Splits},
    {"hunyuan", kQwen2Splits},
    {"grok-2", kQwen2Splits},
    {"solar-open", kQwen2Splits},
    {"qwen35", kQwen35Splits, true},
    {"gpt-2", kGpt2Splits},
    {"phi-2", kGpt2Splits},
    {"gigachat", kGpt2Splits},
    {"a.x-4.0", kGpt2Splits},
    {"mellum", kGpt2Splits},
    {"modern-bert", kGpt2Splits, true},
    {"roberta-bpe", kGpt2Splits},
    {"mpt", kGpt2Splits},
    {"olmo", kGpt2Splits},
    {"jais", kGpt2Splits},
    {"trillion", kGpt2Splits},
    {"exaone4", kGpt2Splits},
    {"starcoder", kDigitsAndGpt2},
    {"refact", kDigitsAndGpt2},
    {"command-r", kDigitsAndGpt2, true},
    {"smollm", kDigitsAndGpt2},
    {"codeshell", kDigitsAndGpt2},
    {"exaone", kDigitsAndGpt2},
    {"minerva-7b", kDigitsAndGpt2},
    {"falcon", kFalconSplits},
    {"tekken", kTekkenSplits, false, true, true},
    {"gpt-4o", kO200k},
    {"llama4", kO200k},
    {"kanana2", kO200k},
    {"minimax-m2", kO200k},
    {"deepseek-coder", kDeepSeekCoder},
    {"deepseek-v3", kDeepSeekV3},
    {"hunyuan-dense", kDeepSeekV3},
    {"seed-coder", kSeedCoder},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"poro-chat", kPoro},
    {"bloom", kPoro},
    {"gpt3-finnish", kPoro},
    {"viking", kViking},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const PreTokenizer& one : kPreTokenizers) {
    if (one.name == (name.empty() ? "default" : name)) return &one;
  }
  return nullptr;
}

const PreTokenizer* find_pre_tokenizer(std::span<const std::string> splits, bool composes,
                                       bool ignores_merges) {
  const PreTokenizer* other = nullptr;
  for (const PreTokenizer& one : kPreTokenizers) {
    if (one.ignores_merges != ignores_merges || !std::ranges::equal(one.splits, splits)) continue;
    if (one.composes == composes) return &one;
    if (!other) other = &one;
  }
  return other;
}

std::string_view gpt2_words() { return kGpt2Words; }
std::string_view single_digits() { return kDigit; }

std::string pre_tokenizer_names() {
  return join(kPreTokenizers, [](const PreTokenizer& one) { return one.name; });
}

}  // namespace tapml::frontend
