#include "rpc/session/host/attended_link.h"
#include "rpc/session/server_core.h"

namespace tapml::rpc {

Status serve_session(Channel& channel, const ServerOptions& options) noexcept {
  AttendedLink link(channel, options.limits.heartbeat);
  return ServerCore(link, options).serve();
}

}  // namespace tapml::rpc
