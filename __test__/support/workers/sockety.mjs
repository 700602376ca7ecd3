// A worker that handles messages of Sockety by their action.
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Readable } from 'node:stream';

let millrace;
let sockety;

export async function handleStart() {
  millrace = await import('../millrace.mjs');
  sockety = await import('../millrace-sockety.mjs');
}

export function handleOpen(socketId, _ip, _headers, { transport, port, path }) {
  millrace.setKey('opened', JSON.stringify({ transport, path, hasPort: port > 0 }));
  return { token: `client ${socketId}` };
}

/** The length and the hash of a received stream. */
async function digest(stream) {
  if (stream === null) return null;
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const piece of stream) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { bytes, hash: hash.digest('hex') };
}

const response = () => new sockety.ResponseDraft();
const bytesOf = (count, value) => Buffer.alloc(count, value);

const ACTIONS = {
  echo: async (message) => {
    const data = await message.dataBuffer();
    await message.respond(response().data()({ data })).sent();
  },
  code: (message) => message.fastReply(4095),
  accept: (message) => message.accept(),
  pack: async (message) => message.respond(response().msgpack()({ data: await message.msgpack() })),
  told: async (message, socketId, token) => {
    const { id, action, expectsResponse, dataSize, filesCount, totalFilesSize, data, stream, responded } = message;
    const files = message.files.map(({ name, safeName, size, bytesLeft, loaded }) => ({
      name,
      safeName,
      size,
      bytesLeft,
      loaded,
    }));
    const has = { data: data !== null, stream: stream !== null };
    const given = { socketId, token: Buffer.from(token).toString() };
    const told = { id, action, expectsResponse, dataSize, filesCount, totalFilesSize, responded, files, has, given };
    message.respond(response().data()({ data: JSON.stringify(told) }));
  },
  digest: async (message) => {
    const [data, stream, ...files] = await Promise.all([message.data, message.stream, ...message.files].map(digest));
    const loaded = message.files.map((file) => file.loaded);
    message.respond(response().data()({ data: JSON.stringify({ data, stream, files, loaded }) }));
  },
  save: async (message) => {
    const folder = String(await message.dataBuffer());
    await Promise.all(message.files.map((file) => file.saveTo(path.join(folder, file.safeName))));
    message.accept();
  },
  hang: () => {
    millrace.setKey('hangs', '1');
    for (;;);
  },
  ask: async (message) => {
    const question = sockety.Draft.for('question').data();
    const request = message.connection.send(question({ data: 'why?' }));
    const answers = await Promise.all([request.response(), request.response()]);
    const texts = answers.map(async (answer) =>
      typeof answer === 'number' ? answer : String(await answer.dataBuffer()),
    );
    message.respond(response().data()({ data: JSON.stringify(await Promise.all(texts)) }));
  },
  contents: async (message) => {
    const files = [
      sockety.FileTransfer.buffer(bytesOf(300_000, 'a'), 'a.bin'),
      await sockety.FileTransfer.fs(new URL(import.meta.url).pathname),
      sockety.FileTransfer.stream(Readable.from([bytesOf(10, 'b'), bytesOf(5, 'b')]), 15, 'b.bin'),
      sockety.FileTransfer.buffer(bytesOf(0), 'empty'),
    ];
    const request = message.respond(response().data().files().stream()({ data: bytesOf(100, 'd'), files }));
    request.stream.write('first ');
    request.stream.end('last');
    await request.sent();
    millrace.setKey('sent', JSON.stringify(request.isSent()));
  },
  // many at a time
  pieces: async (message) => {
    const [files, datas] = JSON.parse(String(await message.dataBuffer()));
    const answers = Array.from({ length: files }, (_, index) => {
      const file = sockety.FileTransfer.buffer(bytesOf(1_000_000, index), `${index}`);
      return message.respond(response().files([file])());
    });
    for (let index = 0; index < datas; index++) {
      answers.push(message.respond(response().data()({ data: bytesOf(2_500_000, index) })));
    }
    await Promise.all(answers.map((answer) => answer.sent()));
    await message.accept();
  },
  // every kind of contents, as responses and as requests; `count` bytes of each
  plenty: async (message) => {
    const { count, path: file } = JSON.parse(String(await message.dataBuffer()));
    const pieces = () => Readable.from([bytesOf(count / 2, 's'), bytesOf(count / 2, 's')]);
    const respond = message.respond(response().data()({ data: bytesOf(count, 'd') }));
    const ask = message.connection.send(sockety.Draft.for('request').data()({ data: bytesOf(count, 'd') }));
    const answer = ask.response();
    const files = [
      sockety.FileTransfer.buffer(bytesOf(count, 'b'), 'buffer'),
      sockety.FileTransfer.stream(pieces(), count, 'stream'),
      await sockety.FileTransfer.fs(file),
    ];
    const both = message.respond(response().files().stream()({ files }));
    pieces().pipe(both.stream);
    const short = Array.from({ length: 40 }, () => message.respond(response().data()({ data: bytesOf(60_000, 'w') })));
    millrace.setKey('begun', '1');
    await Promise.all([respond, ask, both, ...short].map((request) => request.sent()));
    millrace.setKey('answer', JSON.stringify(await answer));
    await message.accept();
  },
  // messages to the socket, and replies of the protocol
  order: (message, socketId) => {
    for (let count = 0; count < 3; count++) {
      millrace.send(socketId, `sent ${count}`);
      message.fastReply(count);
    }
    millrace.send(socketId, 'last');
    message.connection.close();
  },
  // more at once than an inbox accepts; answers with the outcome of each
  flood: async (message) => {
    const requests = Array.from({ length: 6 }, () => {
      const request = message.respond(response().stream()());
      request.stream.end(bytesOf(80_000));
      return request;
    });
    requests.push(message.respond(response().data()({ data: bytesOf(2_500_000) })));
    const outcomes = await Promise.allSettled(requests.map((request) => request.sent()));
    const told = outcomes.map(({ reason }) => reason?.code ?? 'sent');
    const ids = requests.map(({ id }) => String(id));
    message.respond(response().data()({ data: JSON.stringify({ told, ids }) }));
  },
  // sends so many heartbeats
  beat: async (message) => {
    const count = Number(await message.dataBuffer());
    for (let index = 0; index < count; index++) message.connection.pass(sockety.heartbeat).catch(() => undefined);
    millrace.setKey('beaten', '1');
  },
  // begins so many streams, and ends none of them
  abandon: async (message) => {
    const count = Number(await message.dataBuffer());
    const begun = Array.from({ length: count }, () => message.respond(response().stream()()));
    for (const { stream } of begun) stream.write('x');
    while (millrace.getKey('abandon') === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    for (const { stream } of begun) stream.destroy();
    await Promise.allSettled(begun.map((request) => request.sent()));
    millrace.setKey('abandoned', '1');
  },
  mismatch: async (message) => {
    const file = sockety.FileTransfer.stream(Readable.from([bytesOf(4)]), 3, 'x');
    const failure = await message
      .respond(response().files([file])())
      .sent()
      .catch((error) => error);
    message.respond(response().data()({ data: failure.code }));
  },
  pour: async (message) => {
    const count = Number(await message.dataBuffer());
    const { stream } = message.respond(response().stream()());
    let poured = 0;
    for (; poured < count; poured++) {
      if (!stream.write(bytesOf(65_536, poured % 256))) await new Promise((resolve) => stream.once('drain', resolve));
      millrace.setKey('poured', JSON.stringify(poured));
    }
    stream.end();
  },
  subscribe: (message, socketId) => {
    millrace.subscribe(socketId, 'news');
    return message.accept();
  },
  publish: async (message) => millrace.send('news', String(await message.dataBuffer())),
  ignore: () => undefined,
  wait: async (message) => {
    const { stream } = message;
    millrace.setKey('waits', '1');
    while (millrace.getKey('go') === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    const { bytes } = await digest(stream);
    message.respond(response().data()({ data: String(bytes) }));
  },
  settle: async (message) => {
    const codes = [
      message.connection.send(sockety.Draft.for('question')()).response(),
      message.dataBuffer(),
      digest(message.stream),
    ].map((promise) => promise.catch((error) => error.code));
    message.accept();
    millrace.setKey('settled', JSON.stringify(await Promise.all(codes)));
  },
  throw: () => {
    throw new Error('as asked');
  },
};

export function handleSocketyMessage(message, socketId, token) {
  return ACTIONS[message.action](message, socketId, token);
}

export function handleTextMessage(text) {
  millrace.send('news', text);
}

export function handleClose(socketId, token, code) {
  millrace.setKey(
    `closed ${Buffer.from(token)}`,
    JSON.stringify({ code, settled: millrace.getKey('settled') !== undefined }),
  );
}
