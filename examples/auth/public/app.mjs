// @ts-check
/** The notice board's page: shows both ways of logging in. */

/** @type {WebSocket} */
let socket;

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** The browser sends the cookie without a script: with a valid one, handleOpen knows the user at once. */
function connect() {
  socket?.removeEventListener('close', lost);
  socket?.close();
  socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/socket`);
  socket.addEventListener('open', () => show('guest', 'Connected as a guest'));
  socket.addEventListener('message', ({ data }) => receive(JSON.parse(data)));
  socket.addEventListener('close', lost);
}

/** @param {CloseEvent} event */
function lost({ code, reason }) {
  show('away', `Not connected (${reason || code})`);
}

/** @param {any} message */
function receive(message) {
  part('problem').textContent = message.type === 'error' ? (PROBLEMS[message.code] ?? message.code) : '';
  if (message.type === 'you') show('known', `${message.user} · ${message.roles.join(', ')}`);
  if (message.type === 'bye') show('guest', 'Connected as a guest');
  if (message.type === 'posted') {
    const item = document.createElement('li');
    const by = document.createElement('b');
    by.textContent = message.user;
    item.append(by, ' ', message.text);
    part('board').prepend(item);
  }
}

/** @param {string} state @param {string} text */
function show(state, text) {
  part('who').dataset.state = state;
  part('who').textContent = text;
}

part('login').addEventListener('submit', async (event) => {
  event.preventDefault();
  const fields = new FormData(/** @type {HTMLFormElement} */ (event.target));
  const how = /** @type {HTMLButtonElement | null} */ (event.submitter)?.value;
  const answer = await fetch('login', { method: 'POST', body: JSON.stringify(Object.fromEntries(fields)) });
  const { token, error } = await answer.json();
  part('problem').textContent = error ?? '';
  if (token === undefined) return;
  if (how === 'cookie' || socket.readyState !== WebSocket.OPEN) connect();
  else socket.send(JSON.stringify({ type: 'login', token }));
});
part('logout').addEventListener('click', async () => {
  await fetch('logout', { method: 'POST' });
  socket.send(JSON.stringify({ type: 'logout' }));
});
part('post').addEventListener('submit', (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  socket.send(JSON.stringify({ type: 'post', text: new FormData(form).get('text') }));
  form.reset();
});

/** @type {Record<string, string>} */
const PROBLEMS = {
  'bad-token': 'The token is not valid.',
  'not-logged-in': 'Log in first.',
  forbidden: 'Only writers may post.',
  'bad-request': 'The server did not understand that.',
};

connect();
