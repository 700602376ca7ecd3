// @ts-check
/** The pages, as text. Everything that comes from a request is escaped. */
import { METHODS, VERSIONS } from './head.mjs';

export const ROUTES = ['/', '/about', '/status', '/api/echo'];

/** @type {Readonly<Record<number, string>>} */
export const REASONS = {
  200: 'OK',
  201: 'Created',
  206: 'Partial Content',
  304: 'Not Modified',
  400: 'Bad Request',
  404: 'Not Found',
  408: 'Request Timeout',
  413: 'Content Too Large',
  414: 'URI Too Long',
  416: 'Range Not Satisfiable',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
};

/** @type {Readonly<Record<number, string>>} */
const HINTS = {
  400: 'Look at the first line, at each header, and at the escapes and the length of what was sent.',
  404: 'Look at the address. These pages are there:',
  501: 'These methods and versions are supported:',
};

/**
 * @param {string} title
 * @param {string} body HTML
 */
export function page(title, body) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${escaped(title)}</title>
<link rel="stylesheet" href="/style.css">
<h1>${escaped(title)}</h1>
${body}
</html>
`;
}

/**
 * @param {number} status
 * @param {string} message what is wrong, or the address that does not exist
 */
export function errorPage(status, message) {
  return page(`${status} ${REASONS[status]}`, `<p>${escaped(message)}</p>${hintsFor(status)}`);
}

/** @param {number} status */
function hintsFor(status) {
  const hint = HINTS[status] === undefined ? '' : `\n<p>${escaped(HINTS[status])}</p>`;
  if (status === 404) return hint + list(ROUTES);
  return status === 501 ? hint + list(METHODS) + list(VERSIONS.map((version) => `HTTP/${version}`)) : hint;
}

/** @param {readonly string[]} items */
export function list(items) {
  return `\n<ul>${items.map((item) => `<li><code>${escaped(item)}</code></li>`).join('')}</ul>`;
}

/** @param {string} text */
export function escaped(text) {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
