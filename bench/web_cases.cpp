// A tab of a browser as a device of a tracker, compared with a bare WebSocket to the same browser.
#include "cases.h"
#include "ir/exceptions.h"
#include "rpc/session/remote_session.h"
#include "server/files/static_files.h"
#include "server/http/http_server.h"
#include "tracker/tracker.h"

namespace tapml::bench {

namespace {

constexpr size_t kReadBytes = size_t{64} << 20;

// The pages and the tracker, as `tapml web serve` serves them, a browser with the device page, and
// a session in it.
class Tab {
 public:
  Tab() {
    tracker::TrackerOptions options;
    options.endpoint = *rpc::parse_endpoint("127.0.0.1:0");
    tracker_ = unwrap(tracker::Tracker::open(options));
    server::StaticOptions files;
    files.pages = TAPML_WASM_FOLDER;
    files_ = std::make_unique<server::StaticFiles>(std::move(files));
    server::HttpOptions http;
    http.upgrades = [](const server::HttpRequest& request) { return !request.upgrade.empty(); };
    http.upgrade = [this](server::Upgraded connection) {
      tracker_->adopt(rpc::FileDescriptor(connection.socket), std::move(connection.first_bytes),
                      std::move(connection.peer));
    };
    web_ = unwrap(
        server::HttpServer::listen(http, [this](const server::HttpRequest& request,
                                                const std::shared_ptr<server::Exchange>& exchange) {
          files_->handle(request, exchange);
        }));
    const std::string address = "127.0.0.1:" + std::to_string(web_->port());
    bare_ = std::make_unique<Peer>(std::vector<std::string>{
        "node", "bench/peers/browser.mjs", "http://" + address + "/device#key=bench",
        std::to_string(kReadBytes)});
    if (!bare_->ok()) return;
    rpc::ConnectOptions connect;
    connect.target = "webgpu";
    session_ = unwrap(rpc::RemoteSession::connect(
        unwrap(rpc::connect(unwrap(rpc::parse_endpoint("tracker:" + address + "/bench")))),
        connect));
    buffer_ = runtime::BufferId(session_->new_handle());
    unwrap(session_->allocate(buffer_, kReadBytes));
  }
  std::string absent() const { return bare_->ok() ? "" : bare_->why(); }
  // MB/s.
  double upload() {
    const double start = seconds_now();
    unwrap(session_->write(runtime::kDefaultStream, {buffer_, 0}, bytes_));
    unwrap(session_->synchronize(runtime::kDefaultStream));
    return static_cast<double>(kReadBytes) / 1e6 / (seconds_now() - start);
  }
  double bare() { return bare_->measure(); }

 private:
  std::unique_ptr<tracker::Tracker> tracker_;
  std::unique_ptr<server::StaticFiles> files_;
  std::unique_ptr<server::HttpServer> web_;
  std::unique_ptr<Peer> bare_;
  std::unique_ptr<rpc::RemoteSession> session_;
  runtime::BufferId buffer_{};
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(kReadBytes);
};

Pair upload(std::string& absent) {
  auto tab = std::make_shared<Tab>();
  absent = tab->absent();
  if (!absent.empty()) return {[] { return 0; }, nullptr};
  tab->upload();
  tab->bare();
  return {[tab] { return tab->upload(); }, [tab] { return tab->bare(); }};
}

}  // namespace

std::vector<Case> web_cases() {
  return {{.name = "web: upload to a tab through a tracker",
           .unit = "MB/s",
           .peer = "a bare WebSocket to the same browser",
           .bar = 0.8,
           .prepare = upload}};
}

}  // namespace tapml::bench
