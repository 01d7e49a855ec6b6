#include "cli/serving.h"

#include <sys/resource.h>

#include "base/strings.h"
#include "ir/exceptions.h"

namespace tapml::cli {

rpc::Endpoint listening_endpoint(const std::string& listen, const std::string& tls_certificate,
                                 const std::string& tls_key) {
  rpc::Endpoint endpoint = unwrap(rpc::parse_endpoint(listen));
  const bool encrypts = !tls_certificate.empty();
  if (encrypts != !tls_key.empty()) {
    throw_user("TLS takes a certificate and its key", "--listen " + in_quotes(listen),
               "--tls-cert FILE and --tls-key FILE", encrypts ? "--tls-cert" : "--tls-key");
  }
  if (endpoint.tls && !encrypts) {
    throw_user("an encrypted place takes a certificate", "--listen " + in_quotes(listen),
               "--tls-cert FILE and --tls-key FILE", "neither");
  }
  if (encrypts && endpoint.kind != rpc::Endpoint::Kind::kTcp) {
    throw_user("only TCP is encrypted", "--listen " + in_quotes(listen),
               "tls:host:port with --tls-cert", listen);
  }
  endpoint.tls = encrypts;
  return endpoint;
}

rpc::Endpoint http_endpoint(const std::string& listen, const std::string& tls_certificate,
                            const std::string& tls_key) {
  const rpc::Endpoint endpoint = listening_endpoint(listen, tls_certificate, tls_key);
  if (endpoint.kind != rpc::Endpoint::Kind::kTcp) {
    throw_user("HTTP is served over TCP only", "--listen", "HOST:PORT", listen);
  }
  return endpoint;
}

void check_device_key(const std::string& key) {
  if (rpc::is_device_key(key)) return;
  throw_user("not a key of devices", "--key " + in_quotes(key),
             "1 to 64 letters, digits, '.', '_' and '-'");
}

void raise_file_limit() {
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace tapml::cli
