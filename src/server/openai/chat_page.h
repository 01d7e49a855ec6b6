// A plain page to chat with the model, without anything from elsewhere.
#pragma once

#include <string>

namespace tapml::server {

const std::string& chat_page();
// Its Content-Security-Policy: what is in the page, and requests to its own server.
const std::string& chat_page_policy();

}  // namespace tapml::server
