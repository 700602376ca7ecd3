// @ts-check
/**
 * The chat's page: connects the connection, the messages, the members and the user's input. Each of the first three has
 * its own file.
 */
import { Connection } from './connection.mjs';
import { Members } from './members.mjs';
import { addressOf, recall, remember, roomInAddress, roomName } from './names.mjs';
import { Log, make, paintAvatar, Timeline } from './timeline.mjs';

let alias = recall('localStorage', 'chat.alias');
let room = roomInAddress();
/** My socket id while I am in the room. @type {number | undefined} */
let me;
/** My socket id in the connection before this one. @type {number | undefined} */
let formerMe;
/** @type {Map<string, Log>} the rooms of this visit */
const rooms = new Map();
/** What I sent and have not seen come back. @type {string[]} */
let unconfirmed = [];
/** Ids of my own messages, kept over a reload. */
const mine = new Set(JSON.parse(recall('sessionStorage', 'chat.mine') || '[]'));
let unread = 0;
let typingSentAt = 0;

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const app = part('app');
const menu = part('menu');
const body = /** @type {HTMLTextAreaElement} */ (part('body'));
const welcome = /** @type {HTMLDialogElement} */ (part('welcome'));
const aliasField = /** @type {HTMLInputElement} */ (part('alias'));
const roomField = /** @type {HTMLInputElement} */ (part('room'));
const gotoField = /** @type {HTMLInputElement} */ (part('goto-room'));
const sendButton = /** @type {HTMLButtonElement} */ (part('send'));
const finePointer = matchMedia('(pointer: fine)');

const timeline = new Timeline({
  scroll: part('scroll'),
  list: part('log'),
  empty: part('empty'),
  newer: part('newer'),
});
const members = new Members(
  { list: part('members'), count: part('member-count'), summary: part('who'), typing: part('typing') },
  ({ type, alias: name, timestamp }) => notice(`${name} ${type === 'user-joined' ? 'joined' : 'left'}`, timestamp),
);
const connection = new Connection(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/socket`, {
  open: join,
  message: receive,
  state: showState,
});

// --- Messages from the server

/** @param {any} value */
function receive(value) {
  if (value.type === 'error') refused(value);
  else if (value.type === 'chat-message') received(value);
  // All other events belong to the current room; I may have left the room of this one.
  else if (value.room !== room) return;
  else if (value.type === 'joined') joined(value);
  else if (value.type === 'user-joined' || value.type === 'user-left') members.move(value);
  else if (value.type === 'typing') members.types(value.from, value.alias);
}

/** @param {any} value */
function joined(value) {
  me = value.id;
  const log = logOf(room);
  for (const message of value.history) log.add(itemOf(message, mine.has(message.id) || isUnconfirmed(message)));
  timeline.show(log);
  notice(`You joined as ${value.alias}`, value.timestamp);
  members.fill(value);
  bringBackUnsent();
  formerMe = me;
  connection.settled();
  showReady();
}

/** @param {any} value */
function received(value) {
  const own = value.from === me;
  if (own) {
    unconfirmed = unconfirmed.filter((text) => text !== value.body);
    keepMine(value.id);
  }
  members.stopsTyping(value.from);
  add(value.room, itemOf(value, own));
  if (document.hidden && !own) {
    unread += 1;
    showTitle();
  }
}

/** @param {{ code: string, message: string }} problem */
function refused({ code, message }) {
  if (code === 'bad-alias') askName(message);
  else if (code === 'bad-room' || code === 'room-full') askName(message, roomField);
  else part('problem').textContent = message;
}

// --- What I do

function join() {
  me = undefined;
  members.expect();
  showReady();
  if (alias !== '') connection.send({ type: 'join', alias, room });
}

/** @param {string} name */
function enterRoom(name) {
  room = name;
  unread = 0;
  timeline.show(logOf(room));
  members.clear();
  showRooms();
  showTitle();
  join();
}

function say() {
  const text = body.value.trim();
  if (text === '' || me === undefined || !connection.send({ type: 'message', body: text })) return;
  unconfirmed.push(text);
  typingSentAt = 0;
  body.value = '';
  part('problem').textContent = '';
  fitComposer();
  body.focus();
}

/** A message may be lost with its connection: then its text goes back into the field. */
function bringBackUnsent() {
  if (unconfirmed.length === 0) return;
  body.value = [...unconfirmed, body.value].join('\n').trim();
  unconfirmed = [];
  fitComposer();
}

/** @param {{ id: number, from: number, body: string }} message of the history */
function isUnconfirmed(message) {
  const at = message.from === formerMe ? unconfirmed.indexOf(message.body) : -1;
  if (at < 0) return false;
  unconfirmed.splice(at, 1);
  keepMine(message.id);
  return true;
}

/** @param {number} id */
function keepMine(id) {
  mine.add(id);
  remember('sessionStorage', 'chat.mine', JSON.stringify([...mine].slice(-MINE_KEPT)));
}

// --- The rooms' messages

/** @param {string} name */
function logOf(name) {
  const log = rooms.get(name) ?? new Log();
  rooms.set(name, log);
  return log;
}

/**
 * @param {string} name
 * @param {import('./timeline.mjs').Item} item
 */
function add(name, item) {
  const log = logOf(name);
  const place = log.add(item);
  if (name !== room || place === 'known') return;
  if (place === 'last') timeline.append(item);
  else timeline.show(log);
}

/**
 * @param {string} text
 * @param {number} timestamp
 */
function notice(text, timestamp) {
  add(room, { kind: 'notice', order: timestamp, timestamp, text });
}

/**
 * @param {any} message
 * @param {boolean} own
 * @returns {import('./timeline.mjs').Said}
 */
function itemOf({ id, from, alias: by, body: text, timestamp }, own) {
  return { kind: 'message', order: id, id, from, alias: by, body: text, timestamp, own };
}

// --- The rest of the page

function showRooms() {
  const visited = [...rooms].filter(([, { items }]) => items.length > 0).map(([name]) => name);
  const names = new Set([...SUGGESTED_ROOMS, ...visited, room]);
  const entries = [...names].map((name) => {
    const link = make('a', '', name);
    link.href = addressOf(name);
    if (name === room) link.ariaCurrent = 'page';
    const entry = make('li');
    entry.append(link);
    return entry;
  });
  part('rooms').replaceChildren(...entries);
  part('room-title').textContent = `#${room}`;
  body.placeholder = `Message #${room}`;
}

function showName() {
  part('my-name').textContent = alias;
  paintAvatar(part('my-avatar'), alias);
}

function showTitle() {
  document.title = `${unread > 0 ? `(${unread}) ` : ''}#${room} · Millrace chat`;
}

function showReady() {
  const ready = me !== undefined;
  app.dataset.joined = String(ready);
  sendButton.disabled = !ready || body.value.trim() === '';
}

/** @type {ReturnType<typeof setInterval> | undefined} */
let countdown;

/** @param {import('./connection.mjs').State} state */
function showState({ name, retryAt = 0 }) {
  clearInterval(countdown);
  part('state').dataset.state = name;
  part('state-text').textContent = { connecting: 'Connecting…', open: 'Connected', waiting: 'Offline' }[name];
  if (name === 'open') part('banner').hidden = true;
  if (name !== 'waiting') return;
  me = undefined;
  showReady();
  const tell = () => {
    const seconds = Math.max(1, Math.ceil((retryAt - Date.now()) / 1000));
    part('banner-text').textContent = `The connection was lost. Trying again in ${seconds} s.`;
  };
  tell();
  part('banner').hidden = false;
  countdown = setInterval(tell, 500);
}

function fitComposer() {
  body.style.height = 'auto';
  body.style.height = `${Math.min(body.scrollHeight, 160)}px`;
  const left = body.maxLength - body.value.length;
  part('left').hidden = left > 200;
  part('left').textContent = `${left} left`;
  showReady();
}

/** @param {boolean} open */
function showMenu(open) {
  app.dataset.menu = open ? 'open' : 'closed';
  menu.ariaExpanded = String(open);
}

/**
 * @param {string} [problem] with what was entered before
 * @param {HTMLInputElement} [field] where it was
 */
function askName(problem = '', field = aliasField) {
  aliasField.value = alias;
  roomField.value = room;
  part('join-problem').textContent = problem;
  part('stay').hidden = me === undefined;
  part('welcome-title').textContent = alias === '' ? 'Come in' : 'Your name and room';
  if (!welcome.open) welcome.showModal();
  field.select();
}

// --- Input

part('join').addEventListener('submit', (event) => {
  event.preventDefault();
  if (aliasField.value.trim() === '') return;
  alias = aliasField.value.trim();
  remember('localStorage', 'chat.alias', alias);
  showName();
  welcome.close();
  const wanted = roomName(roomField.value) || 'general';
  if (wanted === room) enterRoom(room);
  else location.hash = addressOf(wanted);
  if (finePointer.matches) body.focus();
});
welcome.addEventListener('cancel', (event) => {
  if (me === undefined) event.preventDefault();
});
part('stay').addEventListener('click', () => welcome.close());
part('rename').addEventListener('click', () => {
  showMenu(false);
  askName();
});
part('goto').addEventListener('submit', (event) => {
  event.preventDefault();
  const name = roomName(gotoField.value);
  gotoField.value = '';
  showMenu(false);
  if (name !== '') location.hash = addressOf(name);
});
addEventListener('hashchange', () => {
  showMenu(false);
  if (roomInAddress() !== room) enterRoom(roomInAddress());
});
part('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  say();
});
body.addEventListener('keydown', (event) => {
  // Enter also ends a word that an input method composes; and on a phone it starts a new line.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || !finePointer.matches) return;
  event.preventDefault();
  say();
});
body.addEventListener('input', () => {
  fitComposer();
  if (me === undefined || body.value === '' || Date.now() - typingSentAt < TYPING_EVERY) return;
  typingSentAt = Date.now();
  connection.send({ type: 'typing' });
});
part('retry').addEventListener('click', () => connection.retry());
part('skip').addEventListener('click', () => body.focus());
menu.addEventListener('click', () => showMenu(app.dataset.menu !== 'open'));
part('shade').addEventListener('click', () => showMenu(false));
part('rooms').addEventListener('click', () => showMenu(false));
addEventListener('keydown', (event) => {
  if (event.key === 'Escape') showMenu(false);
});
document.addEventListener('visibilitychange', () => {
  if (document.hidden) return;
  unread = 0;
  showTitle();
});

const SUGGESTED_ROOMS = ['general', 'ideas', 'random'];
const MINE_KEPT = 200;
// Milliseconds between two notes that I am typing.
const TYPING_EVERY = 2000;

timeline.show(logOf(room));
showRooms();
showName();
showTitle();
connection.connect();
if (alias === '') askName();
