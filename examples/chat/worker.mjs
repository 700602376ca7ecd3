// @ts-check
/**
 * The chat's worker. Pages subscribe and publish by themselves, with `millrace/client`; the worker decides whether they
 * may, and under which name. Rooms are channels that keep their messages and know their members, so the worker has
 * neither a history nor a list of members. It acts for consoles and `nc`, see terminals.mjs.
 *
 * A connection's whole state is its token: when a worker dies, `handleClose` runs on another one with the same token.
 */
import { readFileSync } from 'node:fs';
import { CallError, close, send, setPresence } from 'millrace';
import { FastReply, ResponseDraft } from 'millrace/sockety';
import { GREETING, readLine } from './lines.mjs';
import { become, depart } from './membership.mjs';
import { channelOf, lineOf, REQUEST_BYTES, readBody, readJson, readName, readRequest, roomOf } from './protocol.mjs';
import { Terminal } from './terminals.mjs';

/** @typedef {import('./membership.mjs').Membership} Membership the token */

/**
 * A client of raw TCP is a terminal.
 * @param {number} socketId
 * @param {string} _ip
 * @param {Record<string, string>} _headers
 * @param {import('millrace').OpenRequest} request
 */
export function handleOpen(socketId, _ip, _headers, { transport }) {
  if (transport !== 'tcp') return true;
  send(socketId, GREETING);
  return { token: { lines: true } };
}

/** The page's only script that is not in `public`. @param {Request} request */
export function fetch(request) {
  if (new URL(request.url).pathname !== '/client.mjs') return new Response('not found', { status: 404 });
  return new Response(client, { headers: { 'Content-Type': 'text/javascript; charset=utf-8' } });
}

// --- Pages

/**
 * A page wants to join a room, or is back after a lost connection. What it says of itself is checked; the others see
 * what is returned.
 * @param {import('millrace').Name} channel
 * @param {number} socketId
 * @param {Membership | undefined} before
 * @param {{ info: any }} request
 */
export function handleSubscribe(channel, socketId, before, { info }) {
  const room = roomOf(channel);
  const name = readName(info?.name);
  const tab = typeof info?.tab === 'string' && /^\w{8,40}$/.test(info.tab) ? info.tab : `socket${socketId}`;
  return become(socketId, before, { name, room, tab }) && { member: { name, tab } };
}

/**
 * @param {import('millrace').Name} _channel
 * @param {string | Uint8Array} data
 * @param {number} _socketId
 * @param {Membership} [membership]
 */
export function handlePublish(_channel, data, _socketId, membership) {
  if (membership?.name === undefined) throw new CallError('not-joined', 'Join a room first.');
  return { data: lineOf(membership.name, readBody(readJson(data))) };
}

/**
 * `typing` is the only method: the member says so in the list of members, which tells the others.
 * @param {string} method
 * @param {string | Uint8Array} params
 * @param {number} socketId
 * @param {Membership} [membership]
 */
export async function handleCall(method, params, socketId, membership) {
  if (method !== 'typing') throw new CallError('not_found');
  const { room, name, tab } = membership ?? {};
  const typing = readJson(params) === true;
  if (room === undefined) return;
  await setPresence(socketId, channelOf(room), { name, tab, typing });
}

/**
 * @param {number} socketId already gone: nothing can be sent to it
 * @param {Membership} [membership]
 */
export function handleClose(socketId, membership) {
  terminals.delete(socketId);
  depart(membership);
}

// --- Terminals

/**
 * A line of `nc`.
 * @param {string} line
 * @param {number} socketId
 * @param {Membership} [membership]
 */
export async function handleTextMessage(line, socketId, membership) {
  if (!membership?.lines) {
    close(socketId, 1002, 'the subprotocol must be millrace.v1');
    return;
  }
  const terminal = terminalOf(socketId, membership);
  try {
    await terminal.inTurn(async () => terminal.perform(readLine(line, terminal.membership)));
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    send(socketId, `! ${error.reason}`);
  }
}

/**
 * @param {Uint8Array} _data
 * @param {number} socketId
 */
export function handleBinaryMessage(_data, socketId) {
  send(socketId, '! Send text.');
}

/**
 * A console's request: a message with the action `chat` and a request as JSON. It is answered with `FastReply.Accept`, or
 * with the reason why it was refused. What is said in the room arrives as publications.
 *
 * The next message of a connection may arrive before the data of the previous one is complete, so they take turns.
 * @param {import('millrace/sockety').Message} message
 * @param {number} socketId
 * @param {Membership} [membership]
 */
export async function handleSocketyMessage(message, socketId, membership) {
  const { action, dataSize } = message;
  if (action !== 'chat') return message.fastReply(FastReply.NotImplemented);
  const terminal = terminalOf(socketId, membership);
  try {
    if (dataSize > REQUEST_BYTES) throw new CallError('too-long', `Send at most ${REQUEST_BYTES} bytes.`);
    const data = message.dataBuffer();
    // A message whose data is incomplete is not a request; until its turn, nothing waits for it.
    data.catch(() => {});
    await terminal.inTurn(async () => terminal.perform(readRequest((await data).toString())));
    message.accept();
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    message.respond(refusal({ data: JSON.stringify({ code: error.code, message: error.reason }) }));
  }
}

/**
 * @param {number} socketId
 * @param {Membership | undefined} membership
 */
function terminalOf(socketId, membership) {
  const terminal = terminals.get(socketId) ?? new Terminal(socketId, membership);
  terminals.set(socketId, terminal);
  return terminal;
}

/** The terminals of this worker. A connection never changes its worker. @type {Map<number, Terminal>} */
const terminals = new Map();
const refusal = new ResponseDraft().data();
const client = readFileSync(new URL(import.meta.resolve('millrace/client')));
