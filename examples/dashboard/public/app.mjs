// Watches all sources over one connection. The page retries lost sources, and the client retries the connection.
import { connect } from '/splice-client.mjs';

const SHOWN = 40;
const state = document.querySelector('#state');
const template = document.querySelector('#source');
const { port, sources } = await (await fetch('/dashboard.json')).json();

const mux = connect(`ws://${location.hostname}:${port}`, { reconnect: { min: 500, max: 5000 } });
mux.addEventListener('open', () => {
  state.textContent = `${sources.length} sources, one connection`;
});
mux.addEventListener('close', () => {
  state.textContent = 'The connection was lost, trying again';
});

const restarts = mux.open('millrace:/restart');

for (const { name, unit } of sources) watch(name, addTile(name, unit));

function watch(name, tile) {
  const socket = mux.open(`ws://sources/${name}`);
  let figures = [];
  socket.onopen = () => {
    figures = [];
    tile.show('live', 'Live');
  };
  socket.onmessage = ({ data }) => {
    figures = [...figures, ...JSON.parse(data)].slice(-SHOWN);
    tile.draw(figures);
  };
  // the connection was lost: the client reopens this socket
  socket.onreconnecting = () => tile.show('away', 'Connecting …');
  // the source was lost: the page must reopen the socket
  socket.onclose = ({ code, reason }) => {
    const why = code === 1006 ? 'Not reached' : `Closed with ${code} ${reason}`.trim();
    tile.show('away', `${why}, trying again`);
    setTimeout(watch, 500 + 500 * Math.random(), name, tile);
  };
}

function addTile(name, unit) {
  const tile = template.content.cloneNode(true).querySelector('section');
  const [figure, line, status] = ['output', 'polyline', '.status'].map((part) => tile.querySelector(part));
  tile.dataset.name = name;
  tile.querySelector('h2').textContent = name;
  tile.querySelector('.unit').textContent = unit;
  tile.querySelector('svg').setAttribute('aria-label', `The last figures of ${name}`);
  const button = tile.querySelector('button');
  button.setAttribute('aria-label', `Restart ${name}`);
  button.onclick = () => restarts.readyState === restarts.OPEN && restarts.send(name);
  document.querySelector('#sources').append(tile);
  return {
    show(now, text) {
      tile.dataset.state = now;
      status.textContent = text;
    },
    draw(figures) {
      const [least, most] = [Math.min(...figures), Math.max(...figures)];
      const height = (value) => 28 - (26 * (value - least)) / (most - least || 1);
      const points = figures.map((value, at) => `${(100 * at) / (SHOWN - 1)},${height(value).toFixed(2)}`);
      line.setAttribute('points', points.join(' '));
      figure.textContent = String(figures.at(-1));
    },
  };
}
