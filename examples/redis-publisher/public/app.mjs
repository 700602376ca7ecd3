// Shows the sensors' figures, whichever program published them.
const list = document.querySelector('#sensors');
const state = document.querySelector('#state');
const rows = new Map();

function connect() {
  const socket = new WebSocket(`ws://${location.host}`);
  socket.onopen = () => {
    state.textContent = 'Waiting for figures';
  };
  socket.onmessage = ({ data }) => {
    const { sensor, litres, turn } = JSON.parse(data);
    const { meter, figure } = rows.get(sensor) ?? addRow(sensor);
    meter.value = litres;
    figure.textContent = `${litres.toFixed(1)} l/s`;
    state.textContent = `Turn ${turn}`;
  };
  socket.onclose = ({ reason }) => {
    state.textContent = 'Not connected, trying again';
    // a server that stops says when to come back
    const [, asked] = /^retry=(\d{1,9})$/.exec(reason) ?? [];
    setTimeout(connect, Number(asked ?? 1000));
  };
}

function addRow(sensor) {
  const [name, bar, figure] = ['dt', 'dd', 'dd'].map((tag) => list.appendChild(document.createElement(tag)));
  name.textContent = sensor;
  const meter = bar.appendChild(document.createElement('meter'));
  meter.max = 150;
  const row = { meter, figure };
  rows.set(sensor, row);
  return row;
}

connect();
