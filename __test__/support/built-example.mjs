// Examples that are built before they run: a copy of the folder is, so that nothing is left in the repository's.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { ROOT } from './markdown.mjs';

/** What a build or an installation in the folder has made stays out of a copy. */
const MADE = ['dist', '.next', 'node_modules'];

/**
 * A copy of an example, inside the repository, so that `millrace` and the packages are found as in the original. Whoever asks
 * for it removes it.
 */
export async function copyOfExample(name) {
  const target = path.join(ROOT, 'target');
  await mkdir(target, { recursive: true });
  const folder = await mkdtemp(path.join(target, `example-${name}-`));
  const filter = (source) => !MADE.includes(path.basename(source));
  await cp(path.join(ROOT, 'examples', name), folder, { recursive: true, filter });
  return folder;
}

/** The same, built as `npx vite build` does it. */
export async function builtByVite(name) {
  const folder = await copyOfExample(name);
  const vite = path.join(ROOT, 'node_modules/vite/bin/vite.js');
  await promisify(execFile)(process.execPath, [vite, 'build', folder], { timeout: 60_000 });
  return folder;
}

/** A page that is open in a context of its own: `{page, sockets, frames, complaints}`, the frames as it got them. */
export async function visit(t, browser, url) {
  const context = await browser.newContext();
  t.teardown(() => context.close());
  const page = await context.newPage();
  const [sockets, frames, complaints] = [[], [], []];
  page.on('websocket', (socket) => {
    sockets.push(socket);
    socket.on('framereceived', ({ payload }) => frames.push(payload));
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A browser reports each connection that fails, which is expected while a server is away.
    if (message.type() === 'error' && !/WebSocket connection/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, sockets, frames, complaints };
}

/** Waits until a page that has a status shows this one. */
export function shows(page, status) {
  return page.getByRole('status').getByText(status, { exact: true }).waitFor();
}

/** Says something in a page that has a form for it. */
export async function say(page, text) {
  await page.getByRole('textbox', { name: 'Text' }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

/** The messages that a page shows. */
export function messagesOf(page) {
  return page.getByRole('list', { name: 'Messages' }).getByRole('listitem');
}
