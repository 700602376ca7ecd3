// A client with one channel on a scripted socket, and what its subscriptions are told, noted.
import { open, settled } from './scripted-socket.mjs';

const NAMES = [
  'onMessage',
  'onJoin',
  'onLeave',
  'onUpdate',
  'onCount',
  'onGap',
  'onRecovered',
  'onSubscribed',
  'onError',
];

/** All callbacks of a subscription, noted in `told`: messages as their data, others as `[name, …]`. */
export function noting(options = {}) {
  const told = [];
  const callbacks = NAMES.map((name) => [
    name,
    (...given) => {
      if (name === 'onMessage') told.push(given[0].data);
      else told.push(name === 'onSubscribed' ? [name] : [name, ...given]);
    },
  ]);
  return { told, options: { ...Object.fromEntries(callbacks), ...options } };
}

/** A client whose connection is open, and a noted subscription of `a` that the server has not answered. */
export async function asked(t, options) {
  const all = await open(t);
  const noted = noting(options);
  const room = all.client.subscribe('a', noted.options);
  const [ws] = all.made;
  const say = (o, more) => ws.say({ c: 'a', o, ts: 1000 + o, ...more }, `${o}`);
  return { ...all, ws, room, told: noted.told, say };
}

/** Loses the link; resolves with the next one. */
export async function lose({ clock, made }) {
  made.at(-1).end();
  clock.pass(30_000);
  await settled();
  made.at(-1).hi();
  return made.at(-1);
}

export const at = (offset, epoch = 'e') => ({ epoch, offset });
export const subs = (ws) => ws.headers.filter(({ t }) => t === 'sub');
