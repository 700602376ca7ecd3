// @ts-check
/** The notice board's page. Its script never sees the session: the browser sends the cookie by itself. */

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {WebSocket | undefined} */
let socket;

/** Asks which user is signed in, and connects if there is one. */
async function begin() {
  const answer = await fetch('/me');
  if (!answer.ok) return show();
  const { user, roles } = await answer.json();
  socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/socket`);
  socket.addEventListener('open', () => show(`${user} · ${roles.join(', ')}`));
  socket.addEventListener('message', ({ data }) => receive(JSON.parse(data)));
  socket.addEventListener('close', ({ code, reason }) => {
    show();
    part('problem').textContent = reason || `connection lost (${code})`;
  });
}

/** @param {{ error?: string, user?: string, notice?: string }} message */
function receive({ error = '', user = '', notice }) {
  part('problem').textContent = error;
  if (notice === undefined) return;
  const item = document.createElement('li');
  const by = document.createElement('b');
  by.textContent = user;
  item.append(by, ' ', notice);
  part('board').prepend(item);
}

/** @param {string} [who] without it nobody is signed in */
function show(who) {
  part('who').textContent = who ?? 'Not signed in';
  part('sign-in').hidden = who !== undefined;
  part('signed-in').hidden = who === undefined;
}

part('sign-in').addEventListener('submit', async (event) => {
  event.preventDefault();
  const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
  const answer = await fetch('/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(Object.fromEntries(fields)),
  });
  part('problem').textContent = answer.ok ? '' : (await answer.json()).error;
  if (answer.ok) await begin();
});
part('sign-out').addEventListener('click', () => fetch('/sign-out', { method: 'POST' }));
part('post').addEventListener('submit', (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  socket?.send(String(new FormData(form).get('notice')));
  form.reset();
});

await begin();
