// `tapml serve`: OpenAI's interface over the demo model.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "support/background_server.h"
#include "support/encoder_folder.h"
#include "support/http_client.h"
#include "support/program.h"

namespace tapml {
namespace {

using testing::BackgroundServer;
using testing::expect_failure;
using testing::HttpClient;
using testing::HttpReply;
using testing::kDemoModel;
using testing::TempFolder;
using testing::write_bytes;

const std::string kServeTemplate = std::string(TAPML_SOURCE_DIR) + "/examples/chat/plain.jinja";

const std::string kChat = "/v1/chat/completions", kText = "/v1/completions";
const std::string kQuestion = R"("messages": [{"role": "user", "content": "Emma was"}])";

// The bytes of a request that is not waited for.
std::string request_bytes(const std::string& path, const std::string& body) {
  return "POST " + path +
         " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

class Server {
 public:
  explicit Server(std::vector<std::string> args = {},
                  const std::map<std::string, std::string>& environment = {})
      : process_(with_model(std::move(args)), environment, "serve") {
    const std::string& address = process_.endpoint();
    if (!address.empty())
      port_ = static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  uint16_t port() const { return port_; }
  BackgroundServer& process() { return process_; }

 private:
  static std::vector<std::string> with_model(std::vector<std::string> args) {
    if (std::ranges::find(args, "--chat-template") == args.end()) {
      args.insert(args.end(), {"--chat-template", kServeTemplate});
    }
    args.insert(args.begin(), {kDemoModel, "--listen", "127.0.0.1:0"});
    return args;
  }
  BackgroundServer process_;
  uint16_t port_ = 0;
};

std::string text_of(const HttpReply& reply, size_t choice = 0) {
  const Json json = reply.json();
  const Json* choices = json.find("choices");
  if (reply.status != 200 || !choices || choices->items().size() <= choice) {
    ADD_FAILURE() << reply.head << reply.body;
    return "";
  }
  const Json& one = choices->items()[choice];
  const Json* text = one.find("text");
  return text ? text->as_string() : one.find("message")->find("content")->as_string();
}

std::string error_code(const HttpReply& reply) {
  const Json json = reply.json();
  const Json* error = json.find("error");
  if (!error) return "no error: " + reply.body;
  return error->find("code")->as_string();
}

// The content of a stream's pieces; `finish` receives the reason of its end.
std::string streamed_text(const HttpReply& reply, std::string* finish = nullptr) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_TRUE(reply.body.ends_with("data: [DONE]\n\n")) << reply.body;
  std::string text;
  for (size_t at = 0; at < reply.body.size();) {
    const size_t end = reply.body.find("\n\n", at);
    const std::string data = reply.body.substr(at + 6, end - at - 6);
    at = end + 2;
    if (data == "[DONE]") break;
    const Json json = unwrap(parse_json(data, "event"));
    if (json.find("choices")->items().empty()) continue;
    const Json& choice = json.find("choices")->items()[0];
    if (const Json* content = choice.find("delta")->find("content")) text += content->as_string();
    const Json* reason = choice.find("finish_reason");
    if (finish && reason->is_string()) *finish = reason->as_string();
  }
  return text;
}

TEST(Serve, AnswersAsRunDoes) {
  Server server;
  HttpClient client(server.port());
  const testing::ProgramResult run = testing::run_program(
      {"run", kDemoModel, "--prompt", "Emma was", "--max-tokens", "12", "--json"});
  const std::string expected = run.json().find("text")->as_string();
  const HttpReply plain =
      client.post(kText, R"({"prompt": "Emma was", "max_tokens": 12, "temperature": 0})");
  EXPECT_EQ(text_of(plain), expected);
  const Json usage = *plain.json().find("usage");
  EXPECT_EQ(usage.find("completion_tokens")->as_integer(), 12);
  EXPECT_EQ(usage.find("prompt_tokens")->as_integer(),
            std::ssize(run.json().find("prompt_tokens")->items()));
  EXPECT_EQ(plain.json().find("choices")->items()[0].find("finish_reason")->as_string(), "length");

  // A stream has the same text.
  const std::string body = "{" + kQuestion + R"(, "max_tokens": 10, "temperature": 0)";
  const std::string whole = text_of(client.post(kChat, body + "}"));
  std::string finish;
  const HttpReply stream =
      client.post(kChat, body + R"(, "stream": true, "stream_options": {"include_usage": true}})");
  EXPECT_EQ(streamed_text(stream, &finish), whole);
  EXPECT_EQ(finish, "length");
  EXPECT_NE(stream.head.find("text/event-stream"), std::string::npos);
  EXPECT_NE(stream.body.find(R"("completion_tokens":10)"), std::string::npos);

  // A stop text is not part of the answer.
  ASSERT_GT(whole.size(), 8u);
  const std::string stop = whole.substr(5, 3);
  const HttpReply stopped =
      client.post(kChat, body + R"(, "stop": [)" + Json::string(stop).dump() + "]}");
  EXPECT_EQ(text_of(stopped), whole.substr(0, whole.find(stop)));
  EXPECT_EQ(stopped.json().find("choices")->items()[0].find("finish_reason")->as_string(), "stop");
}

TEST(Serve, ATextDependsOnItsRequestAlone) {
  Server server({"--texts", "4", "--cache-tokens", "1024"});
  const auto body = [](int seed) {
    return R"({"prompt": "Emma was", "max_tokens": 20, "temperature": 0.9, "seed": )" +
           std::to_string(seed) + "}";
  };
  HttpClient client(server.port());
  std::vector<std::string> alone(6);
  for (int i = 0; i < 6; ++i) alone[static_cast<size_t>(i)] = text_of(client.post(kText, body(i)));
  EXPECT_NE(alone[0], alone[1]);
  std::vector<std::thread> clients;
  std::vector<std::string> together(12);
  for (size_t i = 0; i < together.size(); ++i) {
    clients.emplace_back([&, i] {
      HttpClient own(server.port());
      together[i] = text_of(own.post(kText, body(static_cast<int>(i % 6))));
    });
  }
  for (std::thread& one : clients) one.join();
  for (size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i], alone[i % 6]) << i;
  // Choice i has the seed plus i.
  const HttpReply several = client.post(
      kText, R"({"prompt": "Emma was", "max_tokens": 20, "temperature": 0.9, "seed": 2, "n": 3})");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(text_of(several, i), alone[2 + i]);
}

// The value of a metric without labels.
int64_t metric(HttpClient& client, const std::string& name) {
  const std::string text = client.get("/metrics").body, line = "\ntapml_" + name + " ";
  const size_t at = text.find(line);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no " << name << " in\n" << text;
    return -1;
  }
  return std::stoll(text.substr(at + line.size()));
}

TEST(Serve, SpeculationChangesNoAnswer) {
  const std::string begin = R"({"prompt": "Emma was the the the", "max_tokens": 24, )";
  const std::vector<std::string> bodies = {
      begin + R"("temperature": 0})",
      begin + R"("temperature": 0, "stop": ["e "]})",
      begin + R"("temperature": 0.9, "seed": 3})",
      begin + R"("temperature": 0.7, "seed": 4, "n": 3, "top_p": 0.9})",
      begin + R"("temperature": 0.7, "seed": 5, "frequency_penalty": 0.5, "logprobs": 2})",
      begin + R"("temperature": 0, "repetition_penalty": 1.3, "logit_bias": {"5": 2}})",
      begin + R"("temperature": 0, "grammar": "root ::= [a-z ]{5,30}"})",
      R"({"prompt": "It", "max_tokens": 40, "temperature": 0})"};
  std::vector<std::string> plain;
  {
    Server server;
    HttpClient client(server.port());
    for (const std::string& body : bodies) plain.push_back(text_of(client.post(kText, body)));
    EXPECT_EQ(metric(client, "proposed_tokens_total"), 0);
  }
  const std::vector<std::vector<std::string>> ways = {
      {"--draft", kDemoModel, "--keep-draft"},
      {"--draft", kDemoModel, "--keep-draft", "--draft-tokens", "7", "--cache-tokens", "1024"},
      {"--lookup", "1", "--keep-draft"},
      {"--lookup", "2"}};
  for (size_t way = 0; way < ways.size(); ++way) {
    SCOPED_TRACE(way);
    Server server(ways[way]);
    HttpClient client(server.port());
    std::vector<std::string> texts(2 * bodies.size());
    std::vector<std::thread> clients;
    for (size_t i = 0; i < texts.size(); ++i) {
      clients.emplace_back([&, i] {
        HttpClient own(server.port());
        texts[i] = text_of(own.post(kText, bodies[i % bodies.size()]));
      });
    }
    {
      HttpClient gone(server.port());
      gone.send(
          request_bytes(kText, R"({"prompt": "Emma was", "max_tokens": 500, "stream": true})"));
      gone.read_until("\"text\"");
    }
    for (std::thread& one : clients) one.join();
    for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], plain[i % bodies.size()]) << i;
    // The client that went away leaves nothing.
    for (int i = 0; i < 500 && metric(client, "texts_running") > 0; ++i) {
    }
    EXPECT_EQ(metric(client, "texts_running"), 0);
    EXPECT_EQ(metric(client, "draft_cache_pages_used"), 0);
    EXPECT_EQ(text_of(client.post(kText, bodies[0])), plain[0]);
    if (way == 3) continue;
    EXPECT_GT(metric(client, "proposed_tokens_total"), 0);
    if (way < 2) {
      EXPECT_GT(metric(client, "accepted_tokens_total"),
                metric(client, "proposed_tokens_total") / 3);
      EXPECT_GT(metric(client, "draft_cache_pages"), 0);
    }
    EXPECT_EQ(server.process().end(), 0) << server.process().log();
  }
}

TEST(Serve, ConstrainsAnswers) {
  Server server;
  HttpClient client(server.port());
  const auto answer = [&](const std::string& format, int seed) {
    const HttpReply reply =
        client.post(kChat, "{" + kQuestion + R"(, "temperature": 1.5, "seed": )" +
                               std::to_string(seed) + ", " + format + "}");
    EXPECT_EQ(reply.json().find("choices")->items()[0].find("finish_reason")->as_string(), "stop")
        << reply.body;
    return text_of(reply);
  };
  const std::string schema =
      R"("response_format": {"type": "json_schema", "json_schema": {"name": "n",
      "schema": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
          "age": {"type": "integer"}, "kind": {"enum": ["rich", "poor"]}},
          "required": ["name", "age", "kind"], "additionalProperties": false}}})";
  for (int seed = 0; seed < 4; ++seed) {
    const Json person = unwrap(parse_json(answer(schema, seed), "answer"));
    ASSERT_EQ(person.members().size(), 3u);
    EXPECT_TRUE(person.find("name")->is_string());
    EXPECT_TRUE(person.find("age")->is_integer());
    EXPECT_TRUE(person.find("kind")->as_string() == "rich" ||
                person.find("kind")->as_string() == "poor");
    const std::string words = answer(R"("grammar": "root ::= (\" Emma\" | \" was\"){3}")", seed);
    EXPECT_EQ(std::ranges::count(words, ' '), 3) << words;
  }
}

TEST(Serve, ReportsProbabilitiesModelsAndMetrics) {
  Server server({"--name", "emma"});
  HttpClient client(server.port());
  const HttpReply reply = client.post(
      kChat, "{" + kQuestion +
                 R"(, "max_tokens": 3, "temperature": 0, "logprobs": true, "top_logprobs": 2})");
  const Json json = reply.json();
  const auto& tokens = json.find("choices")->items()[0].find("logprobs")->find("content")->items();
  ASSERT_EQ(tokens.size(), 3u);
  std::string text;
  for (const Json& token : tokens) {
    text += token.find("token")->as_string();
    ASSERT_EQ(token.find("top_logprobs")->items().size(), 2u);
    EXPECT_EQ(token.find("top_logprobs")->items()[0].find("token")->as_string(),
              token.find("token")->as_string());
    EXPECT_LT(token.find("logprob")->as_double(), 0);
  }
  EXPECT_EQ(text, text_of(reply));

  EXPECT_EQ(client.get("/v1/models").json().find("data")->items()[0].find("id")->as_string(),
            "emma");
  EXPECT_EQ(client.get("/v1/models/emma").status, 200);
  EXPECT_EQ(error_code(client.get("/v1/models/other")), "model_not_found");
  EXPECT_EQ(client.get("/health").body, R"({"status": "ok"})");
  EXPECT_NE(client.get("/").body.find("<!doctype html>"), std::string::npos);
  // Counts are of a moment ago.
  std::string metrics;
  for (int i = 0; i < 500 && !metrics.contains("\ntapml_generated_tokens_total 3\n"); ++i) {
    metrics = client.get("/metrics").body;
  }
  EXPECT_NE(metrics.find("\ntapml_generated_tokens_total 3\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("tapml_first_token_seconds_count 1\n"), std::string::npos);
}

TEST(Serve, RefusesWhatItCannotDo) {
  Server server({"--texts", "1", "--waiting", "0", "--body", "64KiB"});
  HttpClient client(server.port());
  const auto code = [&](const std::string& path, const std::string& body, int status) {
    const HttpReply reply = client.post(path, body);
    EXPECT_EQ(reply.status, status) << reply.body;
    return error_code(reply);
  };
  {
    HttpClient first(server.port());  // has the only place, for hundreds of tokens
    first.send(request_bytes(kText, R"({"prompt": "Emma", "max_tokens": 500, "stream": true})"));
    first.read_until("\"text\"");
    EXPECT_EQ(code(kText, R"({"prompt": "a"})", 429), "queue_full");
  }
  EXPECT_EQ(code(kText, R"({"prompt": "a", "model": "gpt"})", 404), "model_not_found");
  std::string words;
  for (int i = 0; i < 600; ++i) words += " was";
  EXPECT_EQ(code(kText, R"({"prompt": ")" + words + "\"}", 400), "context_length_exceeded");
  EXPECT_EQ(code("/v1/other", "{}", 404), "unknown_url");
  EXPECT_EQ(code("/health", "{}", 405), "method_not_allowed");
  EXPECT_EQ(client.get(kText).status, 405);
  const HttpReply large = HttpClient(server.port()).post(kText, std::string(70000, ' '));
  EXPECT_EQ(large.status, 413);
  EXPECT_NE(large.json().find("error")->find("message")->as_string().find("too large"),
            std::string::npos);
  EXPECT_EQ(client.get("/v1/models", "Origin: http://example.com\r\n").status, 403);
}

TEST(Serve, ARequiredCallIsMade) {
  TempFolder folder;
  const std::string file = folder / "tools.jinja";
  write_bytes(file,
              "{{ bos_token }}{% if tools %}Within <tool_call></tool_call>: {{ tools | tojson }}\n"
              "{% endif %}{% for message in messages %}{{ message.content }}\n{% endfor %}");
  Server server({"--chat-template", file});
  HttpClient client(server.port());
  const std::string tools = R"(, "tools": [{"type": "function", "function": {"name": "age_of",
      "parameters": {"type": "object", "required": ["years"], "additionalProperties": false,
      "properties": {"years": {"enum": [20, 21]}}}}}], "parallel_tool_calls": false)";
  const HttpReply reply = client.post(
      kChat, "{" + kQuestion + tools +
                 R"(, "tool_choice": "required", "max_tokens": 200, "temperature": 0})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json choice = reply.json().find("choices")->items()[0];
  EXPECT_EQ(choice.find("finish_reason")->as_string(), "tool_calls") << reply.body;
  const Json* calls = choice.find("message")->find("tool_calls");
  ASSERT_TRUE(calls && calls->items().size() == 1) << reply.body;
  const Json& function = *calls->items()[0].find("function");
  EXPECT_EQ(function.find("name")->as_string(), "age_of");
  const std::string arguments = function.find("arguments")->as_string();
  EXPECT_TRUE(arguments == R"({"years":20})" || arguments == R"({"years":21})") << arguments;
  // A template without tools cannot ask for one.
  Server plain;
  HttpClient other(plain.port());
  EXPECT_EQ(
      error_code(other.post(kChat, "{" + kQuestion + tools + R"(, "tool_choice": "required"})")),
      "no_tools");
}

TEST(Serve, MakesVectorsWithAnEncoder) {
  const testing::EncoderFolder encoder("bert");
  const testing::GoldenModel golden = testing::golden_encoder("bert", {});
  const std::vector<std::string> words = testing::golden_words(golden);
  const HostTensor expected = testing::expected_embeddings(golden, {});
  BackgroundServer process({encoder.path(), "--listen", "127.0.0.1:0", "--name", "bert"}, {},
                           "serve");
  const std::string& address = process.endpoint();
  HttpClient client(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  Json input = Json::array();
  for (const std::string& text : words) input.push(Json::string(text));
  const std::string path = "/v1/embeddings";
  const HttpReply reply =
      client.post(path, Json::object({{"model", Json::string("bert")}, {"input", input}}).dump());
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json json = reply.json();
  const auto& data = json.find("data")->items();
  ASSERT_EQ(data.size(), words.size());
  HostTensor found = HostTensor::zeros(DType::kF32, expected.shape());
  int64_t at = 0;
  for (const Json& one : data) {
    for (const Json& value : one.find("embedding")->items()) found.set_f64(at++, value.as_double());
  }
  ASSERT_EQ(at, found.size());
  EXPECT_LE(testing::largest_difference(found, expected), testing::logit_tolerance(expected));

  EXPECT_EQ(error_code(client.post(kChat, "{" + kQuestion + "}")), "wrong_model_kind");
  EXPECT_EQ(client.post(path, R"({"input": [[100000]]})").status, 400);
  EXPECT_EQ(client.post(path, R"({"input": "t1", "dimensions": 3})").status, 400);
  EXPECT_TRUE(client.get("/metrics").body.contains("\ntapml_requests_ended_total 2\n"));
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(process.end(), 0) << process.log();
  Server texts;
  HttpClient other(texts.port());
  EXPECT_EQ(error_code(other.post(path, R"({"input": "a"})")), "wrong_model_kind");
}

TEST(Serve, NeedsAKeyOfItsFile) {
  TempFolder folder;
  write_bytes(folder / "keys", "# of the team\none\n\ntwo\r\n");
  Server server({"--api-key-file", folder / "keys"});
  HttpClient client(server.port());
  EXPECT_EQ(client.get("/v1/models").status, 401);
  EXPECT_EQ(client.get("/metrics").status, 401);
  EXPECT_EQ(client.get("/health").status, 200);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer three\r\n").status, 401);
  EXPECT_EQ(client.get("/v1/models", "Authorization: Bearer two\r\n").status, 200);
  Server other({}, {{"TAPML_API_KEY", "four"}});
  HttpClient its(other.port());
  EXPECT_EQ(its.get("/v1/models").status, 401);
  EXPECT_EQ(its.get("/v1/models", "Authorization: Bearer four\r\n").status, 200);
}

TEST(Serve, ForgetsAClientThatIsGone) {
  Server server({"--texts", "1"});
  HttpClient client(server.port());
  {
    HttpClient gone(server.port());
    gone.send(request_bytes(kText, R"({"prompt": "Emma was", "max_tokens": 500, "stream": true})"));
    gone.read_until("\"text\"");
  }
  // Its text has the only place.
  EXPECT_EQ(client.post(kText, R"({"prompt": "Emma", "max_tokens": 2})").status, 200);
  for (int i = 0; i < 500; ++i) {
    if (client.get("/metrics").body.contains("\ntapml_texts_running 0\n")) return;
  }
  ADD_FAILURE() << client.get("/metrics").body;
}

// SIGTERM comes while a text is generated, which ends as it would.
void expect_end_after_text(const std::vector<std::string>& args) {
  Server server(args);
  HttpClient client(server.port());
  client.send(
      request_bytes(kText, R"({"prompt": "Emma was", "max_tokens": 300, "temperature": 0})"));
  // Until the text has begun.
  HttpClient other(server.port());
  while (other.get("/metrics").body.contains("\ntapml_prompt_tokens_total 0\n")) {
  }
  std::thread ends([&] { EXPECT_EQ(server.process().end(), 0) << server.process().log(); });
  const HttpReply reply = client.read_reply();
  ends.join();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json().find("usage")->find("completion_tokens")->as_integer(), 300);
}

TEST(Serve, EndsWhenItsTextsHaveEnded) {
  expect_end_after_text({});
  expect_end_after_text({"--draft", kDemoModel, "--keep-draft"});
  expect_end_after_text({"--lookup", "1", "--keep-draft"});
}

TEST(Serve, RefusesOptionsThatAreWrong) {
  TempFolder folder;
  write_bytes(folder / "none", "# no key\n");
  const auto refused = [](std::vector<std::string> args, const std::string& says) {
    args.insert(args.begin(), {"serve", kDemoModel});
    expect_failure(args, 2, {says});
  };
  refused({"--listen", "0.0.0.0:0"}, "other machines");
  refused({"--listen", "unix:/tmp/x"}, "TCP");
  refused({"--listen", "tls:127.0.0.1:0"}, "--tls-cert");
  refused({"--tls-cert", "x.pem"}, "--tls-key");
  refused({"--api-key-file", folder / "none"}, "no key");
  refused({"--context", "100000"}, "capacity");
  refused({"--cache-tokens", "16", "--listen", "127.0.0.1:0"}, "does not hold one text");
  refused({"--texts", "-1"}, "--texts");
  refused({"--draft", kDemoModel, "--lookup", "2"}, "--lookup");
  refused({"--draft-tokens", "65"}, "--draft-tokens");
  refused({"--draft", folder / "nothing", "--listen", "127.0.0.1:0"}, "nothing");
  refused({"--image", "x.png"}, "texts only");
}

}  // namespace
}  // namespace tapml
