// @ts-check
/**
 * The chat's page: connects the rooms, the messages, the members and the user's input. Each of the first three has its
 * own file, and the connection is that of `millrace/client`.
 */
import { createClient } from '/client.mjs';
import { Members } from './members.mjs';
import { addressOf, recall, remember, roomInAddress, roomName } from './names.mjs';
import { Room } from './room.mjs';
import { make, paintAvatar, Timeline } from './timeline.mjs';

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const app = part('app');
const menu = part('menu');
const body = /** @type {HTMLTextAreaElement} */ (part('body'));
const welcome = /** @type {HTMLDialogElement} */ (part('welcome'));
const nameField = /** @type {HTMLInputElement} */ (part('alias'));
const roomField = /** @type {HTMLInputElement} */ (part('room'));
const gotoField = /** @type {HTMLInputElement} */ (part('goto-room'));
const sendButton = /** @type {HTMLButtonElement} */ (part('send'));
const finePointer = matchMedia('(pointer: fine)');

let myName = recall('localStorage', 'chat.alias');
/** Tells this tab from others, also after a lost connection and after a reload. */
const tab = recall('sessionStorage', 'chat.tab') || Math.random().toString(36).slice(2).padEnd(8, '0');
remember('sessionStorage', 'chat.tab', tab);
/** My own messages, kept over a reload. @type {Set<string>} */
const mine = new Set(JSON.parse(recall('sessionStorage', 'chat.mine') || '[]'));
/** @type {Map<string, Room>} the rooms of this visit */
const rooms = new Map();
/** Whether I am in the room now. */
let isIn = false;
let isTyping = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let typingEnds;
let unread = 0;

const client = createClient(`${location.origin.replace(/^http/, 'ws')}/socket`);
const timeline = new Timeline({
  scroll: part('scroll'),
  list: part('log'),
  unsent: part('unsent'),
  empty: part('empty'),
  newer: part('newer'),
});
const members = new Members(
  { list: part('members'), count: part('member-count'), summary: part('who'), typing: part('typing') },
  tab,
  (notice) => room.note(notice),
);
let room = roomOf(roomInAddress());

// --- Rooms

/** @param {string} name @returns {Room} */
function roomOf(name) {
  const known = rooms.get(name);
  if (known) return known;
  /** @type {Room} */
  const made = new Room(
    name,
    client,
    { has: (key) => mine.has(key), add: keepMine },
    {
      added: (item, place) => {
        if (made !== room) return;
        if (place === 'last') timeline.append(item);
        else timeline.show(made.log, { stay: true });
        if (document.hidden && item.kind === 'message' && !item.own) {
          unread += 1;
          showTitle();
        }
      },
      changed: () => made === room && timeline.show(made.log, { stay: true }),
      waits: () => made === room && timeline.wait(made.unsent),
      stands: () => stands(made),
      refused,
      unsent: bringBack,
      here: (list) => members.here(list),
      gone: (list) => members.gone(list),
      counted: (number) => {
        members.counted(number);
        // Told once more when there are few enough again.
        if (number <= MOST_LISTED) listMembers(made);
      },
    },
  );
  rooms.set(name, made);
  return made;
}

/** @param {string} name */
function enterRoom(name) {
  room.leave();
  room = roomOf(name);
  unread = 0;
  timeline.show(room.log);
  timeline.wait(room.unsent);
  members.clear();
  isIn = false;
  isTyping = false;
  if (myName !== '') room.enter({ name: myName, tab });
  showRooms();
  showTitle();
  showReady();
}

/** I am in the room, for the first time or again. @param {Room} where */
function stands(where) {
  isIn = true;
  isTyping = false;
  showReady();
  listMembers(where);
}

/** @param {Room} where */
async function listMembers(where) {
  try {
    const list = await where.members();
    if (where === room) members.fill(list);
  } catch {
    // The connection is lost again; or nobody knows, on several nodes.
  }
}

/** @param {import('./room.mjs').Refusal} refusal */
function refused({ code, reason = 'You may not enter this room.' }) {
  if (code === 'bad-name') askName(reason);
  else askName(reason, roomField);
}

// --- What I do

function say() {
  const text = body.value.trim();
  if (text === '' || !mayWrite()) return;
  room.say(text);
  typing(false);
  body.value = '';
  part('problem').textContent = '';
  fitComposer();
  body.focus();
}

/**
 * A message that was refused, or that may be lost, goes back into the field.
 * @param {import('./room.mjs').Refusal} refusal
 * @param {string} text
 */
function bringBack({ code, reason }, text) {
  part('problem').textContent =
    reason ?? (code === 'closed' ? 'The connection was lost: this may have been sent.' : `That was not sent: ${code}.`);
  body.value = `${text}\n${body.value}`.trim();
  fitComposer();
}

/** Tells the others, if something has changed. @param {boolean} on */
function typing(on) {
  clearTimeout(typingEnds);
  if (on) typingEnds = setTimeout(() => typing(false), TYPING_MS);
  if (on === isTyping || !isIn) return;
  isTyping = on;
  client.call('typing', on, { queue: false }).catch(() => {});
}

/** @param {string} key */
function keepMine(key) {
  mine.add(key);
  remember('sessionStorage', 'chat.mine', JSON.stringify([...mine].slice(-MINE_KEPT)));
}

/** Also without a connection: then it is sent later. */
function mayWrite() {
  return myName !== '' && !welcome.open && client.status !== 'closed';
}

// --- The rest of the page

function showRooms() {
  const visited = [...rooms].filter(([, { log }]) => log.items.length > 0).map(([name]) => name);
  const names = new Set([...SUGGESTED_ROOMS, ...visited, room.name]);
  const entries = [...names].map((name) => {
    const link = make('a', '', name);
    link.href = addressOf(name);
    if (name === room.name) link.ariaCurrent = 'page';
    const entry = make('li');
    entry.append(link);
    return entry;
  });
  part('rooms').replaceChildren(...entries);
  part('room-title').textContent = `#${room.name}`;
  body.placeholder = `Message #${room.name}`;
}

function showName() {
  part('my-name').textContent = myName;
  paintAvatar(part('my-avatar'), myName);
}

function showTitle() {
  document.title = `${unread > 0 ? `(${unread}) ` : ''}#${room.name} · Millrace chat`;
}

function showReady() {
  app.dataset.joined = String(isIn);
  sendButton.disabled = !mayWrite() || body.value.trim() === '';
}

/** @param {import('millrace/client').Status} status */
function showStatus(status) {
  part('state').dataset.state = status;
  part('state-text').textContent = STATUS[status];
  if (status === 'open') part('banner').hidden = true;
  if (status !== 'waiting' && status !== 'closed') return;
  isIn = false;
  showReady();
  part('banner').hidden = false;
  part('banner-text').textContent =
    status === 'waiting'
      ? 'The connection was lost. The page tries again by itself; what you write is sent then.'
      : 'The server has closed the connection. Load the page again.';
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
function askName(problem = '', field = nameField) {
  nameField.value = myName;
  roomField.value = room.name;
  part('join-problem').textContent = problem;
  part('stay').hidden = !isIn;
  part('welcome-title').textContent = myName === '' ? 'Come in' : 'Your name and room';
  if (!welcome.open) welcome.showModal();
  field.select();
  showReady();
}

// --- Input

part('join').addEventListener('submit', (event) => {
  event.preventDefault();
  if (nameField.value.trim() === '') return;
  myName = nameField.value.trim();
  remember('localStorage', 'chat.alias', myName);
  showName();
  welcome.close();
  const wanted = roomName(roomField.value) || 'general';
  if (wanted === room.name) enterRoom(wanted);
  else location.hash = addressOf(wanted);
  if (finePointer.matches) body.focus();
});
welcome.addEventListener('cancel', (event) => {
  if (!isIn) event.preventDefault();
});
welcome.addEventListener('close', showReady);
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
  if (roomInAddress() !== room.name) enterRoom(roomInAddress());
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
  typing(body.value !== '');
});
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
const STATUS = { connecting: 'Connecting…', open: 'Connected', waiting: 'Offline', closed: 'Closed' };
const MINE_KEPT = 200;
/** Up to so many members the server lists them. */
const MOST_LISTED = 1000;
/** So long after the last input a user is typing. */
const TYPING_MS = 3000;

client.onStatus(showStatus);
showName();
enterRoom(room.name);
if (myName === '') askName();
