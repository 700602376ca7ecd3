// One room: shows messages sent by HTTP or by a socket, here or in another window.
const room = '/rooms/lobby';
const state = document.querySelector('#state');
let socket;

function connect() {
  socket = new WebSocket(location.origin.replace(/^http/, 'ws') + room);
  socket.onopen = () => {
    state.textContent = 'Connected';
  };
  socket.onmessage = ({ data }) => {
    const line = document.createElement('li');
    line.textContent = JSON.parse(data).text;
    document.querySelector('#messages').append(line);
  };
  socket.onclose = ({ reason }) => {
    state.textContent = 'Not connected, trying again';
    // a server that stops says when to come back
    const [, asked] = /^retry=(\d{1,9})$/.exec(reason) ?? [];
    setTimeout(connect, Number(asked ?? 500 + Math.random() * 1000));
  };
}

document.querySelector('#form').onsubmit = async (event) => {
  event.preventDefault();
  const form = event.target;
  const text = form.elements.text.value;
  form.reset();
  if (event.submitter?.value === 'socket') socket.send(text);
  else {
    const headers = { 'content-type': 'application/json' };
    await fetch(`${room}/messages`, { method: 'POST', headers, body: JSON.stringify({ text }) });
  }
};

connect();
