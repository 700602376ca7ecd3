// @ts-check
/** A Hono app as the default export, and socket handlers beside it. Messages to either reach the sockets of a room. */
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { validator } from 'hono/validator';
import { send, subscribe } from 'millrace';

const app = new Hono().basePath('/rooms/:room');

const message = validator('json', (body, c) => {
  const { text } = Object(body);
  if (typeof text === 'string' && text.trim() !== '') return { text: text.trim() };
  return c.json({ error: 'text must be a non-empty string' }, 400);
});

app.post('/messages', bodyLimit({ maxSize: 4096 }), message, (c) => {
  const heard = say(c.req.param('room'), c.req.valid('json').text);
  return c.json({ heard }, 201);
});

export default app;

/**
 * @param {number} socketId
 * @param {string} _ip
 * @param {Record<string, string>} _headers
 * @param {import('millrace').OpenRequest} request
 */
export function handleOpen(socketId, _ip, _headers, { path }) {
  const room = /^\/rooms\/([\w-]+)$/.exec(path)?.[1];
  if (room === undefined) return { status: 404 };
  subscribe(socketId, channelOf(room));
  return { token: { room } };
}

/**
 * @param {string} text
 * @param {number} _socketId
 * @param {{ room: string }} token what `handleOpen` attached
 */
export function handleTextMessage(text, _socketId, { room }) {
  say(room, text);
}

/**
 * @param {string} room
 * @param {string} text
 * @returns {number} how many sockets were told
 */
function say(room, text) {
  return send(channelOf(room), JSON.stringify({ room, text }));
}

/** @param {string} room */
function channelOf(room) {
  return `room ${room}`;
}
