#include "cli/option_table.h"

#include <algorithm>
#include <string>

namespace tapml::cli {

namespace {

constexpr std::string_view kInput = "Input", kSampling = "Sampling", kTarget = "Target",
                           kCompilation = "Compilation", kOutput = "Output", kLimits = "Limits",
                           kAdvanced = "Advanced";

constexpr OptionRow kRows[] = {
    {"--prompt", kInput, "TEXT"},
    {"--prompts", kInput, "FILE"},
    {"--text", kInput, "TEXT"},
    {"--texts", kInput, "FILE"},
    {"--tokens", kInput, "ID,..."},
    {"--max-tokens", kInput, "N"},
    {"--decode", kInput, "N"},
    {"--batch", kInput, "N"},
    {"--config", kInput, "FILE"},
    {"--model", kInput, "DIR"},
    {"--suite", kInput, "DIR"},
    {"--tasks", kInput, "FILE"},
    {"--inputs", kInput, "FILE"},
    {"--features", kInput, "FILE"},
    {"--audio", kInput, "FILE"},
    {"--embeddings", kInput, "FILE[@POSITION]"},
    {"--image", kInput, "FILE"},
    {"--function", kInput, "NAME"},
    {"--args", kInput, "VALUE"},
    {"--edge", kInput, ""},
    {"--as-run", kInput, ""},
    {"--kernel", kInput, "NAME"},
    {"--group", kInput, "N"},
    {"--unquantized", kInput, ""},
    {"--trust", kInput, ""},
    {"--python", kInput, "PROGRAM"},
    {"--validation-tokens", kInput, "N"},
    {"--passes", kInput, "PASS,..."},
    {"opt --trace", kInput, "PROGRAM=FILE"},

    {"--temperature", kSampling, "T"},
    {"--top-k", kSampling, "K"},
    {"--top-p", kSampling, "P"},
    {"--seed", kSampling, "SEED"},
    {"check-import --seed", kInput, "SEED"},

    {"--mode", kSampling, ""},
    {"--policy", kSampling, ""},
    {"--operators", kSampling, "N"},
    {"--language", kSampling, "SHARE"},
    {"--native", kSampling, "SHARE"},
    {"--mutants", kSampling, "SHARE"},
    {"--depth", kSampling, "N"},
    {"--coverage", kSampling, "FILE"},
    {"--count", kSampling, "N"},

    {"--target", kTarget, "TARGET"},
    {"--from", kTarget, "TARGET"},
    {"--to", kTarget, "TARGET"},
    {"--reference", kTarget, "TARGET"},
    {"--custom-kernels", kTarget, "DIR"},
    {"--library", kTarget, "FILE"},
    {"--listen", kTarget, "ENDPOINT"},
    {"--stdio", kTarget, ""},
    {"--token-file", kTarget, "FILE"},
    {"--tls-ca", kTarget, "FILE"},
    {"--tls-cert", kTarget, "FILE"},
    {"--tls-key", kTarget, "FILE"},
    {"--insecure", kTarget, ""},

    {"--quantize", kCompilation, "FORMAT"},
    {"--activations", kCompilation, "DTYPE"},
    {"--kv-cache", kCompilation, "DTYPE"},
    {"--accumulation", kCompilation, "DTYPE"},
    {"--pooling", kCompilation, ""},
    {"--normalize", kCompilation, ""},
    {"--patterns", kCompilation, "FILE"},
    {"--skip-pass", kCompilation, "PASS,..."},
    {"--bind", kCompilation, "FUNCTION.VARIABLE=N,..."},
    {"exec --bind", kInput, "VARIABLE=N,..."},
    {"--bound", kCompilation, "VARIABLE=N,..."},
    {"--no-cache", kCompilation, ""},
    {"--verify", kCompilation, ""},

    {"--output", kOutput, "PATH"},
    {"--package", kOutput, "DIR"},
    {"--report", kOutput, "DIR"},
    {"--junit", kOutput, "FILE"},
    {"--markdown", kOutput, "FILE"},
    {"compare --all", kOutput, ""},
    {"devices --markdown", kOutput, ""},
    {"help --markdown", kOutput, ""},
    {"--json", kOutput, ""},
    {"--dump-logits", kOutput, "FILE"},
    {"--trace", kOutput, "FILE"},
    {"--full", kOutput, ""},
    {"--npz", kOutput, ""},
    {"--quiet", kOutput, ""},
    {"--weights", kOutput, ""},
    {"--calls", kOutput, "N"},
    {"--budget", kOutput, "SIZE"},
    {"--memory", kOutput, "VARIABLE=N,..."},
    {"--time-passes", kOutput, ""},
    {"--report-phases", kOutput, "FILE"},
    {"--dump-ir", kOutput, "DIR"},
    {"--dump-diff", kOutput, ""},
    {"--list-passes", kOutput, ""},
    {"--measure", kOutput, ""},
    {"--check", kOutput, ""},

    {"--corpus", kOutput, "DIR"},

    {"--memory-limit", kLimits, "SIZE"},
    {"--max-size", kLimits, "SIZE"},
    {"--step-limit", kLimits, "N"},
    {"--kernel-timeout", kLimits, "SECONDS"},
    {"--request-seconds", kLimits, "SECONDS"},
    {"--shrink-seconds", kLimits, "SECONDS"},
    {"--for", kLimits, "TIME"},
    {"--tests", kLimits, "N"},
    {"--jobs", kLimits, "N"},
    {"--test-seconds", kLimits, "SECONDS"},
    {"--reduce-seconds", kLimits, "SECONDS"},
    {"--seconds", kLimits, "SECONDS"},
    {"--sessions", kLimits, "N"},
    {"--call-seconds", kLimits, "SECONDS"},
    {"--idle-seconds", kLimits, "SECONDS"},
    {"rpc serve --memory", kLimits, "SIZE"},
    {"--process-memory", kLimits, "SIZE"},
    {"--keep", kLimits, "SIZE"},

    {"--order", kAdvanced, ""},
    {"--granularity", kAdvanced, "WHAT"},
    {"--hybrid-every", kAdvanced, "N"},
    {"--keep-going", kAdvanced, ""},
    {"--stop-at-first", kAdvanced, ""},
    {"--state", kAdvanced, "DIR"},
    {"--tolerance", kAdvanced, "FILE"},
    {"--in-process", kAdvanced, ""},
    {"--inject-fault", kAdvanced, "KERNEL:KIND"},
    {"--watch", kAdvanced, ""},
    {"--launches", kAdvanced, "N"},
    {"--launch-seed", kAdvanced, "SEED"},
    {"--bisect", kAdvanced, ""},
    {"--repeats", kAdvanced, "N"},
    {"--help", kAdvanced, ""},
    {"--version", kAdvanced, ""},
};

}  // namespace

const OptionRow* find_option_row(std::string_view command, std::string_view name) {
  const std::string own = std::string(command) + " " + std::string(name);
  const OptionRow* found = std::ranges::find(kRows, std::string_view(own), &OptionRow::name);
  if (found == std::end(kRows)) found = std::ranges::find(kRows, name, &OptionRow::name);
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace tapml::cli
