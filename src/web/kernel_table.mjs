// @ts-check
// The table of the kernels that a session has compiled and launched, on the device page.

const kMostRows = 1000;

/** @typedef {import('./session_worker.mjs').KernelNews} KernelNews */

export class KernelTable {
  /** @type {Map<string, {cells: HTMLElement[], launches: number}>} */
  #rows = new Map();
  /** The rows whose kernels ran since the last news. @type {HTMLElement[]} */
  #running = [];
  #launches = 0;

  /** @param {{summary: HTMLElement, region: HTMLElement, body: HTMLElement}} parts of the page */
  constructor({ summary, region, body }) {
    this.summary = summary;
    this.region = region;
    this.body = body;
  }
  /** A new session. */
  clear() {
    this.#rows.clear();
    this.body.replaceChildren();
    this.region.hidden = true;
    this.#launches = 0;
    this.summary.textContent = 'No kernel has run in this session.';
  }
  /** @param {KernelNews[]} kernels those that changed @param {string} error of the device */
  update(kernels, error) {
    this.#stop();
    for (const news of kernels) this.#show(news);
    const one = this.#rows.size === 1;
    this.summary.textContent = `${this.#rows.size.toLocaleString()} kernel${one ? '' : 's'}, ` +
        `${this.#launches.toLocaleString()} launches.` + (error ? ` The last error: ${error}` : '');
  }
  /** The session has ended. */
  end() {
    this.#stop();
  }

  #stop() {
    for (const cell of this.#running) {
      cell.textContent = 'ran';
      delete cell.dataset.kind;
    }
    this.#running = [];
  }

  /** @param {KernelNews} news */
  #show({ name, launches, milliseconds, error }) {
    let row = this.#rows.get(name);
    if (!row) {
      row = { cells: [], launches: 0 };
      if (this.#rows.size < kMostRows) row.cells = this.#addRow(name);
      this.#rows.set(name, row);
    }
    const ran = launches > row.launches;
    this.#launches += launches - row.launches;
    row.launches = launches;
    if (row.cells.length === 0) return;
    const [, state, count, time] = row.cells;
    count.textContent = launches.toLocaleString();
    time.textContent = `${milliseconds.toFixed(0)} ms`;
    state.textContent = error ? `refused: ${error}` : ran ? 'runs' : 'compiled';
    state.dataset.kind = error ? 'failed' : 'serving';
    if (ran && !error) this.#running.push(state);
  }

  /** @param {string} name */
  #addRow(name) {
    this.region.hidden = false;
    const row = document.createElement('tr'), head = document.createElement('th');
    head.scope = 'row';
    head.textContent = name;
    const cells = [head, ...[0, 1, 2].map(() => document.createElement('td'))];
    row.append(...cells);
    this.body.append(row);
    return cells;
  }
}
