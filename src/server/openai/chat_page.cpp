#include "server/openai/chat_page.h"

namespace tapml::server {

const std::string& chat_page_policy() {
  static const std::string policy =
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
  return policy;
}

const std::string& chat_page() {
  static const std::string page = R"page(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tapml</title>
<style>
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent);
        --soft: color-mix(in srgb, currentColor 6%, transparent); }
* { box-sizing: border-box; }
body { margin: 0; height: 100dvh; display: flex; flex-direction: column;
       font: 16px/1.5 system-ui, sans-serif; }
header, form { padding: .6rem 1rem; border-bottom: 1px solid var(--line); display: flex; gap: .6rem;
               align-items: center; }
header h1 { font-size: 1rem; margin: 0; flex: 1; overflow: hidden; text-overflow: ellipsis;
            white-space: nowrap; }
form { border: 0; border-top: 1px solid var(--line); align-items: end; }
main { flex: 1; overflow-y: auto; padding: 1rem; }
main > * { max-width: 46rem; margin: 0 auto .9rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.user { background: var(--soft); border-radius: .6rem; padding: .5rem .8rem; }
.note { color: color-mix(in srgb, currentColor 60%, transparent); font-size: .85rem; }
.error { color: light-dark(#a40000, #ff9a9a); }
details { color: color-mix(in srgb, currentColor 70%, transparent); }
textarea, input, button { font: inherit; color: inherit; background: var(--soft);
                          border: 1px solid var(--line); border-radius: .5rem; padding: .4rem .6rem; }
textarea { flex: 1; resize: none; max-height: 40dvh; }
button { cursor: pointer; }
:focus-visible { outline: 2px solid Highlight; outline-offset: 1px; }
</style>
</head>
<body>
<header><h1 id="model">tapml</h1>
<input id="key" type="password" placeholder="key" aria-label="Key of the server" hidden>
<button id="clear" type="button">New chat</button></header>
<main id="log" aria-live="polite"></main>
<form id="form">
<textarea id="text" rows="1" aria-label="Message" placeholder="Message" autofocus></textarea>
<button id="send">Send</button>
</form>
<script>
"use strict";
const get = (id) => document.getElementById(id);
const log = get("log"), text = get("text"), send = get("send"), key = get("key");
let messages = [], running = null;
const headers = () => {
  const all = {"Content-Type": "application/json"};
  if (key.value) all.Authorization = "Bearer " + key.value;
  return all;
};
const add = (kind, words, parent = log, tag = "div") => {
  const node = document.createElement(tag);
  node.className = kind;
  node.textContent = words;
  parent.append(node);
  return node;
};
const follow = () => { log.scrollTop = log.scrollHeight; };
const refused = async (response) => {
  if (response.status === 401) { key.hidden = false; key.focus(); }
  let words = response.status + " " + response.statusText;
  try { words = (await response.json()).error.message; } catch (ignored) {}
  throw new Error(words);
};
async function answer() {
  running = new AbortController();
  send.textContent = "Stop";
  let said = "", thoughts = null, node = null, tokens = 0, first = 0;
  const start = performance.now();
  try {
    const response = await fetch("v1/chat/completions", {
      method: "POST", headers: headers(), signal: running.signal,
      body: JSON.stringify({messages, stream: true, stream_options: {include_usage: true}})});
    if (!response.ok) await refused(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let held = "";
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      held += value;
      const events = held.split("\n\n");
      held = events.pop();
      for (const event of events) {
        const data = event.replace(/^data: /, "");
        if (data === "[DONE]") continue;
        const piece = JSON.parse(data);
        if (piece.error) throw new Error(piece.error.message);
        if (piece.usage) tokens = piece.usage.completion_tokens;
        const delta = piece.choices.length ? piece.choices[0].delta : {};
        if (delta.reasoning_content) {
          if (!thoughts) {
            const box = add("", "", log, "details");
            add("", "Thoughts", box, "summary");
            thoughts = add("", "", box);
          }
          thoughts.textContent += delta.reasoning_content;
        }
        if (delta.content) {
          first = first || performance.now();
          said += delta.content;
          node = node || add("assistant", "");
          node.textContent = said;
        }
        follow();
      }
    }
  } catch (error) {
    add("error", error.name === "AbortError" ? "stopped" : error.message);
    if (!said) messages.pop();
  }
  if (said) messages.push({role: "assistant", content: said});
  if (tokens > 1 && first) {
    const rate = (tokens - 1) / (performance.now() - first) * 1000;
    add("note", tokens + " tokens, first after " + ((first - start) / 1000).toFixed(2) + " s, " +
        rate.toFixed(1) + " tokens/s");
  }
  running = null;
  send.textContent = "Send";
  follow();
}
get("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (running) { running.abort(); return; }
  const words = text.value.trim();
  if (!words) return;
  text.value = "";
  messages.push({role: "user", content: words});
  add("user", words);
  follow();
  answer();
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  get("form").requestSubmit();
});
text.addEventListener("input", () => {
  text.style.height = "auto";
  text.style.height = text.scrollHeight + "px";
});
get("clear").addEventListener("click", () => {
  if (running) running.abort();
  messages = [];
  log.textContent = "";
  text.focus();
});
const show = async () => {
  const response = await fetch("v1/models", {headers: headers()});
  if (response.status === 401) { key.hidden = false; return; }
  get("model").textContent = (await response.json()).data[0].id;
};
key.addEventListener("change", show);
show();
</script>
</body>
</html>
)page";
  return page;
}

}  // namespace tapml::server
