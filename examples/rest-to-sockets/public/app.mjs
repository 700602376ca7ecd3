// Shows all orders and their changes.
const list = document.querySelector('#orders');
const state = document.querySelector('#state');
const lines = new Map();

function connect() {
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/orders`);
  socket.onopen = () => {
    state.textContent = 'Connected';
  };
  socket.onmessage = ({ data }) => show(JSON.parse(data));
  socket.onclose = ({ reason }) => {
    state.textContent = 'Not connected, trying again';
    // a server that stops says when to come back
    const [, asked] = /^retry=(\d{1,9})$/.exec(reason) ?? [];
    setTimeout(connect, Number(asked ?? 500 + Math.random() * 1000));
  };
}

function show({ id, item, status }) {
  const line = lines.get(id) ?? list.appendChild(document.createElement('li'));
  lines.set(id, line);
  line.textContent = `${id}: ${item}, ${status}`;
}

connect();
