#include "cli/prompt.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/host/interrupt.h"
#include "cli/options.h"
#include "io/host/files.h"
#include "ir/exceptions.h"

namespace tapml::cli {

namespace {

constexpr size_t kMostPromptBytes = size_t{1} << 30;

std::string read_standard_input() {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t count = read(STDIN_FILENO, buffer.data(), buffer.size());
    unwrap(check_interrupted());
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      throw_user("the standard input cannot be read", "--prompt -", "a file or a pipe",
                 std::strerror(errno));
    }
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > kMostPromptBytes) {
      throw_user("the prompt is too long", "--prompt -",
                 std::to_string(kMostPromptBytes) + " bytes", "more");
    }
  }
}

}  // namespace

std::string PromptOptions::read() const {
  if (file.empty() && text != "-") return text;
  if (!file.empty() && !text.empty()) {
    throw_user("a prompt is given twice", "--prompt-file", "--prompt or --prompt-file", "both");
  }
  std::string whole = file.empty() ? read_standard_input() : unwrap(read_text_file(file));
  if (whole.ends_with('\n')) whole.pop_back();
  if (whole.ends_with('\r')) whole.pop_back();
  return whole;
}

void add_options(CLI::App& command, PromptOptions& options) {
  command.add_option("--prompt", options.text, "Text to continue (-: the standard input)");
  command.add_option("--prompt-file", options.file, "File of the text to continue");
  require_prompt(command);
  CLI::Option* prompt = command.get_option("--prompt");
  command.get_option("--prompt-file")->each([prompt](const std::string&) {
    prompt->required(false);
  });
}

}  // namespace tapml::cli
