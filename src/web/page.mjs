// @ts-check
// The page: starts a worker for each session that the host announces over the control socket.

const state = /** @type {HTMLElement} */ (document.getElementById('state'));
const list = /** @type {HTMLElement} */ (document.getElementById('sessions'));

/** @param {string} path */
const socketOf = (path) => new URL(path, location.href.replace(/^http/, 'ws')).href;

/** @param {number} number @param {string} path */
function startSession(number, path) {
  const item = document.createElement('li');
  item.textContent = `session ${number}: runs`;
  list.append(item);
  const worker = new Worker('session_worker.mjs', { type: 'module', name: socketOf(path) });
  worker.onmessage = ({ data }) => {
    if (data.state !== 'ended') return;
    const failed = data.reason && !data.served;
    item.textContent = `session ${number}: ${failed ? `failed: ${data.reason}` : 'ended'}`;
    if (failed) control.send(JSON.stringify({ failed: number, message: data.reason }));
  };
  worker.onerror = ({ message }) => {
    item.textContent = `session ${number}: failed: ${message}`;
    control.send(JSON.stringify({ failed: number, message: message ?? 'the worker does not start' }));
  };
}

const control = new WebSocket(socketOf('control' + location.search));
control.onopen = () => {
  state.textContent = 'Connected: this tab is a device of tapml.';
};
control.onmessage = ({ data }) => {
  const { session, path } = JSON.parse(data);
  startSession(session, path);
};
control.onclose = () => {
  state.textContent = 'The host has closed the connection.';
};
