#include "harness.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <span>

#include "io/host/files.h"
#include "io/json.h"
#include "ir/exceptions.h"

namespace tapml::bench {

namespace {

struct Row {
  const Case* test = nullptr;
  Interval value, peer, ratio;
  std::string absent;    // why there is no figure
  bool compared = true;  // false: there is a bar, but no peer to compare with
  bool ok = true;
};

bool meets(const Case& test, const Interval& compared) {
  return test.bound == Bound::kAtLeast ? compared.high >= test.bar : compared.low <= test.bar;
}

struct Sample {
  double own = 0, other = 0;
};

// The first one finds a different cache state, so the caller alternates the order.
Sample in_turn(const Pair& pair, bool ours_first) {
  Sample sample;
  if (ours_first) sample.own = pair.ours();
  if (pair.peer) sample.other = pair.peer();
  if (!ours_first) sample.own = pair.ours();
  return sample;
}

Sample between_ceilings(const Pair& pair) {
  const double before = pair.peer();
  const double own = pair.ours();
  return {own, (before + pair.peer()) / 2};
}

Row measure(const Case& test) {
  Row row;
  row.test = &test;
  Pair pair = test.prepare(row.absent);
  row.compared = test.no_bar || (pair.ours && (test.figure || pair.peer));
  if (!pair.ours) return row;
  std::vector<double> ours, peers, ratios;
  for (int i = 0; i < test.pairs; ++i) {
    std::fprintf(stderr, "\r\033[K%s: %d of %d", test.name.c_str(), i + 1, test.pairs);
    const Sample sample = pair.ceiling ? between_ceilings(pair) : in_turn(pair, i % 2 == 0);
    ours.push_back(sample.own);
    if (!pair.peer) continue;
    peers.push_back(sample.other);
    ratios.push_back(sample.own / sample.other);
  }
  std::fprintf(stderr, "\r\033[K");
  row.value = median_interval(ours);
  if (!ratios.empty()) {
    row.peer = median_interval(peers);
    row.ratio = median_interval(ratios);
  }
  if (test.no_bar) return row;
  if (test.figure) {
    row.ok = meets(test, row.value);
  } else if (!ratios.empty()) {
    row.ok = meets(test, row.ratio);
  }
  return row;
}

Json number(double value) { return Json::number(value); }

Json document(const Row& row) {
  const Case& test = *row.test;
  Json json = Json::object({{"name", Json::string(test.name)}, {"unit", Json::string(test.unit)}});
  json.set("value", number(row.value.middle));
  json.set("peer", Json::string(test.peer));
  bool compared = row.ratio.middle != 0;
  json.set("peer_value", compared ? number(row.peer.middle) : Json::null());
  json.set("ratio", compared ? number(row.ratio.middle) : Json::null());
  json.set("ratio_low", compared ? number(row.ratio.low) : Json::null());
  json.set("ratio_high", compared ? number(row.ratio.high) : Json::null());
  json.set("pairs", Json::integer(test.pairs));
  json.set("bar", test.no_bar ? Json::null() : number(test.bar));
  json.set("bound", Json::string(test.bound == Bound::kAtLeast ? "at least" : "at most"));
  json.set("ok", row.compared ? Json::boolean(row.ok) : Json::null());
  if (!row.absent.empty()) json.set("absent", Json::string(row.absent));
  return json;
}

void print(const Row& row) {
  const Case& test = *row.test;
  if (row.value.middle == 0 && !row.absent.empty()) {
    std::printf("%-34s absent: %s\n", test.name.c_str(), row.absent.c_str());
    return;
  }
  std::printf("%-34s %10.4g %-9s", test.name.c_str(), row.value.middle, test.unit.c_str());
  const char* sign = test.bound == Bound::kAtLeast ? ">=" : "<=";
  if (row.ratio.middle != 0) {
    std::printf(" %10.4g %-22s %7.3f [%.3f, %.3f]", row.peer.middle, test.peer.c_str(),
                row.ratio.middle, row.ratio.low, row.ratio.high);
  } else {
    std::printf(" %10s %-22s %7s", "-", row.absent.empty() ? "" : row.absent.c_str(), "");
  }
  if (!test.no_bar) {
    const char* verdict = !row.compared ? "no bar" : row.ok ? "ok" : "MISSED";
    std::printf("  %s %.3g %s", sign, test.bar, verdict);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

Interval median_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  size_t n = samples.size();
  if (n == 0) return {};
  double middle = n % 2 == 1 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  // Ranks around n/2 by 1.96 standard deviations of a fair coin's sum.
  double reach = 1.96 * std::sqrt(static_cast<double>(n)) / 2;
  double half = static_cast<double>(n) / 2;
  auto low = static_cast<size_t>(std::max(0.0, std::floor(half - reach)));
  auto high = static_cast<size_t>(std::min(static_cast<double>(n) - 1, std::ceil(half + reach)));
  return {samples[low], middle, samples[high]};
}

int run(const std::vector<Case>& cases, const Options& options) {
  Json list = Json::array();
  int missed = 0, found = 0, not_compared = 0;
  for (const Case& test : cases) {
    if (!options.only.empty() && test.name.find(options.only) == std::string::npos) continue;
    ++found;
    Row row;
    try {
      row = measure(test);
    } catch (const CompilerException& exception) {
      row.test = &test;
      row.absent = exception.error().to_string();
      row.ok = false;
    }
    missed += !row.ok;
    not_compared += !row.compared;
    print(row);
    list.push(document(row));
    const std::string text = list.dump(2) + "\n";
    unwrap(write_file_atomic(options.json, std::as_bytes(std::span(text))));
  }
  if (found == 0) throw_user("no benchmark has '" + options.only + "' in its name", "ONLY");
  std::printf("%d benchmarks, %d missed their bar, %d without a peer to compare with; %s\n", found,
              missed, not_compared, options.json.c_str());
  return missed;
}

Pair against_ceiling(std::function<double()> ours, std::function<double()> ceiling) {
  return {.ours = std::move(ours), .peer = std::move(ceiling), .ceiling = true};
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double seconds_of(const std::function<void()>& work, int repeats) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    double start = seconds_now();
    work();
    seconds.push_back(seconds_now() - start);
  }
  return median_interval(seconds).middle;
}

Peer::Peer(const std::vector<std::string>& command) {
  std::signal(SIGPIPE, SIG_IGN);
  int in[2], out[2];
  if (pipe(in) != 0 || pipe(out) != 0) {
    why_ = "no pipe";
    return;
  }
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  to_ = in[1];
  from_ = out[0];
  std::string line;
  while (read_line(line)) {
    ready_ = line == "ready";
    if (ready_) return;
    if (line.starts_with("absent: ")) {
      why_ = line.substr(8);
      return;
    }
  }
  why_ = command[0] + " does not start; install it with scripts/bench_setup";
}

Peer::~Peer() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

bool Peer::read_line(std::string& line) {
  while (true) {
    if (size_t end = pending_.find('\n'); end != std::string::npos) {
      line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return true;
    }
    char chunk[4096];
    ssize_t count = ::read(from_, chunk, sizeof chunk);
    if (count <= 0) return false;
    pending_.append(chunk, static_cast<size_t>(count));
  }
}

double Peer::measure() {
  std::string line;
  if (::write(to_, "\n", 1) != 1 || !read_line(line)) throw_user("the peer exited: " + why_);
  return std::stod(line);
}

}  // namespace tapml::bench
