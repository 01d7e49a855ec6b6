// @ts-check
// What scripts of pages check: each check has a name, and fails with what was found.

/** @type {string[]} */
export const failures = [];

/** @param {string} name @param {boolean} holds @param {any} found */
export function check(name, holds, found) {
  if (!holds) failures.push(`${name}: ${JSON.stringify(found)}`);
}

/** The error of `action` names all parts. @param {string} name @param {() => Promise<any>} action
 * @param {string[]} parts */
export async function refuses(name, action, parts) {
  try {
    await action();
    failures.push(`${name}: no error`);
  } catch (/** @type {any} */ error) {
    for (const part of parts) check(`${name}, "${part}"`, error.message.includes(part), error.message);
  }
}
