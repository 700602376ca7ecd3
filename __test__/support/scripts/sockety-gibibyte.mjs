// One side of a transfer of gibibytes over Sockety, in a separate process. The argument is the port to connect to;
// without one it serves. Reports over IPC its port, or for each direction by how many MiB both processes grew and
// whether everything was received.
import { Readable } from 'node:stream';

import { connect, createServer, Draft, FileTransfer, ResponseDraft } from '../millrace-sockety.mjs';

const GIBIBYTE = 2 ** 30;
const PIECE = 2 ** 16;

const MARKS = 16;
const mark = (at) => Math.floor(at / PIECE) % MARKS;
// made once, because new memory for each piece would be measured, too
const MARKED = Array.from({ length: MARKS }, (_, number) => Buffer.alloc(PIECE, number));

function* pieces() {
  for (let at = 0; at < GIBIBYTE; at += PIECE) yield MARKED[mark(at)];
}

const source = () => Readable.from(pieces());
const file = () => FileTransfer.stream(source(), GIBIBYTE, 'gibibyte');

/** Whether the bytes are those of `pieces`. */
async function isWhole(readable) {
  let at = 0;
  for await (const chunk of readable) {
    if (chunk[0] !== mark(at) || chunk.at(-1) !== mark(at + chunk.length - 1)) return false;
    at += chunk.length;
  }
  return at === GIBIBYTE;
}

const memory = () => process.memoryUsage.rss() / 2 ** 20;
let before = memory();
let most = before;
setInterval(() => {
  most = Math.max(most, memory());
}, 10).unref();
const begin = () => {
  before = memory();
  most = before;
};
const grown = () => most - before;

const ACTIONS = {
  begin: (message) => {
    begin();
    message.accept();
  },
  grown: (message) => message.respond(new ResponseDraft().msgpack()({ data: grown() })),
  file: async (message) => message.fastReply((await isWhole(message.files[0])) ? 1 : 2),
  stream: async (message) => message.fastReply((await isWhole(message.stream)) ? 1 : 2),
  'file, please': (message) => message.respond(new ResponseDraft().files()({ files: [file()] })),
  'stream, please': (message) => source().pipe(message.respond(new ResponseDraft().stream()()).stream),
};

async function serve() {
  const server = createServer((connection) => connection.on('message', (message) => ACTIONS[message.action](message)));
  await server.listen(0, '127.0.0.1');
  process.send(server.address().port);
}

async function ask(port) {
  const client = await connect(port, '127.0.0.1').ready();
  const ways = {
    file: async () => (await client.send(Draft.for('file').files()({ files: [file()] })).response()) === 1,
    stream: async () => {
      const request = client.send(Draft.for('stream').stream()());
      source().pipe(request.stream);
      return (await request.response()) === 1;
    },
    'file, please': async () => isWhole((await client.send(Draft.for('file, please')()).response()).files[0]),
    'stream, please': async () => isWhole((await client.send(Draft.for('stream, please')()).response()).stream),
  };
  for (const [way, run] of Object.entries(ways)) {
    await client.send(Draft.for('begin')()).response();
    begin();
    const whole = await run();
    const theirs = await (await client.send(Draft.for('grown')()).response()).msgpack();
    process.send({ way, whole, grown: [grown(), theirs] });
  }
  await client.close();
  process.disconnect();
}

const [port] = process.argv.slice(2);
await (port === undefined ? serve() : ask(Number(port)));
