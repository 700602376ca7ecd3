// Examples that are built before they run. A copy of the folder is built, so that the original does not change.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { ROOT } from './markdown.mjs';

/** Files of an earlier build or installation, which are not copied. */
const MADE = ['dist', '.next', 'node_modules'];

/**
 * A copy of an example inside the repository, so that imports of packages resolve as in the original.
 * The caller removes it.
 */
export async function copyOfExample(name) {
  const target = path.join(ROOT, 'target');
  await mkdir(target, { recursive: true });
  const folder = await mkdtemp(path.join(target, `example-${name}-`));
  const filter = (source) => !MADE.includes(path.basename(source));
  await cp(path.join(ROOT, 'examples', name), folder, { recursive: true, filter });
  return folder;
}

/** The same, built as by `npx vite build`. */
export async function builtByVite(name) {
  const folder = await copyOfExample(name);
  const vite = path.join(ROOT, 'node_modules/vite/bin/vite.js');
  await promisify(execFile)(process.execPath, [vite, 'build', folder], { timeout: 60_000 });
  return folder;
}

/** An open page in its own context: `{page, sockets, frames, complaints}`, the frames as they were received. */
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
    // A browser reports each failed connection, which is expected while a server is down.
    if (message.type() === 'error' && !/WebSocket connection/.test(message.text())) complaints.push(message.text());
  });
  await page.goto(url);
  return { page, sockets, frames, complaints };
}

/** Waits until the page shows this status. */
export function shows(page, status) {
  return page.getByRole('status').getByText(status, { exact: true }).waitFor();
}

/** Sends a message with the form of a page. */
export async function say(page, text) {
  await page.getByRole('textbox', { name: 'Text' }).fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

/** Says something, and resolves when the page shows it: then it is subscribed. */
export async function sayAndHear(page, text = 'subscribed') {
  await say(page, text);
  await messagesOf(page).getByText(text).waitFor();
}

/** The messages on a page. */
export function messagesOf(page) {
  return page.getByRole('list', { name: 'Messages' }).getByRole('listitem');
}
