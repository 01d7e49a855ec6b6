// @ts-check
// Errors with the fields that the program's errors have (docs/web.md).

export class TapmlError extends Error {
  /** @param {{kind?: string, message: string, where?: string, expected?: string, found?: string,
   *   hint?: string}} fields */
  constructor({ kind = 'user', message, where = '', expected = '', found = '', hint = '' }) {
    const lines = [message];
    if (where) lines.push(`  where: ${where}`);
    if (expected) lines.push(`  expected: ${expected}`);
    if (found) lines.push(`  found: ${found}`);
    if (hint) lines.push(`  hint: ${hint}`);
    super(lines.join('\n'));
    this.name = 'TapmlError';
    /** "user", "platform: absent", "platform: limit", ... */
    this.kind = kind;
    /** The first line of the message. */
    this.summary = message;
    this.where = where;
    this.expected = expected;
    this.found = found;
    this.hint = hint;
  }
  /** The same error about the thing at `where`. @param {string} where */
  at(where) {
    return new TapmlError({ ...errorFields(this), where });
  }
}

/** What a message between threads has of an error. @param {any} error */
export function errorFields(error) {
  if (error instanceof TapmlError) {
    const { kind, summary, where, expected, found, hint } = error;
    return { kind, message: summary, where, expected, found, hint };
  }
  return { kind: 'internal', message: String(error?.message ?? error) };
}
