// @ts-check
/** The page: says which keys are held, and draws the newest snapshot. */
import { decodeWelcome, encodeInput, KEYS, playersOf, tickOf, WELCOME } from './protocol.mjs';

const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById('field'));
const field = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
const status = /** @type {HTMLElement} */ (document.getElementById('status'));
/** @type {Record<string, number>} */
const BITS = { ArrowLeft: KEYS.left, ArrowRight: KEYS.right, ArrowUp: KEYS.up, ArrowDown: KEYS.down };

/** @type {DataView | undefined} */
let newest;
let me = -1;
let keys = 0;
let sequence = 0;

const socket = new WebSocket(location.href.replace(/^http/, 'ws'));
socket.binaryType = 'arraybuffer';
socket.onmessage = (/** @type {MessageEvent<ArrayBuffer>} */ { data }) => {
  const view = new DataView(data);
  if (view.getUint8(0) !== WELCOME) newest = view;
  else me = decodeWelcome(view).id;
};
socket.onclose = () => {
  newest = undefined;
  status.textContent = 'The game is over: load the page to play again.';
};

/** @param {KeyboardEvent} event @param {boolean} held */
function press(event, held) {
  const bit = BITS[event.key];
  if (bit === undefined) return;
  event.preventDefault();
  hold(held ? keys | bit : keys & ~bit);
}

/** @param {number} next the keys that are held now */
function hold(next) {
  if (next === keys || socket.readyState !== WebSocket.OPEN) return;
  keys = next;
  sequence = (sequence + 1) & 255;
  socket.send(encodeInput({ sequence, keys }));
}

function draw() {
  requestAnimationFrame(draw);
  if (newest === undefined) return;
  const players = playersOf(newest);
  field.clearRect(0, 0, canvas.width, canvas.height);
  for (const { id, x, y } of players) {
    field.fillStyle = id === me ? '#ffd166' : '#4cc9f0';
    field.fillRect(x - 6, y - 6, 12, 12);
  }
  const own = players.find(({ id }) => id === me);
  const place = own === undefined ? '' : `, you are at ${Math.round(own.x)}, ${Math.round(own.y)}`;
  status.textContent = `Tick ${tickOf(newest)}, players: ${players.length}${place}`;
}

addEventListener('keydown', (event) => press(event, true));
addEventListener('keyup', (event) => press(event, false));
// the page gets no event for keys that are released elsewhere
addEventListener('blur', () => hold(0));
draw();
