// The game example: 500 players on real connections see the same world, in the order of its ticks. And its page in a browser.
import { once } from 'node:events';
import test from 'ava';
import { WebSocket } from 'ws';

import { decodeWelcome, encodeInput, KEYS, playersOf, tickOf, WELCOME } from '../../examples/game/public/protocol.mjs';
import { until, within } from '../support/deadline.mjs';
import { browserTests, Example, ended, launchBrowser } from '../support/example.mjs';

const SCRIPT = 'examples/game/server.mjs';
const PLAYERS = 500;
const RATE = 60;
/** Connections that are opened at once. */
const TOGETHER = 50;

/** One player: its id, its newest snapshot, and what is wrong with what it got. */
class Player {
  id;
  /** Of its newest snapshot. */
  tick = 0;
  complaint;
  #newest;
  #socket;

  static async join(t, url) {
    const player = new Player();
    const socket = new WebSocket(url, { perMessageDeflate: false });
    player.#socket = socket;
    t.teardown(() => socket.terminate());
    socket.on('message', (data) => player.#take(data));
    await within(once(socket, 'open'), 'a place in the game');
    await until(() => player.id !== undefined, 'the welcome');
    return player;
  }

  #take(data) {
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    if (view.getUint8(0) === WELCOME) this.id = decodeWelcome(view).id;
    else {
      const tick = tickOf(view);
      if (tick <= this.tick) this.complaint ??= `tick ${tick} came after ${this.tick}`;
      if (this.id === undefined) this.complaint ??= 'a snapshot came before the welcome';
      this.tick = tick;
      this.#newest = view;
    }
  }

  /** The players of its newest snapshot by their ids. */
  get world() {
    const players = this.#newest === undefined ? [] : playersOf(this.#newest);
    return new Map(players.map((player) => [player.id, player]));
  }

  /** What nobody else holds in the same turn. */
  get input() {
    return { sequence: (this.id % 255) + 1, keys: this.id % 16 };
  }

  act() {
    this.send(encodeInput(this.input));
  }

  send(bytes) {
    this.#socket.send(bytes);
  }

  /** Resolves with the close code. */
  async leaves() {
    this.#socket.close();
    return this.closed();
  }

  async closed() {
    const [code] = await within(once(this.#socket, 'close'), 'the end of the connection');
    return code;
  }
}

async function join(t, url, count) {
  const players = [];
  while (players.length < count) {
    const some = Math.min(TOGETHER, count - players.length);
    players.push(...(await Promise.all(Array.from({ length: some }, () => Player.join(t, url)))));
  }
  return players;
}

/** Waits until each of them has seen a world in which something holds. */
async function allSee(players, condition, what) {
  let waiting = players;
  await until(
    () => {
      waiting = waiting.filter((player) => !condition(player.world));
      return waiting.length === 0;
    },
    () => `${what}, with ${waiting.length} players`,
  );
}

test('500 players see all inputs in snapshots that come in order, and who leaves is gone', async (t) => {
  const began = performance.now();
  const example = await Example.start(SCRIPT, ['--port', '0', '--rate', String(RATE), '--players', String(PLAYERS)]);
  t.teardown(() => example.kill());
  const url = example.url.replace(/^http/, 'ws');
  const players = await join(t, url, PLAYERS);
  t.is(new Set(players.map(({ id }) => id)).size, PLAYERS);
  await t.throwsAsync(Player.join(t, url), { message: /503/ }, 'the game is full');

  for (const player of players) player.act();
  const complete = (world) => {
    const has = ({ id, input }) => world.get(id)?.sequence === input.sequence && world.get(id).keys === input.keys;
    return world.size === PLAYERS && players.every(has);
  };
  await allSee(players, complete, 'all inputs');

  const [gone, ...rest] = players;
  t.is(await gone.leaves(), 1005);
  await allSee(rest, (world) => world.size === PLAYERS - 1 && !world.has(gone.id), 'one less');
  t.is((await Player.join(t, url)).id, gone.id);

  for (const { complaint } of players) t.is(complaint, undefined);
  // never more ticks than time has passed, however late the timers were
  t.true(rest[0].tick <= ((performance.now() - began) / 1000) * RATE + 1);
  t.is(await example.end(), ended());
});

test('what is no input ends the connection, and nobody else is disturbed', async (t) => {
  const example = await Example.start(SCRIPT, ['--port', '0']);
  t.teardown(() => example.kill());
  const url = example.url.replace(/^http/, 'ws');
  const [one, other] = await join(t, url, 2);
  for (const bytes of [[], [1], [1, 16], [1, 2, 3]]) {
    const player = await Player.join(t, url);
    player.send(Uint8Array.from(bytes));
    t.is(await player.closed(), 1008, `${bytes}`);
  }
  one.act();
  await allSee([other], (world) => world.size === 2 && world.get(one.id)?.sequence === one.input.sequence, 'the input');
});

browserTests(test)('the page sends the keys that are held and shows where the player is', async (t) => {
  const example = await Example.start(SCRIPT, ['--port', '0']);
  t.teardown(() => example.kill());
  const watcher = await Player.join(t, example.url.replace(/^http/, 'ws'));
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  await page.goto(example.url);
  const status = page.getByRole('status');
  const place = async () =>
    /you are at (\d+), (\d+)/
      .exec(await status.textContent())
      ?.slice(1)
      .map(Number);
  const [x, y] = await until(place, 'the own place');
  const other = await until(() => [...watcher.world.keys()].find((id) => id !== watcher.id), 'the page as a player');
  t.regex(await status.textContent(), /players: 2/);

  // away from the edge that is nearer
  const key = x < 800 ? 'ArrowRight' : 'ArrowLeft';
  await page.keyboard.down(key);
  await until(() => watcher.world.get(other)?.keys === (x < 800 ? KEYS.right : KEYS.left), 'the key');
  await until(async () => Math.abs((await place())[0] - x) > 20, 'a move');
  await page.keyboard.up(key);
  await until(() => watcher.world.get(other)?.keys === 0, 'no key');
  t.is((await place())[1], y);
  t.deepEqual(complaints, []);
});
