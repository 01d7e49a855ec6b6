// @ts-check
// Notices that the other end of a connection is gone although nothing has closed it.

const kMissed = 3;  // signs in a row, after which it is gone

export class SignsOfLife {
  #missed = 0;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer;

  /** @param {number} seconds between two signs; 0: none are expected
   * @param {(reason: string) => void} gone called once */
  constructor(seconds, gone) {
    this.seconds = seconds;
    this.gone = gone;
  }
  /** A sign: from now on others are expected. The other end may not know them. */
  begin() {
    this.heard();
    if (this.#timer !== undefined || this.seconds === 0) return;
    // Ticks do not pile up while this thread computes or the machine sleeps, so a late look at what has
    // arrived is no proof of silence.
    this.#timer = setInterval(() => this.#tick(), 1000 * this.seconds);
  }
  /** Whatever arrives is a sign. */
  heard() {
    this.#missed = 0;
  }
  #tick() {
    if (++this.#missed <= kMissed) return;
    clearInterval(this.#timer);
    this.gone(`The tracker has given no sign of life for ${kMissed * this.seconds} s.`);
  }
}
