// @ts-check
/** An unchanged Express app with sockets: a posted note reaches all open pages. */
import express from 'express';
import { getKey, send, setKeyIf, subscribe } from 'millrace';
import { nodeHandler } from 'millrace/node';

const app = express();
app.use(express.json({ limit: '10kb' }));
app.get('/', (_req, res) => void res.type('html').send(PAGE));
app.get('/api/notes', (_req, res) => void res.json(notes()));
app.post('/api/notes', (req, res) => {
  const text = String(req.body?.text ?? '').trim();
  if (text === '') return void res.status(400).json({ error: 'a note needs a text' });
  add(text);
  // the gateway sends it to the sockets of all workers
  send('notes', text);
  return void res.status(201).json({ text });
});

export default nodeHandler(app);

/** @param {number} socketId */
export function handleOpen(socketId) {
  subscribe(socketId, 'notes');
}

/** The gateway stores the notes of all workers. */
function notes() {
  return /** @type {string[]} */ (JSON.parse(getKey('notes')?.toString() ?? '[]'));
}

/** @param {string} text */
function add(text) {
  for (;;) {
    const before = getKey('notes');
    const list = /** @type {string[]} */ (JSON.parse(before?.toString() ?? '[]'));
    if (setKeyIf('notes', JSON.stringify([...list, text].slice(-100)), before)) return;
  }
}

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Notes</title>
<form id="form"><input id="text" aria-label="Note" required> <button>Add</button></form>
<ul id="list"></ul>
<script type="module">
  const list = document.getElementById('list');
  const show = (text) => list.append(Object.assign(document.createElement('li'), { textContent: text }));
  for (const text of await (await fetch('/api/notes')).json()) show(text);
  new WebSocket(location.href.replace(/^http/, 'ws')).onmessage = ({ data }) => show(data);
  document.getElementById('form').onsubmit = (event) => {
    event.preventDefault();
    const headers = { 'content-type': 'application/json' };
    const input = document.getElementById('text');
    fetch('/api/notes', { method: 'POST', headers, body: JSON.stringify({ text: input.value }) });
    input.value = '';
  };
</script>
</html>
`;
