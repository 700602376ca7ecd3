// @ts-check
/**
 * Players for the game: `node examples/game/bots.mjs`, while its server runs.
 *
 * --url ws://127.0.0.1:3006   the server
 * --players 500               how many
 * --inputs 10                 inputs per second of each
 * --seconds 30                for how long
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { encodeInput, SNAPSHOT } from './public/protocol.mjs';

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'ws://127.0.0.1:3006' },
    players: { type: 'string', default: '500' },
    inputs: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '30' },
  },
});
const players = Number(values.players);
const seconds = Number(values.seconds);

let snapshots = 0;
/** @type {WebSocket[]} */
const bots = [];
for (let index = 0; index < players; index += 1) {
  const bot = new WebSocket(values.url, { perMessageDeflate: false, skipUTF8Validation: true });
  bot.on('message', (/** @type {Buffer} */ data) => {
    if (data[0] === SNAPSHOT) snapshots += 1;
  });
  bots.push(bot);
  await once(bot, 'open');
}

let sequence = 0;
const playing = setInterval(() => {
  sequence = (sequence + 1) & 255;
  for (const bot of bots) bot.send(encodeInput({ sequence, keys: Math.floor(Math.random() * 16) }));
}, 1000 / Number(values.inputs));
snapshots = 0;
setTimeout(() => {
  clearInterval(playing);
  console.log(`${players} players got ${Math.round(snapshots / players / seconds)} snapshots per second each`);
  for (const bot of bots) bot.close();
}, seconds * 1000);
