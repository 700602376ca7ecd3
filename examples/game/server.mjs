// @ts-check
/**
 * The game example: `node examples/game/server.mjs`, then open the address it prints in two windows and use the arrow keys.
 *
 * --port 3006        where it listens (or PORT); 0 picks a free one
 * --rate 60          ticks per second
 * --players 500      places
 * --report 0         seconds between two lines about players, ticks and CPU; 0: none
 */
import { parseArgs } from 'node:util';
import { close, send, start, subscribe } from 'millrace';
import { Loop } from './loop.mjs';
import { decodeInput, encodeWelcome } from './public/protocol.mjs';
import { HEIGHT, WIDTH, World } from './world.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: process.env.PORT ?? '3006' },
    rate: { type: 'string', default: '60' },
    players: { type: 'string', default: '500' },
    report: { type: 'string', default: '0' },
  },
});
const rate = Number(values.rate);
const reportMs = Number(values.report) * 1000;

const world = new World(Number(values.players));
const loop = new Loop(rate, (ticks) => {
  for (let tick = 0; tick < ticks; tick += 1) world.step(1 / rate);
  // One call and one encoding, however many players there are: the rest happens on native threads.
  send('players', world.snapshot());
});

const server = await start({
  bind: `127.0.0.1:${values.port}`,
  // The world belongs to one thread, this one: handlers and ticks never run at the same time.
  handlers: {
    handleOpen(socketId) {
      const id = world.enter(socketId);
      if (id === undefined) return { status: 503, body: 'the game is full' };
      send(socketId, encodeWelcome({ id, width: WIDTH, height: HEIGHT }));
      subscribe(socketId, 'players');
      return true;
    },
    handleBinaryMessage(data, socketId) {
      const input = decodeInput(data);
      if (input === undefined) close(socketId, 1008, 'no input');
      else world.steer(socketId, input);
    },
    handleClose: (socketId) => world.leave(socketId),
  },
  static: { directory: new URL('./public/', import.meta.url) },
  origins: 'same-host',
  limits: {
    messageBytes: 16,
    messagesPerSecond: 2 * rate,
    // A client that reads too slowly misses the oldest snapshots instead of getting all of them late.
    outboxPolicy: 'dropOldest',
    outboxBytes: 64 * 1024,
  },
  stopOnSignals: true,
});
loop.start();
console.log(`Game example: http://${server.addresses[0]}`);

const reporter = reportMs > 0 ? setInterval(report, reportMs) : undefined;
let before = { cpu: process.cpuUsage(), ticks: 0, late: 0 };

function report() {
  const now = { cpu: process.cpuUsage(), ticks: loop.ticks, late: loop.late };
  const cpuMs = (now.cpu.user + now.cpu.system - before.cpu.user - before.cpu.system) / 1000;
  const ticks = (now.ticks - before.ticks) / (reportMs / 1000);
  const late = now.late - before.late;
  const cpu = `${Math.round((100 * cpuMs) / reportMs)} % of a core`;
  console.log(`${world.size} players, ${ticks.toFixed(1)} ticks per second, ${late} late, ${cpu}`);
  before = now;
}

await server.stopped;
loop.stop();
clearInterval(reporter);
