// A user of the chat example's page, in a browser of their own.

/**
 * Opens the page, says a name and waits until the page is in the room. `context` are options of the browser's context,
 * `before` is called with the page before it loads. `complaints` is what went wrong in it.
 */
export async function openChat(t, browser, url, name, room, { context: options, before } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  t.teardown(() => context.close());
  const page = await context.newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A browser reports each connection that fails; here that is expected while a server is away.
    if (message.type() === 'error' && !/WebSocket connection/.test(message.text())) complaints.push(message.text());
  });
  await before?.(page);
  await page.goto(`${url}/#${room}`);
  await page.getByRole('textbox', { name: 'Your name' }).fill(name);
  await page.getByRole('button', { name: 'Enter the room' }).click();
  await page.locator('[data-joined="true"]').waitFor();
  await page.locator('#members li').first().waitFor({ state: 'attached' });
  return {
    page,
    complaints,
    say: async (text) => {
      await page.getByRole('textbox', { name: 'Message' }).fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    },
    see: (text) => page.locator('#log .body').getByText(text, { exact: true }).waitFor(),
    notice: (text) => page.locator('.notice').filter({ hasText: text }).first().waitFor(),
    bodies: () => page.locator('#log .body').allTextContents(),
    notices: () => page.locator('.notice > span').evaluateAll((all) => all.map(({ firstChild }) => firstChild.data)),
    waiting: () => page.locator('#unsent .body').allTextContents(),
    members: () => page.locator('#members bdi').allTextContents(),
  };
}
